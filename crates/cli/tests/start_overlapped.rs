//! `preheat start` with the driver initialized while a Python program imports. The driver
//! is a scripted one, whose costs are known.
//!
//! One test alone: it changes the directory and the environment of its process, which is
//! where what is known of a program is found by.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::Command;

use preheat_model::run::{Cause, IterationsBy, RunReport};
use preheat_start::{CommandState, Observations};

mod support;
use support::{Directory, preheat, python, recorded, require, run};

/// Does something else first, then makes a context and uses it.
const PROGRAM: &str = r#"#!/usr/bin/env python3
import os
before = sorted(name for name in os.environ if name.startswith(("LD_", "PREHEAT"))
                and "_TEST_" not in name and not name.endswith(("_CASES", "_RESULTS")))
import slow, ctypes
driver = ctypes.CDLL("libcuda.so.1")
context, function = ctypes.c_void_p(), ctypes.c_void_p(0x2000)
assert driver.cuCtxGetCurrent(ctypes.byref(context)) == 0 and not context
assert driver.cuInit(0) == 0
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert driver.cuCtxSetCurrent(context) == 0
for number in range(30):
    for kernel in (0x2000, 0x2010):
        assert driver.cuLaunchKernel(ctypes.c_void_p(kernel), 1, 1, 1, 32, 1, 1, 0, None, None, None) == 0
    assert driver.cuCtxSynchronize() == 0
print("done", before, "_preheat" in __import__("sys").modules)
"#;

/// Long enough for the driver, also where others use the machine.
const SLOW: &str =
    "import time\nuntil = time.monotonic() + 1.2\nwhile time.monotonic() < until: pass\n";

struct Program {
    directory: Directory,
    command: Vec<OsString>,
}

impl Program {
    fn new() -> Option<Program> {
        let gcc = Command::new("gcc").arg("--version").output().is_ok();
        require("gcc", gcc.then_some(()))?;
        let python = require("python", python())?;
        let directory = Directory::new();
        let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shim/tests/libcuda/libcuda.c");
        let built = Command::new("gcc")
            .args([
                "-O1",
                "-w",
                "-shared",
                "-fPIC",
                "-pthread",
                "-Wl,-soname,libcuda.so.1",
            ])
            .arg(driver)
            .arg("-o")
            .arg(directory.join("libcuda.so.1"))
            .status();
        assert!(built.is_ok_and(|status| status.success()), "gcc builds it");
        directory.script("program.py", PROGRAM);
        fs::write(directory.join("slow.py"), SLOW).unwrap();
        for name in ["run", "cache"] {
            use std::os::unix::fs::PermissionsExt;
            let path = directory.join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        }
        let variables = [
            // So that `env` does not find a version manager's script first.
            ("PATH", "/usr/bin:/bin".into()),
            ("LD_LIBRARY_PATH", directory.path().to_owned()),
            ("XDG_RUNTIME_DIR", directory.join("run")),
            ("XDG_CACHE_HOME", directory.join("cache")),
            ("FAKE_LOG", directory.join("log")),
            ("FAKE_SLEEP", "1".into()),
            ("FAKE_INIT_MS", "200".into()),
            ("FAKE_CONTEXT_MS", "150".into()),
        ];
        std::env::set_current_dir(directory.path()).unwrap();
        // SAFETY: this is the only test in this process, and no other thread reads the environment.
        unsafe {
            std::env::remove_var("LD_PRELOAD");
            for (name, value) in variables {
                std::env::set_var(name, value);
            }
        }
        let command = vec![python.into_os_string(), "program.py".into()];
        Some(Program { directory, command })
    }

    /// As a recording of the command would show it.
    fn is_seen(&self, command: &[OsString]) {
        let known = CommandState::of(command).expect("it exists");
        let seen = Observations {
            device: Some(0),
            uses_cuda: true,
            files: vec![self.directory.join("libcuda.so.1")],
            ..Observations::default()
        };
        known.observe(&seen).expect("it is kept");
    }

    /// Starts the command with remedies, and returns its output and that of preheat.
    fn started(&self, remedies: &str, command: &[OsString]) -> (String, String) {
        let _ = fs::remove_file("log");
        let said = run(preheat()
            .args(["start", "-v", "--patience", "60", "--only", remedies, "--"])
            .args(command));
        assert_eq!(said.code, Some(0), "{}", said.err);
        (said.out, said.err)
    }

    /// The same, recorded.
    fn recorded(&self, remedies: &str) -> RunReport {
        let _ = fs::remove_dir_all("recording");
        let preheat = env!("CARGO_BIN_EXE_preheat");
        let words = [
            preheat,
            "start",
            "--patience",
            "60",
            "--only",
            remedies,
            "--",
        ];
        let words = words.iter().map(OsStr::new);
        let command = words.chain(self.command.iter().map(OsString::as_os_str));
        recorded(&self.directory, &["--starts", "1"], command, &[])
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = preheat().args(["start", "--stop", "all"]).output();
    }
}

/// The number of calls of a driver function.
fn called(name: &str) -> u64 {
    let log = fs::read_to_string("log").unwrap_or_default();
    let line = log.lines().find_map(|line| line.strip_prefix(name));
    let count = line.and_then(|rest| rest.trim_start().split(' ').next());
    count.map_or(0, |count| count.parse().unwrap())
}

/// Seconds of the path that the driver and its context took.
fn on_the_path(report: &RunReport) -> f64 {
    assert_eq!(
        report.iterations_by,
        IterationsBy::Kernels,
        "{:?}",
        report.notes
    );
    let causes = [Cause::DriverInit, Cause::ContextCreation];
    let of = report
        .causes
        .iter()
        .filter(|one| causes.contains(&one.cause));
    of.map(|one| one.seconds).sum()
}

#[test]
fn the_driver_is_initialized_while_the_program_imports() {
    let Some(program) = Program::new() else {
        return;
    };
    let plain = &program.command;
    let expected = "done ['LD_LIBRARY_PATH'] False\n";

    // Nothing is done for who was not seen.
    let (out, err) = program.started("overlapped-init", plain);
    assert_eq!((out.as_str(), called("cuInit")), (expected, 1));
    assert!(
        err.contains("no overlapped init: the program has not been measured"),
        "{err}"
    );

    program.is_seen(plain);
    let (out, err) = program.started("overlapped-init", plain);
    assert_eq!(out, expected);
    let says = "preheat: started with overlapped init\n";
    assert_eq!(err, says);
    // Ours, and the program's own.
    assert_eq!(
        (called("cuInit"), called("cuDevicePrimaryCtxRetain")),
        (2, 2)
    );

    // Through `env`, as the first line of the script has it.
    let script = ["./program.py".into()];
    program.is_seen(&script);
    let (out, err) = program.started("overlapped-init", &script);
    assert_eq!(
        (out.as_str(), err.as_str(), called("cuInit")),
        (expected, says, 2)
    );

    // Another GPU may be meant.
    let other: Vec<OsString> = [plain.as_slice(), &["--gpu=1".into()]].concat();
    let (_, err) = program.started("overlapped-init", &other);
    assert!(err.contains("other arguments"), "{err}");
    assert_eq!(called("cuInit"), 1);

    let without = on_the_path(&program.recorded("none"));
    let with = on_the_path(&program.recorded("overlapped-init"));
    assert!(without > 0.3, "{without} s were planted");
    println!("on the path: {without} s without, {with} s with it");
    assert!(with <= without * 0.2, "{with} s of {without} s are left");

    // A child of a warm parent does it as well, and the parent does not.
    let both = "warm-parent,overlapped-init";
    program.started(both, plain);
    let warm = |err: &str| err.contains("started warm");
    let (mut out, mut err) = program.started(both, plain);
    while !warm(&err) {
        assert!(
            err.contains("no warm parent yet") || err.contains("being created"),
            "{err}"
        );
        (out, err) = program.started(both, plain);
    }
    assert_eq!((out.as_str(), called("cuInit")), (expected, 2));
    assert_eq!(called("cuDevicePrimaryCtxRetain"), 2);
    let with = program.recorded(both);
    assert!(on_the_path(&with) <= without * 0.2, "{:?}", with.causes);
}
