//! Failures of warm parents: every program is still started exactly once, and ends as it does
//! without preheat.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Stdio};

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::{run, signal};
use warm::{Observed, Warm, as_is, children, until};

/// Sends a signal to a process that is not our child.
fn kill(process: libc::pid_t, signal: i32) {
    // SAFETY: kill takes numbers only.
    assert_eq!(unsafe { libc::kill(process, signal) }, 0, "{process}");
}

/// The supervisor and the child that wait for a start.
fn waiting(parent: libc::pid_t) -> (libc::pid_t, libc::pid_t) {
    let found = || {
        let supervisors = children(parent).into_iter().rev();
        let mut pairs = supervisors.filter_map(|process| {
            let child = *children(process).first()?;
            Some((process, child))
        });
        pairs.next()
    };
    until("a child waits for a start", || found().is_some());
    found().expect("it still waits")
}

fn start(warm: &Warm, program: &[&str]) -> Observed {
    Observed::of(warm.started(program).output().expect("it starts"))
}

/// A program that waits for signals, and the rest of its output.
fn waits(warm: &Warm, words: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let program = warm.case(&[&["waits"], words].concat());
    let mut child = warm
        .started(&program)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut out = BufReader::new(child.stdout.take().expect("it is a pipe"));
    let mut line = String::new();
    out.read_line(&mut line).expect("it says something");
    assert_eq!(line, "waits\n");
    (child, out)
}

#[test]
fn a_parent_may_be_killed_at_any_time() {
    let Some(warm) = Warm::new() else { return };
    let program = warm.case(&["code", "3"]);
    warm.warm_up(&program, &as_is);
    let (child, mut out) = waits(&warm, &["--handle"]);
    let parent = warm.parent();
    kill(parent, libc::SIGKILL);
    // The running program is not harmed, and still gets signals.
    assert!(signal("-USR1", &child));
    let mut line = String::new();
    out.read_line(&mut line).expect("it says something");
    assert_eq!(line, "got 10\n");
    assert!(signal("-TERM", &child));
    let status = child.wait_with_output().expect("it ends").status;
    assert_eq!(status.code(), Some(55));
    // The next one is started plainly, and the one after it is warm again.
    let next = start(&warm, &program);
    assert!(
        next.err.starts_with("preheat: started plainly"),
        "{}",
        next.err
    );
    assert_eq!(next.status.code(), Some(3));
    warm.settle();
    assert_ne!(warm.parent(), parent);
    assert_eq!(start(&warm, &program).warm(&program).status.code(), Some(3));
}

#[test]
fn a_parent_that_does_not_answer_is_skipped() {
    let Some(warm) = Warm::new() else { return };
    let program = warm.case(&["code", "3"]);
    warm.warm_up(&program, &as_is);
    let impatient = || {
        let mut command = warm.preheat(&["-v", "--"]);
        Observed::of(command.args(&program).output().expect("it starts"))
    };
    // The child that waits is stopped, and so is the whole parent.
    let parent = warm.parent();
    let (_, child) = waiting(parent);
    kill(child, libc::SIGSTOP);
    let next = impatient();
    assert!(next.err.contains("is busy"), "{}", next.err);
    assert_eq!(next.status.code(), Some(3));
    kill(parent, libc::SIGSTOP);
    let next = impatient();
    assert!(next.err.contains("started plainly"), "{}", next.err);
    assert_eq!(next.status.code(), Some(3));
    // A parent that is stopped is given up.
    assert!(!PathBuf::from(format!("/proc/{parent}/cwd")).exists());
    // The child that waits is abandoned too.
    until("it has left", || {
        !PathBuf::from(format!("/proc/{child}/cwd")).exists()
    });
    warm.settle();
}

/// The inputs are verified while the client waits for an answer, and again if that takes longer.
#[test]
fn a_change_while_the_child_is_busy_is_noticed() {
    let Some(warm) = Warm::new() else { return };
    let module = warm.venv().join("installed.py");
    fs::write(&module, "value = 1\n").expect("it is written");
    let script = warm.directory.join("script.py");
    fs::write(&script, "import installed\nprint(installed.value)\n").expect("it is written");
    let program = ["venv/bin/python", "script.py"];
    warm.warm_up(&program, &as_is);
    let (_, child) = waiting(warm.parent());
    kill(child, libc::SIGSTOP);
    let mut command = warm.started(&program);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let client = command.spawn().expect("it starts");
    let of_client = |name: &str| {
        let path = format!("/proc/{}/{name}", client.id());
        fs::read_to_string(path).unwrap_or_default()
    };
    until("its inputs are verified and it waits for the child", || {
        let status = of_client("status");
        status.contains("Threads:\t1\n") && of_client("wchan").contains("poll")
    });
    fs::write(&module, "value = 22\n").expect("it is written");
    kill(child, libc::SIGCONT);
    let observed = Observed::of(client.wait_with_output().expect("it ends"));
    assert_eq!(observed.out, "22\n", "{}", observed.err);
    let why = "installed.py has changed";
    assert!(observed.err.contains(why), "{}", observed.err);
    warm.settle();
}

#[test]
fn a_parent_whose_socket_is_gone_leaves() {
    let Some(warm) = Warm::new() else { return };
    let program = warm.case(&["code", "3"]);
    warm.warm_up(&program, &as_is);
    let run = warm.directory.join("run/preheat");
    for entry in fs::read_dir(&run).expect("it exists").flatten() {
        if entry
            .path()
            .extension()
            .is_some_and(|ending| ending == "socket")
        {
            fs::remove_file(entry.path()).expect("it goes");
        }
    }
    let next = start(&warm, &program);
    assert!(
        next.err.starts_with("preheat: started plainly"),
        "{}",
        next.err
    );
    assert_eq!(next.status.code(), Some(3));
    warm.settle();
}

#[test]
fn fifty_at_once_all_run_once() {
    let Some(warm) = Warm::new() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let text = "import numpy, sys\nwith open('ran', 'a') as f: f.write(sys.argv[1] + '\\n')\n";
    fs::write(warm.directory.join("once.py"), text).expect("it is written");
    warm.warm_up(&[python, "once.py", "first"], &as_is);
    let all: Vec<Child> = (0..50)
        .map(|number| {
            let mut command = warm.started(&[python, "once.py", &number.to_string()]);
            command.stderr(Stdio::piped()).spawn().expect("it starts")
        })
        .collect();
    let mut started_warm = 0;
    for child in all {
        let observed = Observed::of(child.wait_with_output().expect("it ends"));
        assert_eq!(observed.status.code(), Some(0), "{}", observed.err);
        started_warm += usize::from(observed.err.starts_with("preheat: started warm"));
    }
    let ran = fs::read_to_string(warm.directory.join("ran")).expect("they ran");
    let mut ran: Vec<&str> = ran.lines().filter(|line| *line != "first").collect();
    ran.sort_by_key(|line| line.parse::<u32>().unwrap_or(0));
    let expected: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    assert_eq!(ran, expected);
    assert!(started_warm > 0);
}

#[test]
fn a_client_and_its_program_die_together() {
    let Some(warm) = Warm::new() else { return };
    warm.warm_up(&warm.case(&["code", "0"]), &as_is);
    // Killed, it takes the program along.
    let (mut child, mut out) = waits(&warm, &[]);
    child.kill().expect("it exists");
    child.wait().expect("it ends");
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("its output ends");
    assert_eq!(rest, "");
    // The supervisor is killed: the program goes on, and how it ends is not known.
    let parent = warm.parent();
    let (supervisor, program) = waiting(parent);
    let (child, _out) = waits(&warm, &["--handle"]);
    kill(supervisor, libc::SIGKILL);
    kill(program, libc::SIGTERM);
    let status = child.wait_with_output().expect("it ends").status;
    assert_eq!(status.code(), Some(125));
}

#[test]
fn changes_are_noticed_before_a_warm_start() {
    let Some(warm) = Warm::new() else { return };
    let installed = warm.venv();
    let module = installed.join("installed.py");
    fs::write(&module, "import os\nvalue = 1, os.environ.get('ASKED')\n").expect("it is written");
    let script = warm.directory.join("script.py");
    fs::write(&script, "import installed, json\nprint(installed.value)\n").expect("it is written");
    let program = ["venv/bin/python", "script.py"];
    warm.warm_up(&program, &as_is);
    assert_eq!(start(&warm, &program).warm(&program).out, "(1, None)\n");
    let plainly = |why: &str, out: &str| {
        let next = start(&warm, &program);
        let said = next.err.lines().next().unwrap_or_default();
        assert!(said.contains("started plainly"), "{why}: {said}");
        assert!(said.contains(why), "{why}: {said}");
        assert_eq!(next.out, out);
    };
    // An installed module has changed.
    fs::write(&module, "import os\nvalue = 22, os.environ.get('ASKED')\n").expect("it is written");
    plainly("installed.py has changed", "(22, None)\n");
    let there = |count| {
        until("they are there", || {
            assert_eq!(warm.refusal(), None);
            warm.count() >= count
        });
    };
    there(1);
    assert_eq!(start(&warm, &program).warm(&program).out, "(22, None)\n");
    // A variable that it read has another value; one that nothing read has one.
    let with = |name: &str| {
        let mut command = warm.started(&program);
        Observed::of(command.env(name, "1").output().expect("it starts"))
    };
    assert!(with("ASKED").err.contains("ASKED has a different value"));
    there(2);
    assert_eq!(with("NOT_ASKED").warm(&program).out, "(22, None)\n");
    // The program comes to set that variable itself.
    let sets = "import os\nos.environ['ASKED'] = 'x'\nimport installed\nprint(installed.value)\n";
    fs::write(&script, sets).expect("it is written");
    plainly("ASKED", "(22, 'x')\n");
    there(2);
    // A module of the program shadows an installed one.
    fs::write(&script, "import installed, json\nprint(json.__file__)\n").expect("it is written");
    run(&mut warm.preheat(&["--stop", "all"]));
    start(&warm, &program);
    there(1);
    start(&warm, &program).warm(&program);
    let own = warm.directory.join("json.py");
    fs::write(&own, "").expect("it is written");
    // As long as it does no parent is made, which would be of no use.
    for _ in 0..2 {
        plainly("json.py shadows", &format!("{}\n", own.display()));
        assert!(
            warm.refusal()
                .is_some_and(|why| why.starts_with("hides\0") && why.ends_with("json.py"))
        );
        assert_eq!(warm.count(), 0);
    }
    fs::remove_file(&own).expect("it goes");
    start(&warm, &program);
    until("there is one again", || warm.count() == 1);
    // A file that is not a module hides nothing.
    fs::write(warm.directory.join("json.txt"), "").expect("it is written");
    start(&warm, &program).warm(&program);
}

#[test]
fn commands_that_cannot_be_warm_are_started_plainly_with_a_reason() {
    let Some(warm) = Warm::new() else { return };
    let python = warm.python.to_str().expect("its path is text");
    // As version managers put them into PATH.
    let shim = warm.directory.script("python3", "#!/bin/sh\nexit 3\n");
    let shim = shim.to_str().expect("its path is text");
    for (program, why) in [
        // Neither becomes a Python.
        (&["sh", "-c", "exit 3"][..], "is not Python"),
        (&[shim, "x.py"], "is not Python"),
        (&["awk", "BEGIN { exit 3 }"], "is not Python"),
        (&[python, "-I", "-c", "raise SystemExit(3)"], "-E or -I"),
        (&[python, "-S", "-c", "raise SystemExit(3)"], "-S"),
    ] {
        let said = start(&warm, program);
        assert!(said.err.contains(why), "{}", said.err);
        assert_eq!(said.status.code(), Some(3));
    }
    let said = start(&warm, &["no-such-program-here"]);
    assert_eq!(said.status.code(), Some(127), "{}", said.err);
    // A module that prints, one that leaves a thread and one that sets what others ask
    // for are not imported ahead; the rest is.
    fs::write(
        warm.directory.join("prints.py"),
        "import this\nimport numpy\n",
    )
    .expect("written");
    warm.warm_up(&[python, "prints.py"], &as_is);
    let same = warm.same(&[python, "prints.py"], &as_is);
    assert!(same.out.contains("Zen"));
    let listed = run(&mut warm.preheat(&["--list", "-v"]));
    assert!(listed.out.contains("this, which prints"), "{}", listed.out);
}

#[test]
fn parents_are_listed_stopped_and_leave_when_idle() {
    let Some(warm) = Warm::new() else { return };
    let program = warm.case(&["code", "0"]);
    warm.warm_up(&program, &as_is);
    start(&warm, &program);
    let listed = run(&mut warm.preheat(&["--list"])).out;
    assert!(listed.contains("cases.py"), "{listed}");
    let id = warm.parent().to_string();
    let said = run(&mut warm.preheat(&["--stop", "1"]));
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert_eq!(run(&mut warm.preheat(&["--stop", &id])).code, Some(0));
    assert_eq!(warm.count(), 0);
    assert!(
        run(&mut warm.preheat(&["--list"]))
            .out
            .contains("no warm parents")
    );
}

#[test]
fn all_parents_are_stopped_without_an_id() {
    let Some(warm) = Warm::new() else { return };
    warm.warm_up(&warm.case(&["code", "0"]), &as_is);
    let stopped = run(&mut warm.preheat(&["--stop"]));
    assert_eq!(stopped.code, Some(0), "{}", stopped.err);
    assert_eq!(warm.count(), 0);
}

#[test]
fn a_stale_parent_is_not_prepared() {
    let Some(warm) = Warm::new() else { return };
    let package = warm.venv().join("changes.py");
    fs::write(&package, "value = 1\n").expect("it is written");
    let text = "import changes, json\nprint(changes.value)\n";
    fs::write(warm.directory.join("program.py"), text).expect("it is written");
    let program = ["venv/bin/python", "program.py"];
    warm.warm_up(&program, &as_is);
    let stale = warm.parent();
    fs::write(&package, "value = 'another'\n").expect("it is written");
    let words = [&["--prepare", "--"], &program[..]].concat();
    let prepared = run(&mut warm.preheat(&words));
    assert_eq!(prepared.code, Some(0), "{}", prepared.err);
    assert_ne!(warm.parent(), stale);
    assert_eq!(warm.same(&program, &as_is).out, "another\n");
}

#[test]
fn a_program_that_comes_to_import_more_has_a_new_parent() {
    let Some(warm) = Warm::new() else { return };
    let program = warm.case(&["code", "0"]);
    warm.warm_up(&program, &as_is);
    let first = warm.parent();
    let more = warm.case(&["more"]);
    start(&warm, &more).warm(&more);
    // The next start is still the first parent's, and has another one made.
    start(&warm, &program).warm(&program);
    until("another is there", || {
        assert_eq!(warm.refusal(), None);
        matches!(warm.parents()[..], [other] if other != first)
    });
    start(&warm, &more).warm(&more);
    start(&warm, &program).warm(&program);
}

#[test]
fn a_parent_that_is_idle_leaves() {
    let Some(warm) = Warm::new() else { return };
    let mut command = warm.preheat(&["--idle", "1", "--"]);
    let program = warm.case(&["code", "0"]);
    command.args(&program).output().expect("it starts");
    let is_there = || {
        let entries = fs::read_dir(warm.directory.join("run/preheat")).expect("it exists");
        let mut names = entries.flatten().map(|entry| entry.file_name());
        names.any(|name| name.to_string_lossy().ends_with(".parent"))
    };
    until("it is there", || {
        assert_eq!(warm.refusal(), None);
        is_there()
    });
    until("it has left", || !is_there());
}
