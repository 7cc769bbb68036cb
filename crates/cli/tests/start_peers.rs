//! Whoever talks to a warm parent, or answers in its place: programs are started once,
//! rightly, and by nobody else.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::require;
use warm::{Observed, Warm, as_is};

/// A file of the only parent, by its ending.
fn file(warm: &Warm, ending: &str) -> PathBuf {
    let entries = fs::read_dir(warm.directory.join("run/preheat")).expect("it exists");
    let mut paths = entries.flatten().map(|entry| entry.path());
    let found = paths.find(|path| path.extension().is_some_and(|it| it == ending));
    found.expect("a parent has one")
}

fn start(warm: &Warm, program: &[&str]) -> Observed {
    Observed::of(warm.started(program).output().expect("it starts"))
}

/// Numbers that look random, and are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        let length = self.next() % most;
        (0..length).map(|_| self.next() as u8).collect()
    }
}

#[test]
fn nonsense_does_not_disturb_a_parent() {
    let Some(warm) = Warm::new() else { return };
    let program = warm.case(&["code", "3"]);
    warm.warm_up(&program, &as_is);
    let (parent, socket) = (warm.parent(), file(&warm, "socket"));
    /// Stands for the word of the connection.
    const WORD: &[u8] = b"WORD";
    let framed = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut requests = vec![
        Vec::new(),
        vec![0; 4],
        vec![0xff; 4],
        framed(b"start\0"),
        framed(b"start\0WORD\0"),
        framed(b"start\x000 18 2\0\0\0\x000 1 2\x003\0python\0"),
        framed(b"start\0WORD\x000 18 2\0\0\0\x000 1 2\x003\0python\0"),
        framed(b"start\0WORD\0one two three\0\0\0\0\0\0"),
        framed(b"start\0WORD\x000 18 2\0\0\0\0-1\0-1\0"),
        framed(b"start\0WORD\x000 18 2\0\0\0\x0099999999999999999999\0"),
        framed(b"standby\0WORD\0"),
        framed(b"served"),
        framed(b"stop\0"),
    ];
    requests.extend((0..40).map(|_| random.bytes(200)));
    requests.extend((0..40).map(|_| framed(&[b"start\0WORD\0", &random.bytes(200)[..]].concat())));
    for mut request in requests {
        let mut stream = UnixStream::connect(&socket).expect("it listens");
        let mut hello = [0; 64];
        let length = stream.read(&mut hello).expect("it answers");
        assert!(hello[..length].starts_with(b"hello "), "{hello:?}");
        if let Some(at) = request.windows(4).position(|bytes| bytes == WORD) {
            let hello = String::from_utf8_lossy(&hello[..length]);
            let numbers: Vec<&str> = hello.split_whitespace().skip(1).collect();
            let pipe = format!("/proc/{}/fd/{}", numbers[0], numbers[2]);
            let word = fs::read(pipe).expect("a process of the same user may read it");
            request.splice(at..at + 4, word);
            request.splice(..4, (request.len() as u32 - 4).to_le_bytes());
        }
        // Some are cut off, and nobody waits for an answer.
        let _ = stream.write_all(&request);
    }
    // It is still the same one, and serves.
    assert_eq!(start(&warm, &program).warm(&program).status.code(), Some(3));
    assert_eq!(warm.parent(), parent);
}

#[test]
fn invalid_answers_are_rejected() {
    let Some(warm) = Warm::new() else { return };
    let program = warm.case(&["code", "3"]);
    warm.warm_up(&program, &as_is);
    let (state, socket) = (file(&warm, "parent"), file(&warm, "socket"));
    let kept = fs::read(&state).expect("it exists");
    let stopped = warm.preheat(&["--stop", "all"]).output();
    assert!(stopped.expect("it starts").status.success());
    let python = warm.python.to_str().expect("its path is text");
    let shown = socket.to_str().expect("it is text");
    let this = std::process::id();
    let lived = format!("hello {this}\nready\n");
    let long = "x".repeat(100_000);
    for (answer, is_in_its_place) in [
        ("", true),
        ("\n", true),
        ("hello\n", true),
        ("hello 0\n", true),
        ("hello -1\n", true),
        ("hello 1\nready\n", true),
        // A running process that is not a child of the parent must not be harmed.
        (&lived, true),
        ("status 0\n", true),
        (&long, true),
        ("hello 2\nready\n", false),
    ] {
        let serve = [python, "-c", SERVES, shown, answer];
        let (mut server, mut said) = listening(warm.plain(&serve));
        let process = if is_in_its_place { server.id() } else { 1 };
        fs::write(&state, with_process(&kept, process)).expect("it is written");
        let observed = start(&warm, &program);
        let why = observed.err;
        assert!(why.starts_with("preheat: started plainly"), "{why}");
        assert_eq!(observed.status.code(), Some(3), "{why}");
        let mut rest = String::new();
        said.read_to_string(&mut rest).expect("it ends");
        assert!(!rest.contains("start"), "{answer:?}: {rest}");
        let _ = server.kill();
        server.wait().expect("it ends");
        // It is forgotten, and another is made.
        warm.settle();
        assert_eq!(warm.count(), 1);
        let stopped = warm.preheat(&["--stop", "all"]).output();
        assert!(stopped.expect("it starts").status.success());
    }
}

/// Listens, sends the second argument to a client, and prints what it receives.
const SERVES: &str = "import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
print('listens', flush=True)
c, _ = s.accept()
try:
    c.sendall(sys.argv[2].encode())
    print(c.recv(64) if sys.argv[2] else b'', flush=True)
except OSError:
    print(b'', flush=True)
";

/// A server that listens, and the rest of its output.
fn listening(mut command: Command) -> (Child, ChildStdout) {
    let mut server = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut said = [0; 8];
    let mut answers = server.stdout.take().expect("it is a pipe");
    answers.read_exact(&mut said).expect("it listens");
    (server, answers)
}

/// A state file with another process as the parent.
fn with_process(state: &[u8], process: u32) -> Vec<u8> {
    let mut fields: Vec<&[u8]> = state.split(|&byte| byte == 0).collect();
    let number = process.to_string();
    let at = fields.iter().position(|field| field == b"process");
    fields[at.expect("it says which") + 1] = number.as_bytes();
    fields.join(&0)
}

/// A command that runs as another user, if this user may do that.
fn as_nobody(warm: &Warm, words: &[&str]) -> Option<Command> {
    let other = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let is_allowed = warm.plain(&[&other[..], &["true"]].concat()).output();
    let is_allowed = is_allowed.is_ok_and(|it| it.status.success());
    require("another user", is_allowed.then_some(()))?;
    Some(warm.plain(&[&other[..], words].concat()))
}

#[test]
fn another_user_is_served_nothing_and_serves_nobody() {
    let Some(warm) = Warm::new() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let program = warm.case(&["code", "3"]);
    warm.warm_up(&program, &as_is);
    let (state, socket) = (file(&warm, "parent"), file(&warm, "socket"));
    let shown = socket.to_str().expect("it is text");
    let connects = "import socket, sys
s = socket.socket(socket.AF_UNIX)
try: s.connect(sys.argv[1])
except OSError as e: print(type(e).__name__)
else: print(s.recv(64))
";
    let connect = [python, "-c", connects, shown];
    let Some(mut command) = as_nobody(&warm, &connect) else {
        return;
    };
    let out = |command: &mut Command| {
        let output = command.output().expect("it starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // By the rights of the directory, and if those were lost, too.
    assert_eq!(out(&mut command), "PermissionError\n");
    let open = |mode| {
        let run = warm.directory.join("run");
        for path in [warm.directory.path(), &run, &run.join("preheat"), &socket] {
            if path.exists() {
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
            }
        }
    };
    open(0o777);
    assert_eq!(out(&mut command), "b''\n");
    open(0o700);
    assert_eq!(start(&warm, &program).warm(&program).status.code(), Some(3));

    // The other way round.
    let kept = fs::read(&state).expect("it exists");
    let stopped = warm.preheat(&["--stop", "all"]).output();
    assert!(stopped.expect("it starts").status.success());
    open(0o777);
    let serve = [python, "-c", SERVES, shown, "hello"];
    let server = as_nobody(&warm, &serve).expect("it could be had");
    let (mut server, mut answers) = listening(server);
    fs::write(&state, &kept).expect("it is written");
    open(0o700);
    let observed = start(&warm, &program);
    assert!(observed.err.contains("another user"), "{}", observed.err);
    assert_eq!(observed.status.code(), Some(3));
    let mut rest = String::new();
    answers.read_to_string(&mut rest).expect("it ends");
    // It received no message and no descriptor.
    assert_eq!(rest, "b''\n");
    server.wait().expect("it ends");
    warm.settle();
}

/// Opens these descriptors for writing, and executes the rest of the command.
const WITH_DESCRIPTORS: &str = "import os, sys
fd = os.open('written', os.O_RDWR | os.O_CREAT)
top = os.dup2(fd, 90, False)
for number in [*range(3, 40), 50]: os.dup2(top, number)
os.execv(sys.argv[1], sys.argv[1:])
";

#[test]
fn a_refusal_is_not_written_into_files_of_the_program() {
    let Some(warm) = Warm::new() else { return };
    let package = "import os\nfd = os.open('/dev/null', 0)\nos.dup2(fd, 50)\nos.close(fd)\n";
    fs::write(warm.venv().join("holds.py"), package).expect("it is written");
    fs::write(warm.directory.join("program.py"), "import holds, json\n").expect("it is written");
    let program = ["venv/bin/python", "program.py"];
    warm.warm_up(&program, &as_is);
    start(&warm, &program).warm(&program);
    let exe = env!("CARGO_BIN_EXE_preheat");
    let words = [exe, "start", "-v", "--patience", "60", "--"];
    let with = ["venv/bin/python", "-c", WITH_DESCRIPTORS];
    let words = [&with[..], &words, &program].concat();
    let observed = Observed::of(warm.plain(&words).output().expect("it starts"));
    let why = "a library uses descriptor 50";
    assert!(observed.err.contains(why), "{}", observed.err);
    let written = fs::read_to_string(warm.directory.join("written"));
    assert_eq!(written.expect("it exists"), "");
}

#[test]
fn a_program_that_signals_who_was_started_signals_itself() {
    let Some(warm) = Warm::new() else { return };
    let python = warm.python.to_str().expect("its path is text");
    // There is no terminal, and so the group is not shared.
    let program = "import numpy, os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
os.kill(int(sys.argv[1]) or os.getpid(), signal.SIGUSR1)
print(signal.sigtimedwait([signal.SIGUSR1], 60) is not None)
";
    fs::write(warm.directory.join("signals.py"), program).expect("it is written");
    let line = "exec setsid -w \"$0\" -c 'exec \"$@\" $$' sh \"$@\"";
    let exe = env!("CARGO_BIN_EXE_preheat");
    let started = [exe, "start", "-v", "--patience", "60", "--"];
    let command = [&started[..], &[python, "signals.py"]].concat();
    let all = [&["sh", "-c", line, "sh"], &command[..]].concat();
    let first = Observed::of(warm.plain(&all).output().expect("it starts"));
    assert_eq!(first.out, "True\n", "{}", first.err);
    warm.wait_for_parent();
    let second = Observed::of(warm.plain(&all).output().expect("it starts"));
    assert_eq!(second.warm(&command).out, "True\n");
}

#[test]
fn a_timer_that_runs_goes_on() {
    let Some(warm) = Warm::new() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let program = "import numpy, signal\nprint(signal.alarm(0) > 0)\n";
    fs::write(warm.directory.join("timed.py"), program).expect("it is written");
    warm.warm_up(&[python, "timed.py"], &as_is);
    let timed = "import os, signal, sys
signal.alarm(3600)
os.execv(sys.argv[1], sys.argv[1:])
";
    let exe = env!("CARGO_BIN_EXE_preheat");
    let words = [
        python, "-c", timed, exe, "start", "-v", "--", python, "timed.py",
    ];
    let observed = Observed::of(warm.plain(&words).output().expect("it starts"));
    let why = "started plainly: an interval timer is running";
    assert!(observed.err.contains(why), "{}", observed.err);
    assert_eq!(observed.out, "True\n");
}

#[test]
fn a_script_that_does_not_say_who_runs_it_is_run_by_the_shell() {
    let Some(warm) = Warm::new() else { return };
    let script = warm.directory.join("script");
    fs::write(&script, "echo \"$0\" \"$@\"\nexit 4\n").expect("it is written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).expect("it is ours");
    let observed = start(&warm, &["./script", "a b", "c"]);
    assert_eq!(observed.status.code(), Some(4), "{}", observed.err);
    assert_eq!(observed.out, "./script a b c\n");
}
