//! Starts inside a sandbox: a warm start may do exactly what a plain one may, neither more
//! nor less.

use std::fs;

#[path = "start/group.rs"]
mod group;
mod support;
#[path = "start/warm.rs"]
mod warm;
use group::Group;
use support::require;
use warm::{Observed, Warm, as_is};

/// Prints whether directories can be created, and which files are visible next to it.
const PROGRAM: &str = "import json, numpy, os
try:
    os.mkdir('made')
    os.rmdir('made')
    print('allowed', sorted(os.listdir('shown')))
except PermissionError:
    print('denied', sorted(os.listdir('shown')))
with open('/proc/self/maps') as file:
    assert not [line for line in file if 'evil.so' in line]
";

/// Exit code of `enter.py` if the kernel lacks the requested feature.
const MISSING: i32 = 77;

fn prepared() -> Option<Warm> {
    let warm = Warm::new()?;
    fs::create_dir(warm.directory.join("shown")).expect("a directory for the test");
    fs::write(warm.directory.join("shown/outside"), "").expect("it is written");
    fs::write(warm.directory.join("program.py"), PROGRAM).expect("it is written");
    let enter = include_str!("start/enter.py");
    fs::write(warm.directory.join("enter.py"), enter).expect("it is written");
    // Directories that could not be made inside.
    let made = warm.preheat(&["--only", "none", "--", "true"]).status();
    assert!(made.expect("it starts").success());
    Some(warm)
}

/// Starts the program inside `sandbox`; `None` if that sandbox is not available.
fn inside(warm: &Warm, sandbox: &str) -> Option<Observed> {
    let python = warm.python.to_str().expect("its path is text");
    let exe = env!("CARGO_BIN_EXE_preheat");
    let words = [
        python,
        "enter.py",
        sandbox,
        exe,
        "start",
        "-v",
        "--patience",
        "60",
        "--",
        python,
        "program.py",
    ];
    let observed = Observed::of(warm.plain(&words).output().expect("it starts"));
    let is_there = observed.status.code() != Some(MISSING);
    require(sandbox, is_there.then_some(observed))
}

fn program(warm: &Warm) -> [&str; 2] {
    [
        warm.python.to_str().expect("its path is text"),
        "program.py",
    ]
}

#[test]
fn a_landlock_domain_is_not_left() {
    let Some(warm) = prepared() else { return };
    warm.warm_up(&program(&warm), &as_is);
    let Some(observed) = inside(&warm, "landlock") else {
        return;
    };
    assert_eq!(observed.out, "denied ['outside']\n", "{}", observed.err);
    assert!(
        observed.err.starts_with("preheat: started plainly"),
        "{}",
        observed.err
    );
    // Those outside are still served, by a parent that is not restricted.
    let outside = warm.same(&program(&warm), &as_is);
    assert_eq!(outside.out, "allowed ['outside']\n");
}

#[test]
fn a_parent_in_a_landlock_domain_does_not_serve_those_outside() {
    let Some(warm) = prepared() else { return };
    let Some(observed) = inside(&warm, "landlock") else {
        return;
    };
    assert_eq!(observed.out, "denied ['outside']\n", "{}", observed.err);
    warm.wait_for_parent();
    // It serves only clients in the same Landlock domain.
    let outside = Observed::of(warm.started(&program(&warm)).output().expect("it starts"));
    assert_eq!(outside.out, "allowed ['outside']\n", "{}", outside.err);
}

#[test]
fn those_in_one_landlock_domain_are_started_warm() {
    let Some(warm) = prepared() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let script = "\"$0\" start -- \"$1\" program.py
\"$0\" start --prepare -- \"$1\" program.py
\"$0\" start -v --patience 60 -- \"$1\" program.py
";
    let exe = env!("CARGO_BIN_EXE_preheat");
    let words = [
        python, "enter.py", "landlock", "sh", "-ec", script, exe, python,
    ];
    let observed = Observed::of(warm.plain(&words).output().expect("it starts"));
    let is_there = observed.status.code() != Some(MISSING);
    if require("landlock", is_there.then_some(())).is_none() {
        return;
    }
    assert_eq!(
        observed.out,
        "denied ['outside']\n".repeat(2),
        "{}",
        observed.err
    );
    assert!(observed.err.contains("started warm"), "{}", observed.err);
}

#[test]
fn another_seccomp_filter_is_not_left() {
    let Some(warm) = prepared() else { return };
    // As many filters as the strict sandbox has, and none of them denies anything.
    let Some(first) = inside(&warm, "lenient") else {
        return;
    };
    assert_eq!(first.out, "allowed ['outside']\n", "{}", first.err);
    let Some(second) = inside(&warm, "strict") else {
        return;
    };
    assert_eq!(second.out, "denied ['outside']\n", "{}", second.err);
    assert!(second.err.contains("system call filter"), "{}", second.err);
    // No parent could be known to have the same filters, so none is made.
    assert_eq!(warm.count(), 0);
}

#[test]
fn memory_that_cannot_be_executable_stays_so() {
    let Some(warm) = prepared() else { return };
    let sealed = "import json, numpy, mmap
try:
    mmap.mmap(-1, 4096, prot=7)
    print('mapped')
except PermissionError:
    print('denied')
";
    fs::write(warm.directory.join("program.py"), sealed).expect("it is written");
    warm.warm_up(&program(&warm), &as_is);
    let Some(observed) = inside(&warm, "sealed") else {
        return;
    };
    assert_eq!(observed.out, "denied\n", "{}", observed.err);
    assert_eq!(warm.same(&program(&warm), &as_is).out, "mapped\n");
}

#[test]
fn keys_of_another_session_are_not_found() {
    let Some(warm) = prepared() else { return };
    let searches = "import ctypes, json, numpy, platform
keyctl = {'x86_64': 250, 'aarch64': 219}[platform.machine()]
print(ctypes.CDLL(None).syscall(keyctl, 10, -3, b'user', b'preheat-test', 0) > 0)
";
    fs::write(warm.directory.join("program.py"), searches).expect("it is written");
    warm.warm_up(&program(&warm), &as_is);
    let Some(observed) = inside(&warm, "keyring") else {
        return;
    };
    assert_eq!(observed.out, "True\n", "{}", observed.err);
    assert!(observed.err.contains("session keyring"), "{}", observed.err);
    assert_eq!(warm.same(&program(&warm), &as_is).out, "False\n");
}

/// A separate client, in a sandbox, that makes none of the checks of `preheat start`: each
/// argument after the socket is a sandbox, or a way to send the request.
fn attack(warm: &Warm, words: &[&str]) -> Option<Observed> {
    let python = warm.python.to_str().expect("its path is text");
    let client = include_str!("start/client.py");
    fs::write(warm.directory.join("client.py"), client).expect("it is written");
    let entries = fs::read_dir(warm.directory.join("run/preheat")).expect("it exists");
    let mut paths = entries.flatten().map(|entry| entry.path());
    let socket = paths.find(|path| path.extension().is_some_and(|it| it == "socket"));
    let socket = socket.expect("a parent has one");
    let socket = socket.to_str().expect("its path is text");
    let is_way = |word: &&&str| ["send", "fork", "guess"].contains(*word);
    let sandboxes = words.iter().filter(|word| !is_way(word));
    let sandbox = sandboxes.flat_map(|sandbox| [python, "enter.py", sandbox]);
    let how = words.iter().find(is_way).unwrap_or(&"send");
    let client = [python, "client.py", socket, how];
    let all: Vec<&str> = sandbox.chain(client).collect();
    let observed = Observed::of(warm.plain(&all).output().expect("it starts"));
    let is_there = observed.status.code() != Some(MISSING);
    require(words[0], is_there.then_some(observed))
}

#[test]
fn a_client_that_checks_nothing_gets_no_program_outside_its_sandbox() {
    let Some(warm) = prepared() else { return };
    warm.warm_up(&program(&warm), &as_is);
    for words in [
        &["landlock"][..],
        &["strict"],
        &["lenient"],
        &["no_new_privs"],
        &["limited"],
        &["fork"],
        &["fork", "no_new_privs"],
        &["guess"],
    ] {
        let Some(observed) = attack(&warm, words) else {
            continue;
        };
        assert!(
            observed.out.starts_with("no "),
            "{words:?}: {} {}",
            observed.out,
            observed.err
        );
        assert_eq!(observed.out.lines().count(), 1, "{words:?}");
    }
    // Outside any sandbox the same client is served, so the request is a valid one; but the
    // library that it names is not loaded.
    let served = attack(&warm, &["send"]).expect("it needs no sandbox");
    let said: Vec<&str> = served.out.lines().collect();
    assert_eq!(
        said,
        ["ready", "allowed ['outside']", "status 0"],
        "{}",
        served.err
    );
    assert_eq!(served.err, "");
}

/// Runs a shell script in separate namespaces; `None` if that is not allowed.
fn in_namespaces(warm: &Warm, options: &[&str], script: &str) -> Option<Observed> {
    let python = warm.python.to_str().expect("its path is text");
    let exe = env!("CARGO_BIN_EXE_preheat");
    let is_allowed = warm
        .plain(&[&["unshare"], options, &["true"]].concat())
        .output();
    let is_allowed = is_allowed.is_ok_and(|it| it.status.success());
    require("namespaces", is_allowed.then_some(()))?;
    let words = [&["unshare"], options, &["sh", "-ec", script, exe, python]].concat();
    let output = warm.plain(&words).output();
    Some(Observed::of(output.expect("it starts")))
}

#[test]
fn a_chroot_is_not_left() {
    let Some(warm) = prepared() else { return };
    // The same files everywhere, but for the directory that is hidden below the new root.
    let script = "mkdir root
mount --rbind / root
\"$0\" start -- \"$1\" program.py
\"$0\" start --prepare -- \"$1\" program.py
\"$0\" start -v --patience 60 -- \"$1\" program.py
mount -t tmpfs none \"root$PWD/shown\"
chroot root sh -c 'cd \"$2\" && \"$0\" start -v --patience 60 -- \"$1\" program.py' \"$0\" \"$1\" \"$PWD\"
\"$0\" start --stop all
";
    let options = ["-m", "--propagation", "private"];
    let Some(observed) = in_namespaces(&warm, &options, script) else {
        return;
    };
    let (outside, hidden) = ("allowed ['outside']\n", "allowed []\n");
    let expected = [outside, outside, hidden].concat();
    assert_eq!(observed.out, expected, "{}", observed.err);
    let said: Vec<&str> = observed.err.lines().collect();
    assert!(said[0].contains("started warm"), "{said:?}");
    assert!(said[1].contains("started plainly"), "{said:?}");
}

/// A container engine filters the system calls of all processes in a container, its first
/// process among them.
#[test]
fn the_filter_of_a_container_is_no_obstacle() {
    let Some(warm) = prepared() else { return };
    let script = "exec \"$1\" enter.py strict sh -ec '
\"$0\" start -- \"$1\" program.py
\"$0\" start --prepare -- \"$1\" program.py
\"$0\" start -v --patience 60 -- \"$1\" program.py
\"$0\" start --stop all' \"$0\" \"$1\"
";
    let options = ["-m", "-p", "-f", "--kill-child", "--mount-proc"];
    let Some(observed) = in_namespaces(&warm, &options, script) else {
        return;
    };
    assert_eq!(
        observed.out,
        "denied ['outside']\n".repeat(2),
        "{}",
        observed.err
    );
    assert!(observed.err.contains("started warm"), "{}", observed.err);
}

/// Containers may share their processes, as those of a pod do. Process 1 then has the filter of
/// another container, and two processes with one filter each may have different ones.
#[test]
fn the_filter_of_another_container_proves_nothing() {
    let (Some(warm), Some(group)) = (prepared(), Group::new("container")) else {
        return;
    };
    // A second container without a filter, whose processes restrict themselves.
    let second = "exe=$1 python=$2
echo 0 >\"$3/cgroup.procs\"
read -r _ <has_filter
start() { \"$python\" enter.py \"$1\" \"$exe\" start -v --patience 60 -- \"$python\" program.py; }
start lenient
if \"$python\" enter.py lenient \"$exe\" start --prepare -- \"$python\" program.py; then exit 3; fi
start strict
";
    fs::write(warm.directory.join("second"), second).expect("it is written");
    let script = "mkfifo has_filter has_ended
{ unshare -m sh -e second \"$0\" \"$1\" GROUP || true; echo >has_ended; } &
exec \"$1\" enter.py lenient sh -c 'echo >has_filter; read -r _ <has_ended'";
    let script = script.replace("GROUP", &group.0.display().to_string());
    let options = ["-m", "-p", "-f", "--kill-child", "--mount-proc"];
    let Some(observed) = in_namespaces(&warm, &options, &script) else {
        return;
    };
    let is_there = observed.status.code() != Some(MISSING);
    if require("seccomp", is_there.then_some(())).is_none() {
        return;
    }
    let expected = "allowed ['outside']\ndenied ['outside']\n";
    assert_eq!(observed.out, expected, "{}", observed.err);
    let why = "process 1 may be in another container";
    assert_eq!(observed.err.matches(why).count(), 3, "{}", observed.err);
}

/// `/etc/localtime` is an input of every program that uses local time, and of modules that keep one.
#[test]
fn the_time_zone_of_the_machine_changes() {
    let Some(warm) = prepared() else { return };
    let text = "import json, numpy, time, keeps_hour
print(keeps_hour.VALUE, time.tzname[0], time.localtime(0).tm_hour)
";
    fs::write(warm.directory.join("program.py"), text).expect("it is written");
    let keeps = "import time\nVALUE = time.tzname[0], time.localtime(0).tm_hour\n";
    fs::write(warm.venv().join("keeps_hour.py"), keeps).expect("it is written");
    // In version 1 of the format, as in the first block of later ones: one type of local time.
    for (file, name, hours) in [("one", "ONE", 1u32), ("two", "TWO", 2)] {
        let header = [&b"TZif"[..], &[0; 16]].concat();
        let counts = [0, 0, 0, 0, 1, 4].map(u32::to_be_bytes).concat();
        let zone = [
            &(hours * 3600).to_be_bytes()[..],
            &[0, 0],
            name.as_bytes(),
            &[0],
        ]
        .concat();
        fs::write(warm.directory.join(file), [header, counts, zone].concat())
            .expect("it is written");
    }
    let script = "cat one >zone
mount --bind zone /etc/localtime
start() { \"$exe\" start \"$@\" -- venv/bin/python program.py; }
exe=$0
start
start --prepare
start -v --patience 60
cat two >zone
start -v --patience 60
start --prepare
start -v --patience 60
TZ=UTC0 start -v --patience 60
\"$0\" start --stop all
";
    let options = ["-m", "--propagation", "private"];
    let Some(observed) = in_namespaces(&warm, &options, script) else {
        return;
    };
    let [one, two, utc] = [("ONE", 1), ("TWO", 2), ("UTC", 0)]
        .map(|(name, hour)| format!("('{name}', {hour}) {name} {hour}\n"));
    let expected = [&one[..], &one, &two, &two, &utc].concat();
    assert_eq!(observed.out, expected, "{}", observed.err);
    let said: Vec<&str> = observed.err.lines().collect();
    assert_eq!(said.len(), 4, "{said:?}");
    assert!(said[0].contains("started warm"), "{said:?}");
    assert!(
        said[1].contains("started plainly") && said[1].contains("/etc/localtime"),
        "{said:?}"
    );
    assert!(said[2].contains("started warm"), "{said:?}");
    assert!(
        said[3].contains("started plainly") && said[3].contains("TZ"),
        "{said:?}"
    );
}

/// A module may keep the name of the host on which it was imported.
#[test]
fn the_host_has_another_name() {
    let Some(warm) = prepared() else { return };
    let text = "import json, numpy, socket, keeps_host
print(keeps_host.VALUE, socket.gethostname())
";
    fs::write(warm.directory.join("program.py"), text).expect("it is written");
    let keeps = "import socket\nVALUE = socket.gethostname()\n";
    fs::write(warm.venv().join("keeps_host.py"), keeps).expect("it is written");
    let script = "exe=$0
start() { \"$exe\" start \"$@\" -- venv/bin/python program.py; }
hostname one
start
start --prepare
start -v --patience 60
hostname two
start -v --patience 60
start --prepare
start -v --patience 60
\"$0\" start --stop all
";
    let Some(observed) = in_namespaces(&warm, &["-u"], script) else {
        return;
    };
    let expected = "one one\none one\ntwo two\ntwo two\n";
    assert_eq!(observed.out, expected, "{}", observed.err);
    let said: Vec<&str> = observed.err.lines().collect();
    assert!(said[0].contains("started warm"), "{said:?}");
    assert!(
        said[1].contains("the host name or the kernel has changed"),
        "{said:?}"
    );
    assert!(said[2].contains("started warm"), "{said:?}");
}

/// The processors on which a program may run are the client's.
#[test]
fn other_processors_are_allowed() {
    let Some(warm) = prepared() else { return };
    let text = "import json, numpy, os, keeps_count
print(keeps_count.VALUE, sorted(os.sched_getaffinity(0)))
";
    fs::write(warm.directory.join("program.py"), text).expect("it is written");
    let keeps = "import os\nVALUE = len(os.sched_getaffinity(0))\n";
    fs::write(warm.venv().join("keeps_count.py"), keeps).expect("it is written");
    let program = ["venv/bin/python", "program.py"];
    warm.warm_up(&program, &as_is);
    let everywhere = warm.same(&program, &as_is).out;
    let script = "taskset -pc 0 $$ >/dev/null && exec \"$@\"";
    let one = ["sh", "-ec", script, "sh"];
    let plain = warm.plain(&[&one[..], &program].concat()).output();
    let plain = Observed::of(plain.expect("it starts"));
    let has_others = plain.status.success() && plain.out != everywhere;
    if require("two processors", has_others.then_some(())).is_none() {
        return;
    }
    let exe = env!("CARGO_BIN_EXE_preheat");
    let start = [
        &one[..],
        &[exe, "start", "-v", "--patience", "60", "--"],
        &program,
    ]
    .concat();
    let started = Observed::of(warm.plain(&start).output().expect("it starts"));
    assert_eq!(started.out, plain.out, "{}", started.err);
    assert!(started.err.contains("started plainly"), "{}", started.err);
    assert_eq!(warm.same(&program, &as_is).out, everywhere);
}

/// If no process may be traced, as in some containers, nothing is imported ahead.
#[test]
fn nothing_can_be_traced() {
    let Some(warm) = prepared() else { return };
    let script = "exec \"$1\" enter.py untraceable sh -ec '
\"$0\" start -- \"$1\" program.py
if \"$0\" start --prepare -- \"$1\" program.py; then exit 3; fi
\"$0\" start -v --patience 60 -- \"$1\" program.py
\"$0\" start --list >listed' \"$0\" \"$1\"
";
    let options = ["-m", "-p", "-f", "--kill-child", "--mount-proc"];
    let Some(observed) = in_namespaces(&warm, &options, script) else {
        return;
    };
    let is_there = observed.status.code() != Some(MISSING);
    if require("seccomp", is_there.then_some(())).is_none() {
        return;
    }
    assert_eq!(observed.status.code(), Some(0), "{}", observed.err);
    assert_eq!(
        observed.out,
        "allowed ['outside']\n".repeat(2),
        "{}",
        observed.err
    );
    let why = "its imports cannot be verified, because ptrace failed (Operation not permitted";
    assert_eq!(observed.err.matches(why).count(), 2, "{}", observed.err);
    assert!(
        observed.err.contains(&format!("started plainly: {why}")),
        "{}",
        observed.err
    );
}
