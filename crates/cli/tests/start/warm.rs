//! Warm parents for a test, and the comparison of a plain start with a warm one.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Output, Stdio};

use crate::support::{Directory, preheat, python_with, run, waiting};

/// The test programs, and a module that they import.
const CASES: &str = include_str!("cases.py");
const OWN: &str = "def fail():\n    raise OSError('of my own')\n";

/// A directory with programs and their warm parents, which are stopped at its end.
pub struct Warm {
    pub directory: Directory,
    pub python: PathBuf,
}

impl Warm {
    /// Uses a Python that has numpy; `None` without one.
    pub fn new() -> Option<Warm> {
        Warm::with(python_with("numpy")?)
    }

    pub fn with(python: PathBuf) -> Option<Warm> {
        let directory = Directory::new();
        for name in ["run", "cache"] {
            let path = directory.join(name);
            fs::create_dir(&path).expect("a directory for the test");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("it is private");
        }
        fs::write(directory.join("cases.py"), CASES).expect("the programs");
        fs::write(directory.join("own.py"), OWN).expect("their module");
        Some(Warm { directory, python })
    }

    /// The same with a separate Python, `venv/bin/python`, that also has what is installed
    /// beside a package from PyPI. Returns the directory of its own packages too.
    pub fn with_package(package: &str, program: &str) -> Option<(Warm, PathBuf)> {
        let warm = Warm::with(python_with(package)?)?;
        let installed = warm.venv();
        let python = warm.python.to_str().expect("its path is text");
        let ask = "import sysconfig; print(sysconfig.get_path('purelib'))";
        let asked = warm.plain(&[python, "-c", ask]).output();
        let theirs = asked.expect("it starts").stdout;
        fs::write(installed.join("theirs.pth"), theirs).expect("it is written");
        fs::write(warm.directory.join("program.py"), program).expect("it is written");
        Some((warm, installed))
    }

    /// `preheat start` with these arguments, which uses only the parents of this test.
    pub fn preheat(&self, words: &[&str]) -> Command {
        let mut command = self.ours(preheat());
        command.arg("start").args(words);
        command
    }

    /// A command with the same environment.
    fn ours(&self, mut command: Command) -> Command {
        command
            .current_dir(self.directory.path())
            .stdin(Stdio::null());
        for (name, value) in self.surroundings() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// Variables that are set, or removed.
    pub fn surroundings(&self) -> [(&'static str, Option<PathBuf>); 7] {
        [
            ("XDG_RUNTIME_DIR", Some(self.directory.join("run"))),
            ("XDG_CACHE_HOME", Some(self.directory.join("cache"))),
            ("PYTHONUNBUFFERED", None),
            ("PYTHONDONTWRITEBYTECODE", None),
            ("COLUMNS", None),
            ("VIRTUAL_ENV", None),
            ("CI", None),
        ]
    }

    /// A plain start of a program.
    pub fn plain(&self, program: &[&str]) -> Command {
        let mut command = self.ours(Command::new(program[0]));
        command.args(&program[1..]);
        command
    }

    /// The same with `preheat start`, which prints how it started the program, and waits longer
    /// for the parent than usual: the machine is busy.
    pub fn started(&self, program: &[&str]) -> Command {
        let mut command = self.preheat(&["-v", "--patience", "60", "--"]);
        command.args(program);
        command
    }

    /// Makes a start that `how` has changed, and waits for the warm parent that it creates.
    pub fn warm_up(&self, program: &[&str], how: &dyn Fn(&mut Command)) {
        let before = self.parents();
        let mut first = self.started(program);
        how(&mut first);
        let said = first.output().expect("it starts");
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(
            said.starts_with("preheat: started plainly"),
            "{program:?}: {said}"
        );
        until("a warm parent is there", || {
            if let Some(why) = self.refusal() {
                panic!("{program:?} has no warm parent: {why}");
            }
            self.parents().iter().any(|it| !before.contains(it))
        });
    }

    /// Waits until the parent that a start has requested runs.
    pub fn wait_for_parent(&self) {
        until("a warm parent runs", || {
            if let Some(why) = self.refusal() {
                panic!("no warm parent was created: {why}");
            }
            self.count() > 0
        });
    }

    /// The number of running parents.
    pub fn count(&self) -> usize {
        self.parents().len()
    }

    /// The process of the only parent.
    pub fn parent(&self) -> libc::pid_t {
        let parents = self.parents();
        assert_eq!(parents.len(), 1, "{parents:?}");
        parents[0]
    }

    /// The processes of the running parents.
    pub fn parents(&self) -> Vec<libc::pid_t> {
        let said = run(&mut self.preheat(&["--list"]));
        assert_eq!(said.code, Some(0), "{}", said.err);
        let ids = said
            .out
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().next());
        ids.map(|id| id.parse().expect("it is its process"))
            .collect()
    }

    /// Waits until a parent that is being created is ready, or has failed.
    pub fn settle(&self) {
        until("a parent is there, or cannot be", || {
            self.count() > 0 || self.refusal().is_some()
        });
    }

    /// The reason why there is no parent, unless one is being created.
    pub fn refusal(&self) -> Option<String> {
        let entries = fs::read_dir(self.directory.join("run/preheat")).ok()?;
        let mut paths = entries.flatten().map(|entry| entry.path());
        let path = paths.find(|path| path.extension().is_some_and(|e| e == "plain"))?;
        let why = fs::read_to_string(path).ok()?;
        (!why.is_empty() && !why.contains("is being created")).then_some(why)
    }

    /// Runs a program plainly and warm. Everything that can be observed must be the same.
    pub fn same(&self, program: &[&str], how: &dyn Fn(&mut Command)) -> Observed {
        let mut plain = self.plain(program);
        how(&mut plain);
        let plain = Observed::of(plain.output().expect("it starts"));
        let mut warm = self.started(program);
        how(&mut warm);
        let warm = Observed::of(warm.output().expect("it starts")).warm(program);
        assert_eq!(plain.err, warm.err, "{program:?}");
        assert_eq!(plain.out, warm.out, "{program:?}");
        assert_eq!(plain.status, warm.status, "{program:?}");
        self.note(program);
        warm
    }

    /// Adds a program that was the same to the file that PREHEAT_PROGRAMS_RESULTS names.
    fn note(&self, program: &[&str]) {
        let Some(path) = std::env::var_os("PREHEAT_PROGRAMS_RESULTS") else {
            return;
        };
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        let here = self.directory.path().display().to_string();
        let python = self.python.display().to_string();
        let words = program.join(" ").replace(&python, "python");
        let line = format!("{test}: {}\n", words.replace(&here, ".").escape_debug());
        let file = fs::OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.expect("the results are written");
    }

    /// Creates a separate Python, `venv/bin/python`. Returns the directory of its packages.
    pub fn venv(&self) -> PathBuf {
        let python = self.python.to_str().expect("its path is text");
        let words = [
            python,
            "-m",
            "venv",
            "--without-pip",
            "--system-site-packages",
            "venv",
        ];
        let made = self.plain(&words).output().expect("it starts");
        let said = String::from_utf8_lossy(&made.stderr).into_owned();
        assert!(made.status.success(), "{said}");
        let ask = "import sysconfig; print(sysconfig.get_path('purelib'), end='')";
        let asked = self.plain(&["venv/bin/python", "-c", ask]).output();
        let path = asked.expect("it starts").stdout;
        PathBuf::from(String::from_utf8(path).expect("a path"))
    }

    /// The command of a case.
    pub fn case<'a>(&'a self, words: &[&'a str]) -> Vec<&'a str> {
        let python = self.python.to_str().expect("its path is text");
        [&[python, "cases.py"], words].concat()
    }
}

impl Drop for Warm {
    fn drop(&mut self) {
        let _ = self.preheat(&["--stop", "all"]).output();
    }
}

/// Waits until `holds` returns true.
pub fn until(what: &str, holds: impl Fn() -> bool) {
    waiting::until(what, &[], holds);
}

/// The children of a process.
pub fn children(process: libc::pid_t) -> Vec<libc::pid_t> {
    let path = format!("/proc/{process}/task/{process}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    let numbers = text.split_whitespace();
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// Everything that can be observed of a program.
#[derive(Debug, PartialEq)]
pub struct Observed {
    pub out: String,
    pub err: String,
    pub status: ExitStatus,
}

impl Observed {
    pub fn of(output: Output) -> Observed {
        Observed {
            out: without_addresses(&String::from_utf8_lossy(&output.stdout)),
            err: without_addresses(&String::from_utf8_lossy(&output.stderr)),
            status: output.status,
        }
    }

    /// Asserts that it was started warm, and removes preheat's message from its output.
    pub fn warm(mut self, program: &[&str]) -> Observed {
        let (said, rest) = self.err.split_once('\n').unwrap_or((&self.err, ""));
        assert!(
            said.starts_with("preheat: started warm"),
            "{program:?}: {said}"
        );
        self.err = rest.to_owned();
        self
    }
}

/// Addresses differ from process to process.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut without = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        without.push_str("ADDRESS");
        without.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    without
}

/// Changes nothing.
pub fn as_is(_: &mut Command) {}

/// The signal that killed the program.
pub fn signal_of(observed: &Observed) -> Option<i32> {
    observed.status.signal()
}
