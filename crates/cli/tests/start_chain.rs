//! A command that becomes a Python through a chain of `exec` is started warm, with everything
//! that the chain has set; for a command that cannot be started warm, one hint is printed.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};

mod support;
#[allow(dead_code, reason = "a part of it is used here")]
#[path = "../../launch/tests/support/terminal.rs"]
mod terminal;
#[path = "start/warm.rs"]
mod warm;
use support::{require, signal};
use terminal::Terminal;
use warm::{Observed, Warm, as_is, until};

fn with_program() -> Option<Warm> {
    let warm = Warm::new()?;
    let program = include_str!("start/chain.py");
    fs::write(warm.directory.join("chain.py"), program).expect("it is written");
    Some(warm)
}

/// Start a command until its Python is warm; what can be observed of that start, without the
/// two lines of preheat.
fn warm_start(warm: &Warm, words: &[&str], how: &dyn Fn(&mut Command)) -> Observed {
    loop {
        let mut command = warm.started(words);
        how(&mut command);
        let mut said = Observed::of(command.output().expect("it starts"));
        let mut lines = said.err.splitn(3, '\n');
        let (first, second) = (lines.next(), lines.next());
        assert!(
            first.is_some_and(|line| line.contains("is not Python")),
            "{words:?}: {}",
            said.err
        );
        if second.is_some_and(|line| line.starts_with("preheat: started warm")) {
            said.err = lines.next().unwrap_or_default().to_owned();
            return said;
        }
        assert!(
            said.err.contains("started plainly"),
            "{words:?}: {}",
            said.err
        );
        assert_eq!(warm.refusal(), None, "{words:?}");
    }
}

/// Starts a command plainly and warm, and asserts that no difference can be observed.
fn same(warm: &Warm, words: &[&str], how: &dyn Fn(&mut Command)) {
    let mut plain = warm.plain(words);
    how(&mut plain);
    let plain = Observed::of(plain.output().expect("it starts"));
    let said = warm_start(warm, words, how);
    assert_eq!(plain.out, said.out, "{words:?}");
    assert_eq!(plain.err, said.err, "{words:?}");
    assert_eq!(plain.status, said.status, "{words:?}");
    assert!(plain.out.contains("maps false"), "{words:?}: {}", plain.out);
}

#[test]
fn launchers_and_scripts_become_a_warm_python_and_lose_nothing() {
    let Some(warm) = with_program() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let script = format!(
        "#!/bin/sh\nexport PYTHONPATH=run${{PYTHONPATH:+:$PYTHONPATH}} A='a value'\n\
         umask 027; ulimit -n 300; trap '' USR1 PIPE; cd run\n\
         exec 7</dev/null\nexec {python} ../chain.py \"$@\"\n"
    );
    warm.directory.script("script.sh", &script);
    let helped = format!(
        "#!/usr/bin/env bash\n{python} -c 'import os; print(sorted(os.environ.items()))'\n\
         exec nice -n 2 ./script.sh helped\n"
    );
    warm.directory.script("helped.sh", &helped);
    let program = fs::read_to_string(warm.directory.join("chain.py")).expect("it exists");
    let first = format!("#!/usr/bin/env -S {python} -u\n{program}");
    warm.directory.script("options", &first);
    // As version managers do it: the `python3` that is found is a script.
    fs::create_dir(warm.directory.join("shims")).expect("a directory");
    let shim = format!("#!/usr/bin/env bash\nset -e\nexport MANAGED=1\nexec {python} \"$@\"\n");
    warm.directory.script("shims/python3", &shim);
    warm.directory
        .script("shimmed", &format!("#!/usr/bin/env python3\n{program}"));
    let shims = format!(
        "PATH={}:/usr/bin:/bin",
        warm.directory.join("shims").display()
    );
    for words in [
        &["env", "-u", "HOME", "A=1", python, "chain.py", "x", ""][..],
        &["nice", "-n", "3", python, "chain.py"],
        &["nohup", python, "-X", "utf8", "chain.py"],
        &["timeout", "60", python, "chain.py", "in a child"],
        &["sh", "-c", "exec \"$@\" 5<&0", "sh", python, "chain.py"],
        &["stdbuf", "-o0", "env", "nice", python, "chain.py"],
        &["./script.sh", "an argument", "ü"],
        &["./helped.sh"],
        &["./options", "a"],
        &["env", &shims, "python3", "chain.py"],
        &["env", &shims, "./shimmed", "b"],
    ] {
        same(&warm, words, &as_is);
    }
}

#[test]
fn preloaded_libraries_and_variables_of_the_user_are_kept() {
    let Some(warm) = with_program() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let words = ["env", "A=1", python, "chain.py"];
    for preload in ["", "libm.so.6", "libm.so.6:libdl.so.2"] {
        same(&warm, &words, &|command: &mut Command| {
            command.env("LD_PRELOAD", preload);
        });
    }
    same(&warm, &words, &|command: &mut Command| {
        command.env("PYTHONPATH", "run");
    });
    // Other programs are not preloaded into.
    let said = warm.started(&["printenv"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(
        !said.contains("PREHEAT_CHAIN") && !said.contains("LD_PRELOAD"),
        "{said}"
    );
}

#[test]
fn version_managers_and_uv_become_a_warm_python() {
    let Some(warm) = with_program() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    let pyenv = home.join(".pyenv/shims/python3");
    if let Some(shim) = require("pyenv", pyenv.exists().then_some(pyenv)) {
        let shim = shim.to_str().expect("its path is text");
        same(&warm, &[shim, "chain.py", "pyenv"], &as_is);
    }
    let venv = std::env::var_os("PREHEAT_TEST_VENV").map(PathBuf::from);
    let uv = venv
        .map(|venv| venv.join("bin/uv"))
        .filter(|uv| uv.exists());
    if let Some(uv) = require("uv", uv) {
        let uv = uv.to_str().expect("its path is text");
        for words in [
            &["chain.py", "a script"][..],
            &["python", "chain.py", "a command"],
        ] {
            let run = [
                uv,
                "run",
                "--offline",
                "--no-project",
                "--no-config",
                "--python",
                python,
            ];
            same(
                &warm,
                &[&run[..], words].concat(),
                &|command: &mut Command| {
                    command.env("UV_CACHE_DIR", "uv-cache");
                },
            );
        }
    }
}

#[test]
fn a_static_launcher_is_followed() {
    let Some(warm) = with_program() else { return };
    let source =
        "#include <unistd.h>\nint main(int n, char **v) { execv(v[1], v + 1); return 99; }\n";
    fs::write(warm.directory.join("launcher.c"), source).expect("it is written");
    let built = Command::new("gcc")
        .args(["-static", "-o", "env", "launcher.c"])
        .current_dir(warm.directory.path())
        .output();
    let built = built.ok().filter(|built| built.status.success());
    if require("gcc", built).is_some() {
        let python = warm.python.to_str().expect("its path is text");
        same(&warm, &["./env", python, "chain.py", "static"], &as_is);
    }
}

#[test]
fn the_process_that_the_shell_knows_stands_for_the_program() {
    let Some(warm) = with_program() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let words = ["sh", "-c", "exec \"$@\"", "sh", python, "cases.py"];
    let of = |rest: &[&'static str]| [&words[..], rest].concat();
    warm_start(&warm, &of(&["facts"]), &as_is);
    same_ends(&warm, &of(&["killed", "9"]));
    same_ends(&warm, &of(&["exit_text"]));
    let ready = warm.directory.join("ready");
    let code = "import json, signal, sys; signal.signal(15, lambda *_: sys.exit(5)); \
                open('ready', 'w').close(); sys.argv[1:] and signal.pause()";
    let words = ["nice", "-n", "1", python, "-c", code];
    warm_start(&warm, &words, &as_is);
    fs::remove_file(&ready).expect("it exists");
    let waits = [&words[..], &["waits"]].concat();
    let mut started = warm.started(&waits);
    let mut child = started.stderr(Stdio::piped()).spawn().expect("it starts");
    until("the program is ready", || ready.exists());
    assert!(signal("-TERM", &child));
    assert_eq!(child.wait().expect("it ends").code(), Some(5));
    let mut said = String::new();
    let mut err = child.stderr.take().expect("it is a pipe");
    err.read_to_string(&mut said).expect("it is text");
    assert!(said.contains("started warm"), "{said}");
}

fn same_ends(warm: &Warm, words: &[&str]) {
    let plain = Observed::of(warm.plain(words).output().expect("it starts"));
    let said = warm_start(warm, words, &as_is);
    assert_eq!(plain.status, said.status, "{words:?}");
    assert_eq!((plain.out, plain.err), (said.out, said.err), "{words:?}");
}

#[test]
fn a_terminal_shows_once_why_a_program_is_not_warm() {
    let Some(warm) = with_program() else { return };
    let mut command = Command::new("bash");
    command
        .args(["--norc", "--noprofile", "-i"])
        .current_dir(warm.directory.path())
        .env("PS1", "")
        .env("TERM", "dumb")
        .env("START", format!("{} start", env!("CARGO_BIN_EXE_preheat")))
        .env("PYTHON", &warm.python);
    for (name, value) in warm.surroundings() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut terminal = Terminal::new(command);
    let hint = "preheat: started plainly: preheat cannot load into Python with -E or -I; ";
    // Quietly and without a terminal nothing is shown, nor remembered.
    for line in [
        "$START -q -- $PYTHON -I -c 'print(6 * 7)'; echo quiet $?\n",
        "$START -- $PYTHON -I -c 'print(6 * 7)' 2>err; cat err; echo quiet $?\n",
    ] {
        terminal.type_in(line);
        let said = terminal.until("quiet 0\r\n");
        assert!(!said.contains("preheat: "), "{said}");
    }
    terminal.type_in("$START -- $PYTHON -I -c 'print(6 * 7)'; echo first $?\n");
    terminal.expect(hint);
    terminal.expect("42\r\n");
    terminal.expect("first 0\r\n");
    terminal.type_in("$START -- $PYTHON -I -c 'print(6 * 7)'; echo second $?\n");
    let said = terminal.until("second 0\r\n");
    assert!(!said.contains("preheat: "), "{said}");
    // Another reason is another line; a start that is plain for now shows nothing.
    terminal.type_in("$START -- $PYTHON -S -c 'print(6 * 7)'; echo third $?\n");
    terminal.expect("preheat cannot load into Python with -S; ");
    terminal.expect("third 0\r\n");
    terminal.type_in("$START -- $PYTHON chain.py | tail -n 1; echo fourth $?\n");
    let said = terminal.until("fourth 0\r\n");
    assert!(!said.contains("preheat: "), "{said}");
}
