//! The Python package: its tests and the examples in its documentation, with this binary.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::{require, run};

/// The Python of the test environment. Debian's may have pytest too, but not the rest.
fn python() -> Option<PathBuf> {
    let python = PathBuf::from(std::env::var_os("PREHEAT_TEST_VENV")?).join("bin/python");
    let imports = "import pytest, yaml, nbclient, nvtx, opentelemetry.proto";
    let imported = Command::new(&python).args(["-c", imports]).output().ok()?;
    imported.status.success().then_some(python)
}

#[test]
fn the_package_passes_its_own_tests() {
    let Some(python) = require("pytest", python()) else {
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let said = run(Command::new(python)
        .args(["-m", "pytest", "-q", "--color=no"])
        .current_dir(&root)
        .env("PYTHONPATH", root.join("python"))
        .env("PREHEAT_BINARY", env!("CARGO_BIN_EXE_preheat"))
        .env_remove("PYTEST_ADDOPTS"));
    assert_eq!(said.code, Some(0), "{}\n{}", said.out, said.err);
}
