//! A session keyring may be new in each login or job. A warm parent serves the starts of one.

use std::fs;
use std::process::Command;

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::require;
use warm::{Observed, Warm, as_is, until};

/// Runs a command in a new session keyring; revokes it when standard input ends, if it is a pipe.
const ENTER: &str = "import ctypes, os, platform, subprocess, sys
call, join = ctypes.CDLL(None).syscall, 1
keyctl = {'x86_64': 250, 'aarch64': 219}[platform.machine()]
if call(keyctl, join, None) < 0:
    sys.exit(66)
if sys.argv[1] == 'stays':
    os.execvp(sys.argv[2], sys.argv[2:])
status = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL).returncode
sys.stdin.read()
revoke, session = 3, -3
sys.exit(status if call(keyctl, revoke, session) == 0 else 67)
";

/// The exit code of `ENTER` if keyrings are forbidden.
const FORBIDDEN: i32 = 66;

const PROGRAM: &str = "import json, numpy\nprint(numpy.array([1]).sum())\n";

fn prepared() -> Option<(Warm, String)> {
    let warm = Warm::new()?;
    fs::write(warm.directory.join("enter.py"), ENTER).expect("it is written");
    fs::write(warm.directory.join("program.py"), PROGRAM).expect("it is written");
    let python = warm.python.to_str().expect("its path is text").to_owned();
    Some((warm, python))
}

/// A start in a new session keyring.
fn in_new_keyring(warm: &Warm, python: &str, how: &str) -> Command {
    let exe = env!("CARGO_BIN_EXE_preheat");
    let start = [
        "start",
        "-v",
        "--patience",
        "60",
        "--",
        python,
        "program.py",
    ];
    warm.plain(&[&[python, "enter.py", how, exe][..], &start].concat())
}

/// Starts in a new session keyring; `None` where that is forbidden.
fn start(warm: &Warm, python: &str) -> Option<Observed> {
    let output = in_new_keyring(warm, python, "stays").output();
    let observed = Observed::of(output.expect("it starts"));
    let is_there = observed.status.code() != Some(FORBIDDEN);
    let observed = require("keyring", is_there.then_some(observed))?;
    assert_eq!(observed.out, "1\n", "{}", observed.err);
    assert!(
        observed.err.starts_with("preheat: started plainly"),
        "{}",
        observed.err
    );
    Some(observed)
}

/// Waits until the start before this has its parent, or will have none.
fn settle(warm: &Warm, before: usize) {
    until("a parent is there, or is refused", || {
        warm.count() > before || warm.refusal().is_some()
    });
}

#[test]
fn keyrings_that_no_start_uses_again_get_few_parents() {
    let Some((warm, python)) = prepared() else {
        return;
    };
    let program = [&python[..], "program.py"];
    warm.warm_up(&program, &as_is);
    warm.same(&program, &as_is);
    let mut last = String::new();
    for _ in 0..5 {
        let before = warm.count();
        let Some(observed) = start(&warm, &python) else {
            return;
        };
        last = observed.err;
        settle(&warm, before);
        assert!(warm.count() <= 3);
    }
    let why = "its starts have different session keyrings";
    assert!(last.contains(why), "{last}");
    // The first one still serves its keyring.
    warm.same(&program, &as_is);
}

#[test]
fn a_parent_leaves_with_its_keyring() {
    let Some((warm, python)) = prepared() else {
        return;
    };
    for number in 1..=3 {
        let mut command = in_new_keyring(&warm, &python, "ends");
        command.stdin(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let is_over = || child_has_ended(child.id());
        until("it has a parent", || warm.count() == 1 || is_over());
        drop(child.stdin.take());
        let status = child.wait().expect("it ends");
        let is_there = status.code() != Some(FORBIDDEN);
        if require("keyring", is_there.then_some(())).is_none() {
            return;
        }
        assert!(status.success(), "{number}: {status}");
        until("the parent has left", || warm.count() == 0);
    }
    // No start has used them, so there will be no fourth one.
    assert!(start(&warm, &python).is_some());
    until("a parent is refused", || warm.refusal().is_some());
    let why = warm.refusal().expect("there is one");
    assert!(why.contains("different session keyrings"), "{why}");
    assert_eq!(warm.count(), 0);
}

/// Returns true for a child that has ended.
fn child_has_ended(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_none_or(|rest| rest.starts_with(" Z"))
}
