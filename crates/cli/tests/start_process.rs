//! Properties of its process that a program can observe: its executable, children, group,
//! locks and title.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::{python_with, require};
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

/// Starts the program from a process that `enter.py` has changed.
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
    // A process that hangs is killed.
    let bounded = ["timeout", "-s", "KILL", "120"];
    let program = [python, "program.py"];
    let words = [&bounded[..], &options, &STARTED, &program].concat();
    for _ in 0..2 {
        let observed = Observed::of(warm.plain(&words).output().expect("it starts"));
        assert_eq!(observed.out, "[3]\n", "{}", observed.err);
        assert!(observed.err.contains("process 1"), "{}", observed.err);
    }
}

/// The first child of a process that has called `unshare` is process 1 of its namespace; the
/// namespace ends with it.
#[test]
fn children_are_created_in_the_namespace_that_the_client_chose() {
    let program = "import json, numpy, subprocess
for _ in range(2): subprocess.run(['sh', '-c', 'echo $$'])
";
    let Some(warm) = with_program(Warm::new(), program) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let plain = [python, "enter.py", "unshare", python, "program.py"];
    let plain = Observed::of(warm.plain(&plain).output().expect("it starts"));
    let is_allowed = plain.out.starts_with("1\n");
    if require("namespaces", is_allowed.then_some(())).is_none() {
        return;
    }
    for is_there in [false, true] {
        let observed = entered(&warm, "unshare");
        assert_eq!(observed.out, plain.out, "{}", observed.err);
        assert!(
            observed.err.contains("another namespace"),
            "{}",
            observed.err
        );
        if !is_there {
            assert_eq!(warm.count(), 0);
            warm.warm_up(&[python, "program.py"], &as_is);
        }
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
fn a_process_that_ignores_the_end_of_children_is_started_warm() {
    let program = "import json, numpy, signal\nprint(signal.getsignal(signal.SIGCHLD).name)\n";
    let Some(warm) = with_program(Warm::new(), program) else {
        return;
    };
    for how in ["plainly", "warm"] {
        let observed = entered(&warm, "unreaped");
        assert_eq!(observed.out, "SIG_IGN\n", "{}", observed.err);
        let started = format!("started {how}");
        assert!(observed.err.contains(&started), "{}", observed.err);
        warm.wait_for_parent();
    }
}

#[test]
fn a_traced_client_runs_the_program_itself() {
    let Some(warm) = with_program(Warm::new(), "import json, numpy, os\nprint(os.getpid())\n")
    else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    warm.warm_up(&[python, "program.py"], &as_is);
    // A parent that traces this process, as strace does, and lets it continue.
    let observed = entered(&warm, "traced");
    assert!(
        observed.err.contains("started plainly: it is traced"),
        "{}",
        observed.err
    );
    assert_eq!(observed.out.lines().count(), 1, "{}", observed.err);
    assert_eq!(observed.status.code(), Some(0));
}

#[test]
fn a_lock_is_kept_over_the_start() {
    // A process that closes a file loses its locks, so another one reads it.
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
fn a_program_can_lead_a_session_where_it_could_without_us() {
    let program = "import json, numpy, os
print(os.getpgrp() == os.getpid())
try: os.setsid()
except PermissionError: print('it leads a group')
else: print(os.getsid(0) == os.getpid())
";
    let Some(warm) = with_program(Warm::new(), program) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let words = [python, "program.py"];
    warm.warm_up(&words, &as_is);
    let member = warm.same(&words, &as_is);
    assert_eq!(member.out, "False\nTrue\n");
    let leader = warm.same(&words, &|command: &mut Command| {
        command.process_group(0);
    });
    assert_eq!(leader.out, "True\nit leads a group\n");
}

#[test]
fn a_group_that_is_signalled_is_the_program_alone() {
    let program = "import json, numpy, os, signal
signal.signal(signal.SIGUSR1, lambda *_: print('heard'))
os.killpg(0, signal.SIGUSR1)
os.killpg(0, signal.SIGKILL)
";
    let Some(warm) = with_program(Warm::new(), program) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let words = [python, "-u", "program.py"];
    let alone = |command: &mut Command| {
        command.process_group(0);
    };
    warm.warm_up(&words, &alone);
    let parent = warm.parent();
    let killed = warm.same(&words, &alone);
    assert_eq!(warm::signal_of(&killed), Some(libc::SIGKILL));
    // Also where the program leads no group: its own is not the parent's.
    let mut command = warm.started(&words);
    let observed = Observed::of(command.output().expect("it starts")).warm(&words);
    assert_eq!(observed.out, "heard\n");
    assert_eq!(warm::signal_of(&observed), Some(libc::SIGKILL));
    assert_eq!(warm.parent(), parent);
}

#[test]
fn a_queued_signal_keeps_its_value_and_sender() {
    let program = "import ctypes, json, numpy, signal, struct
number = signal.SIGRTMIN + 1
signal.pthread_sigmask(signal.SIG_BLOCK, [number])
print('waits', flush=True)
mask, info = struct.pack('Q', 1 << number - 1) + bytes(120), ctypes.create_string_buffer(128)
for _ in range(2):
    assert ctypes.CDLL(None).sigwaitinfo(mask, info) == number
    code, sender, value = struct.unpack_from('i4xi4xQ', info.raw, 8)
    print(code, sender, hex(value), flush=True)
";
    let Some(warm) = with_program(Warm::new(), program) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let words = [python, "program.py"];
    let outcome = |mut command: Command| {
        let mut client = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut out = BufReader::new(client.stdout.take().expect("it is a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it runs");
        assert_eq!(line, "waits\n");
        for value in [0x1122_3344_5566_7788usize, 7] {
            let value = libc::sigval {
                sival_ptr: value as *mut libc::c_void,
            };
            let (process, signal) = (client.id() as libc::pid_t, libc::SIGRTMIN() + 1);
            // SAFETY: sigqueue takes numbers; nobody uses the value as a pointer.
            assert_eq!(unsafe { libc::sigqueue(process, signal, value) }, 0);
        }
        let mut said = String::new();
        out.read_to_string(&mut said).expect("it ends");
        let mut err = String::new();
        let mut stderr = client.stderr.take().expect("it is a pipe");
        stderr.read_to_string(&mut err).expect("it ends");
        client.wait().expect("it ends");
        (said, err)
    };
    let this = std::process::id();
    let expected = format!("-1 {this} 0x1122334455667788\n-1 {this} 0x7\n");
    assert_eq!(outcome(warm.plain(&words)).0, expected);
    let learning = outcome(warm.started(&words));
    assert_eq!(learning.0, expected);
    warm.wait_for_parent();
    let (said, err) = outcome(warm.started(&words));
    assert!(err.starts_with("preheat: started warm"), "{err}");
    assert_eq!(said, expected);
}

#[test]
fn a_program_that_imports_little_has_little() {
    let program = "import colorsys, sys\nprint(sorted(sys.modules))\n";
    let Some(warm) = with_program(Warm::new(), program) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    warm.warm_up(&[python, "program.py"], &as_is);
    warm.same(&[python, "program.py"], &as_is);
}

#[test]
fn a_title_is_shown() {
    let program = "import json, setproctitle
shown = lambda: open('/proc/self/cmdline', 'rb').read().rstrip(b'\\0').split(b'\\0')[1:]
print(shown()[1:], setproctitle.getproctitle().split()[1:])
setproctitle.setproctitle('a title of its own')
print(open('/proc/self/cmdline', 'rb').read().rstrip(b'\\0'), setproctitle.getproctitle())
print(open('/proc/self/comm').read())
import os
os.environ['AFTER'] = 'set'
os.environ.pop('HOME', None)
print(os.popen('echo $AFTER $HOME').read(), sorted(os.environ)[:1])
";
    let python = python_with("setproctitle");
    let Some(warm) = with_program(python.and_then(Warm::with), program) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let words = [python, "program.py", "one"];
    warm.warm_up(&words, &as_is);
    for words in [
        &words[..],
        &[python, "program.py"],
        &[
            python,
            "program.py",
            "some",
            "more",
            "arguments",
            "than",
            "it",
            "was",
            "made",
            "with",
        ],
    ] {
        let observed = warm.same(words, &as_is);
        assert!(
            observed.out.contains("b'a title of its own' a title"),
            "{}",
            observed.out
        );
    }
}

#[test]
fn plugins_beside_the_script_are_found() {
    let program =
        "import fsspec, json\nprint([p for p in fsspec.available_protocols() if 'beside' in p])\n";
    let python = python_with("fsspec");
    let Some(warm) = with_program(python.and_then(Warm::with), program) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let words = [python, "program.py"];
    let plugin = |name: &str| {
        let info = warm.directory.join(&format!("{name}.egg-info"));
        fs::create_dir(&info).expect("a directory for the test");
        let text = format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n");
        fs::write(info.join("PKG-INFO"), text).expect("it is written");
        let text = format!("[fsspec.specs]\n{name} = {name}.module:Class\n");
        fs::write(info.join("entry_points.txt"), text).expect("it is written");
    };
    plugin("beside");
    warm.warm_up(&words, &as_is);
    let observed = warm.same(&words, &as_is);
    assert_eq!(observed.out, "['beside']\n");
    // One that comes later is found as well.
    plugin("besides");
    for _ in 0..2 {
        let observed = Observed::of(warm.started(&words).output().expect("it starts"));
        assert_eq!(observed.out, "['beside', 'besides']\n", "{}", observed.err);
    }
}

const ANSWERS: &str = "def app(environ, start):
    start('200 OK', [('Content-Type', 'text/plain')])
    return [b'served']
";

#[test]
fn gunicorn_serves_the_socket_that_it_is_given() {
    let python = python_with("gunicorn");
    let Some(warm) = with_program(python.and_then(Warm::with), ANSWERS) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let serve = [
        python,
        "-m",
        "gunicorn",
        "--control-socket",
        "control",
        "program:app",
    ];
    let serve = match warm
        .plain(&[&serve[..], &["--check-config"]].concat())
        .output()
    {
        Ok(output) if output.status.success() => serve.to_vec(),
        // An older one has no such option.
        _ => vec![python, "-m", "gunicorn", "program:app"],
    };
    for is_warm in [false, true] {
        let words = [&[python, "enter.py", "listen"], &STARTED[..], &serve].concat();
        let mut started = warm.plain(&words);
        let mut started = started.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut said = BufReader::new(started.stderr.take().expect("it is a pipe")).lines();
        let mut next = || said.next().expect("it says more").expect("it is text");
        let how = next();
        assert_eq!(how.contains("started warm"), is_warm, "{how}");
        let listens = std::iter::repeat_with(&mut next)
            .find(|line| line.contains("Listening at"))
            .expect("it listens somewhere");
        let port = fs::read_to_string(warm.directory.join("port")).expect("it is written");
        assert!(listens.contains(&format!(":{port} ")), "{listens}");
        let address = format!("127.0.0.1:{port}");
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream
            .write_all(b"GET / HTTP/1.0\r\n\r\n")
            .expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        assert!(answer.ends_with("served"), "{answer}");
        assert!(support::signal("-TERM", &started));
        said.for_each(drop);
        assert_eq!(started.wait().expect("it ends").code(), Some(0));
        if !is_warm {
            warm.wait_for_parent();
        }
    }
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
