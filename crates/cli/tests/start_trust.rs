//! Directories that other users can change: nothing is kept there, and nothing is executed
//! from there.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::require;
use warm::{Warm, until};

/// Renames the directory in the first argument, and replaces it with one that has another
/// `sitecustomize`.
const SWAPS: &str = "import os, sys
victim, mark = sys.argv[1:]
os.rename(victim, victim + '-away')
evil = 'import os\\nopen(%r, \"a\").close()\\n' % mark
for name in sys.stdin.read().split():
    os.makedirs(os.path.join(victim, name), exist_ok=True)
    with open(os.path.join(victim, name, 'sitecustomize.py'), 'w') as file: file.write(evil)
";

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

/// A command as another user, where this one may become it.
fn as_nobody(words: &[&str]) -> Option<Command> {
    let other = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let mut check = Command::new("setpriv");
    let is_allowed = check.args(other).arg("true").output();
    let is_allowed = is_allowed.is_ok_and(|it| it.status.success());
    require("another user", is_allowed.then_some(()))?;
    let mut command = Command::new("setpriv");
    command.args(other).args(words);
    Some(command)
}

/// A directory in which every user may rename everything, with the warm parents' below.
fn exposed(warm: &Warm) -> PathBuf {
    let open = warm.directory.join("open");
    fs::create_dir(&open).expect("a directory for the test");
    mode(warm.directory.path(), 0o755);
    mode(&open, 0o777);
    let run = open.join("run");
    fs::create_dir(&run).expect("a directory for the test");
    mode(&run, 0o700);
    let own = warm.directory.join("tmp");
    fs::create_dir(&own).expect("a directory for the test");
    mode(&own, 0o700);
    run
}

#[test]
fn a_directory_that_is_swapped_while_in_use_executes_nothing() {
    swapped(false);
}

#[test]
fn a_directory_that_is_opened_and_swapped_while_in_use_executes_nothing() {
    swapped(true);
}

/// Returns true if a process works in a directory.
fn is_used(directory: &Path) -> bool {
    let processes = fs::read_dir("/proc").expect("it exists").flatten();
    processes
        .filter_map(|process| fs::read_link(process.path().join("cwd")).ok())
        .any(|working| working == directory)
}

/// Another user replaces the directory while the program runs, in a directory that all users
/// can change: always, or only since the program runs.
fn swapped(is_opened_later: bool) {
    let Some(warm) = Warm::new() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let run = exposed(&warm);
    let open = run.parent().expect("it has one");
    if is_opened_later {
        mode(open, 0o755);
    }
    // The program waits for its input, so that what is swapped is swapped while it runs.
    let program = "import json, numpy, sys\nprint('began', flush=True)\nsys.stdin.read()\n";
    fs::write(warm.directory.join("program.py"), program).expect("it is written");
    let mark = open.join("executed");
    let tmp = warm.directory.join("tmp");
    let mut start = warm.started(&[python, "program.py"]);
    start.env("XDG_RUNTIME_DIR", &run).env("TMPDIR", &tmp);
    start.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut started = start.spawn().expect("it starts");
    let mut began = [0; 6];
    let mut out = started.stdout.take().expect("it is a pipe");
    std::io::Read::read_exact(&mut out, &mut began).expect("it runs");
    mode(open, 0o777);
    // Whoever may write to the directory knows the names in it from an earlier version.
    let names: Vec<String> = [&run, &tmp]
        .iter()
        .flat_map(|below| {
            ["preheat".into(), format!("preheat-{}", uid())].map(|n: String| below.join(n))
        })
        .flat_map(|path| fs::read_dir(path).into_iter().flatten().flatten())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with("python-"))
        .map(|name| format!("preheat/{name}"))
        .collect();
    let shown = (run.to_str().expect("text"), mark.to_str().expect("text"));
    let Some(mut swap) = as_nobody(&[python, "-c", SWAPS, shown.0, shown.1]) else {
        drop(started.stdin.take());
        started.wait().expect("it ends");
        return;
    };
    let mut swapping = swap.stdin(Stdio::piped()).spawn().expect("it starts");
    let mut to = swapping.stdin.take().expect("it is a pipe");
    to.write_all(names.join("\n").as_bytes()).expect("it reads");
    drop(to);
    assert!(swapping.wait().expect("it ends").success());
    drop(started.stdin.take());
    assert!(started.wait().expect("it ends").success());
    // The background process either creates a parent or executes the replaced file.
    let listed = |at: &Path| {
        let mut list = warm.preheat(&["--list"]);
        list.env("XDG_RUNTIME_DIR", &run).env("TMPDIR", at);
        let output = list.output().expect("it starts");
        String::from_utf8_lossy(&output.stdout).contains("program.py")
    };
    if is_opened_later {
        until(
            "nothing runs in the background, or something was executed",
            || !is_used(warm.directory.path()) || mark.exists(),
        );
    } else {
        until("a parent serves, or something was executed", || {
            listed(&tmp) || mark.exists()
        });
    }
    assert!(!mark.exists(), "another user's file was executed");
    if is_opened_later {
        // The tracer of a parent would prevent the mark, but locks and reasons would be there.
        let left = fs::read_dir(run.join("preheat")).expect("it was swapped");
        let left: Vec<_> = left.flatten().map(|entry| entry.file_name()).collect();
        let is_theirs = |name: &OsString| name.as_bytes().starts_with(b"python-");
        assert!(left.iter().all(is_theirs), "{left:?}");
    }
    let mut stop = warm.preheat(&["--stop", "all"]);
    stop.env("XDG_RUNTIME_DIR", &run).env("TMPDIR", &tmp);
    assert!(stop.status().expect("it starts").success());
}

#[test]
fn a_directory_that_another_user_has_made_first_denies_nothing() {
    let Some(warm) = Warm::new() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let shared = warm.directory.join("shared");
    fs::create_dir(&shared).expect("a directory for the test");
    mode(warm.directory.path(), 0o755);
    mode(&shared, 0o1777);
    let taken = shared.join(format!("preheat-{}", uid()));
    let make = ["mkdir", taken.to_str().expect("it is text")];
    let Some(mut make) = as_nobody(&make) else {
        return;
    };
    assert!(make.status().expect("it starts").success());
    fs::write(warm.directory.join("program.py"), "import json, numpy\n").expect("it is written");
    let here = |words: &[&str]| {
        let mut command = warm.preheat(words);
        command.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", &shared);
        command.output().expect("it starts")
    };
    let program = [python, "program.py"];
    here(&[&["--"], &program[..]].concat());
    let prepared = here(&[&["--prepare", "--"], &program[..]].concat());
    let why = String::from_utf8_lossy(&prepared.stderr).into_owned();
    assert!(prepared.status.success(), "{why}");
    let third = here(&[&["-v", "--patience", "60", "--"], &program[..]].concat());
    let said = String::from_utf8_lossy(&third.stderr).into_owned();
    assert!(said.starts_with("preheat: started warm"), "{said}");
    assert_eq!(fs::read_dir(&taken).expect("it exists").count(), 0);
    here(&["--stop", "all"]);
}

#[test]
fn nothing_is_left_in_the_home_of_another_user() {
    let Some(warm) = Warm::new() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let home = warm.directory.join("home");
    fs::create_dir(&home).expect("a directory for the test");
    let to = Command::new("chown").arg("65534:65534").arg(&home).status();
    let owned = to.is_ok_and(|it| it.success());
    if require("another user", owned.then_some(())).is_none() {
        return;
    }
    fs::write(warm.directory.join("program.py"), "import json, numpy\n").expect("it is written");
    let here = |words: &[&str]| {
        let mut command = warm.preheat(words);
        command.env_remove("XDG_CACHE_HOME").env("HOME", &home);
        command.args(["--", python, "program.py"]);
        let output = command.output().expect("it starts");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    here(&[]);
    assert_eq!(here(&["--prepare"]), "");
    let said = here(&["-v", "--patience", "60"]);
    assert!(said.starts_with("preheat: started warm"), "{said}");
    assert_eq!(fs::read_dir(&home).expect("it exists").count(), 0);
}

fn uid() -> libc::uid_t {
    // SAFETY: geteuid takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}
