//! Shared by the integration tests: the program, scratch directories, and the components
//! installed on this machine.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use preheat_model::compare::CompareReport;
use preheat_model::lab::LabReport;
use preheat_model::run::RunReport;

#[path = "../../../../tests/missing.rs"]
mod missing;
#[path = "../../../../tests/waiting.rs"]
pub mod waiting;

/// The program under test, without variables that describe this terminal.
pub fn preheat() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_preheat"));
    command.env_remove("COLUMNS").env_remove("VIRTUAL_ENV");
    command
}

/// The output of a finished program.
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Runs the command to its end.
pub fn run(command: &mut Command) -> Said {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the program starts");
    Said {
        code: status.code(),
        out: String::from_utf8(stdout).expect("it prints UTF-8"),
        err: String::from_utf8(stderr).expect("it prints UTF-8"),
    }
}

/// A directory for one test, removed at its end.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new() -> Directory {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let serial = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("preheat-test-{}-{serial}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a directory for the test");
        Directory(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// An executable script in it.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.join(name);
        fs::write(&path, text).expect("the script is written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is executable");
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns `found`. Without it, prints that the test is skipped, or fails.
pub fn require<T>(component: &str, found: Option<T>) -> Option<T> {
    if found.is_none() {
        missing::missing(component, "it was not found on this machine");
    }
    found
}

/// Records a command in `directory` with these flags. Returns its report.
pub fn recorded<'a>(
    directory: &Directory,
    flags: &[&str],
    command: impl IntoIterator<Item = &'a OsStr>,
    environment: &[(&str, String)],
) -> RunReport {
    let said = run(preheat()
        .current_dir(directory.path())
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .args(["run", "--json", "run.json", "--output", "recording"])
        .args(flags)
        .arg("--")
        .args(command));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = fs::read_to_string(directory.join("run.json")).expect("the JSON is there");
    serde_json::from_str(&text).expect("it is a report")
}

/// Copies a stored recording into `directory`, under the same name.
pub fn unpack(directory: &Directory, name: &str) {
    let archive =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recordings/{name}.tar.gz"));
    let unpacked = Command::new("tar")
        .arg("-xzf")
        .arg(archive)
        .arg("-C")
        .arg(directory.path())
        .status();
    assert!(
        unpacked.is_ok_and(|status| status.success()),
        "tar unpacks it"
    );
}

/// Runs `preheat compare` in `directory`, with these arguments.
pub fn compare(directory: &Directory, arguments: &[&str]) -> Said {
    run(preheat()
        .current_dir(directory.path())
        .args(["compare", "--json", "compare.json"])
        .args(arguments))
}

/// Reads the report that `compare` wrote.
pub fn compared(directory: &Directory) -> CompareReport {
    let text = fs::read_to_string(directory.join("compare.json")).expect("the JSON is there");
    serde_json::from_str(&text).expect("it is a comparison")
}

/// The result that a run wrote.
pub fn report(path: &Path) -> LabReport {
    let text = fs::read_to_string(path).expect("the JSON is there");
    serde_json::from_str(&text).expect("it is a report")
}

/// Waits until the running program has created `file`.
pub fn wait_for(file: &Path, child: &mut Child) {
    let directory = file.ancestors().skip(1).find(|path| path.is_dir());
    let what = format!("{} exists", file.display());
    waiting::until(&what, directory.as_slice(), || {
        let ended = child.try_wait().expect("its state is known");
        assert!(file.exists() || ended.is_none(), "it ended too early");
        file.exists()
    });
}

/// Sends a signal to the program; returns true if it was delivered.
pub fn signal(name: &str, child: &Child) -> bool {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .stderr(Stdio::null())
        .status();
    sent.is_ok_and(|status| status.success())
}

/// Any Python.
pub fn python() -> Option<PathBuf> {
    let debian = Path::new("/usr/bin/python3");
    debian.exists().then(|| debian.to_path_buf())
}

/// A Python that has `module`: the one of the tests' environment, or Debian's.
pub fn python_with(module: &str) -> Option<PathBuf> {
    let venv =
        std::env::var_os("PREHEAT_TEST_VENV").map(|path| Path::new(&path).join("bin/python"));
    let debian = std::env::var_os("PREHEAT_TEST_TORCH_PYTHON").map(PathBuf::from);
    let has = |python: &PathBuf| {
        let find = format!(
            "import importlib.util as u; raise SystemExit(u.find_spec('{module}') is None)"
        );
        Command::new(python)
            .arg("-c")
            .arg(find)
            .output()
            .is_ok_and(|asked| asked.status.success())
    };
    require(module, [debian, venv].into_iter().flatten().find(has))
}

/// A Python with PyTorch 2, from PyPI.
pub fn python_with_torch_2() -> Option<PathBuf> {
    let path = std::env::var_os("PREHEAT_TEST_TORCH_2_PYTHON").map(PathBuf::from);
    require("torch-2", path.filter(|path| path.exists()))
}

/// Pythons with PyTorch: Debian's, and one with PyTorch 2.
pub fn pythons_with_torch() -> impl Iterator<Item = PathBuf> {
    [python_with("torch"), python_with_torch_2()]
        .into_iter()
        .flatten()
}
