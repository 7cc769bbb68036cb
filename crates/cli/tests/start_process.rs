//! What a program can tell of its process: the file it comes from, its children, its group,
//! its locks, its title.

use std::fs;

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::require;
use warm::{Observed, Warm, as_is};

const STARTED: [&str; 6] = [
    env!("CARGO_BIN_EXE_preheat"),
    "start",
    "-v",
    "--patience",
    "60",
    "--",
];

fn with_program(warm: Option<Warm>, program: &str) -> Option<Warm> {
    let warm = warm?;
    fs::write(warm.directory.join("program.py"), program).expect("it is written");
    let enter = include_str!("start/enter.py");
    fs::write(warm.directory.join("enter.py"), enter).expect("it is written");
    Some(warm)
}

/// A process that is changed as `enter.py` says starts the program.
fn entered(warm: &Warm, how: &str) -> Observed {
    let python = warm.python.to_str().expect("its path is text");
    let words = [
        &[python, "enter.py", how],
        &STARTED[..],
        &[python, "program.py"],
    ]
    .concat();
    Observed::of(warm.plain(&words).output().expect("it starts"))
}

#[test]
fn a_program_from_a_pipe_is_never_lost() {
    let Some(warm) = with_program(Warm::new(), "") else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let program = "import json, numpy\nprint('it ran')\n";
    fs::write(warm.directory.join("s.py"), program).expect("it is written");
    for line in [
        "cat s.py | \"$@\" /dev/stdin",
        "\"$@\" /dev/stdin < s.py",
        "cat s.py | \"$@\" /proc/self/fd/0",
        "\"$@\" <(cat s.py)",
        "ln -sf /dev/stdin link; cat s.py | \"$@\" link",
        "rm -f pipe; mkfifo pipe; cat s.py > pipe & \"$@\" pipe",
    ] {
        for _ in 0..3 {
            let words = [&["bash", "-c", line, "bash"], &STARTED[..], &[python]].concat();
            let observed = Observed::of(warm.plain(&words).output().expect("it starts"));
            assert_eq!(observed.out, "it ran\n", "{line}: {}", observed.err);
            assert_eq!(observed.status.code(), Some(0), "{line}");
        }
    }
    assert_eq!(warm.count(), 0);
}

const WAITS: &str = "import json, numpy, os
if os.fork() == 0: os._exit(3)
ended = []
try:
    while True: ended.append(os.wait()[1] >> 8)
except ChildProcessError: print(sorted(ended))
";

#[test]
fn the_first_process_of_a_container_has_only_children_of_its_own() {
    let Some(warm) = with_program(Warm::new(), WAITS) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let options = ["unshare", "-p", "-f", "--kill-child", "--mount-proc"];
    let is_allowed = warm.plain(&[&options[..], &["true"]].concat()).output();
    let is_allowed = is_allowed.is_ok_and(|it| it.status.success());
    if require("namespaces", is_allowed.then_some(())).is_none() {
        return;
    }
    // One that never ends is ended.
    let bounded = ["timeout", "-s", "KILL", "120"];
    let program = [python, "program.py"];
    let words = [&bounded[..], &options, &STARTED, &program].concat();
    for _ in 0..2 {
        let observed = Observed::of(warm.plain(&words).output().expect("it starts"));
        assert_eq!(observed.out, "[3]\n", "{}", observed.err);
        assert!(observed.err.contains("process 1"), "{}", observed.err);
    }
}

#[test]
fn a_process_that_adopts_orphans_has_only_children_of_its_own() {
    let Some(warm) = with_program(Warm::new(), WAITS) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let program = [python, "program.py"];
    for is_there in [false, true] {
        for (how, expected) in [("reaper", "[3]\n"), ("child", "[3, 5]\n")] {
            let observed = entered(&warm, how);
            assert_eq!(observed.out, expected, "{how}: {}", observed.err);
        }
        if !is_there {
            assert_eq!(warm.count(), 0);
            warm.warm_up(&program, &as_is);
        }
    }
    warm.same(&program, &as_is);
}

#[test]
fn a_lock_is_kept_over_the_start() {
    // Whoever closes a file loses its locks, so another process looks.
    let program = "import fcntl, json, numpy, os
if os.fork() == 0:
    with open('locked', 'r+') as other:
        try: fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError: os._exit(1)
    os._exit(0)
print('held' if os.wait()[1] else 'free')
";
    let Some(warm) = with_program(Warm::new(), program) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    fs::write(warm.directory.join("locked"), "").expect("it is written");
    warm.warm_up(&[python, "program.py"], &as_is);
    assert_eq!(warm.same(&[python, "program.py"], &as_is).out, "free\n");
    assert_eq!(entered(&warm, "lock").out, "held\n");
}

#[test]
fn a_service_that_reports_to_its_manager_is_the_process_that_was_started() {
    let program = "import json, numpy, os\nprint(os.environ.get('NOTIFY_SOCKET'))\n";
    let Some(warm) = with_program(Warm::new(), program) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    warm.warm_up(&[python, "program.py"], &as_is);
    let observed = entered(&warm, "notify");
    assert_eq!(observed.out, "@nobody-listens\n");
    assert!(
        observed.err.contains("started plainly: a service manager"),
        "{}",
        observed.err
    );
}
