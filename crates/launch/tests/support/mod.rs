//! Test support: runs the launcher as a separate process in a temporary directory, and
//! reads its recording.

#![allow(dead_code)] // Each test file uses a part of it.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use preheat_model::run::Manifest;

pub mod samples;
pub mod terminal;

/// A directory for one test, removed at its end.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("launch-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a directory");
        Scratch(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn recording(&self) -> PathBuf {
        self.0.join("recording")
    }

    /// The launcher with these words and this command, with its cache in this directory and
    /// empty input.
    pub fn launch(&self, words: &[&str], command: &[&str]) -> Command {
        let mut launch = Command::new(env!("CARGO_BIN_EXE_launch-alone"));
        launch
            .arg(self.recording())
            .args(words)
            .arg("--")
            .args(command)
            .env("XDG_CACHE_HOME", self.0.join("cache"))
            .env_remove("LD_PRELOAD")
            .env_remove("PYTHONPATH")
            .env_remove("PYTHONUNBUFFERED")
            .stdin(Stdio::null());
        launch
    }

    /// Runs one start of this shell script.
    pub fn sh(&self, script: &str) -> Output {
        self.output(&["starts=1"], &["sh", "-c", script])
    }

    pub fn output(&self, words: &[&str], command: &[&str]) -> Output {
        let output = self.launch(words, command).output();
        output.expect("the launcher runs")
    }

    pub fn manifest(&self) -> Manifest {
        let text = std::fs::read(self.recording().join("recording.json"));
        serde_json::from_slice(&text.expect("a manifest")).expect("a whole one")
    }

    /// Creates an executable file with this text.
    pub fn script(&self, name: &str, text: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a file");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, executable).expect("executable");
        path.to_str().expect("text").to_owned()
    }

    /// Compiles a C program.
    pub fn c(&self, name: &str, flags: &[&str], source: &str) -> String {
        let path = self.0.join(name);
        let file = self.0.join(format!("{name}.c"));
        std::fs::write(&file, source).expect("a source");
        let gcc = Command::new("gcc")
            .args(flags)
            .arg("-o")
            .arg(&path)
            .arg(&file)
            .status();
        assert!(gcc.expect("gcc is needed for this test").success());
        path.to_str().expect("text").to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running launcher, and the lines of its output.
pub struct Running {
    pub child: Child,
    pub lines: BufReader<ChildStdout>,
}

impl Running {
    pub fn new(mut launch: Command) -> Running {
        let mut child = launch
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the launcher runs");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        Running { child, lines }
    }

    /// The next line.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    /// Sends a signal to the launcher.
    pub fn signal(&self, signal: i32) {
        kill(self.child.id() as i32, signal);
    }

    /// The rest of its output, its standard error, and its exit code.
    pub fn end(mut self) -> (String, String, Option<i32>) {
        let (mut output, mut complaints) = (String::new(), String::new());
        self.lines.read_to_string(&mut output).expect("text");
        let errors = self.child.stderr.as_mut().expect("a pipe");
        errors.read_to_string(&mut complaints).expect("text");
        let status = self.child.wait().expect("an end");
        (output, complaints, status.code())
    }
}

/// Sends a signal to a process, or to a group if the number is negative.
pub fn kill(process: i32, signal: i32) {
    // SAFETY: kill gets only numbers.
    let code = unsafe { libc::kill(process, signal) };
    assert_eq!(code, 0, "it can be signalled");
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
