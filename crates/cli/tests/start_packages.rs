//! Packages that were once kept from being started warm for no reason.

use std::fs;
use std::path::{Path, PathBuf};

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::require;
use warm::{Warm, as_is};

/// The Python of the tests' environment, if it has a package.
fn python(package: &str) -> Option<PathBuf> {
    let venv = std::env::var_os("PREHEAT_TEST_VENV").map(PathBuf::from);
    let has = |venv: &PathBuf| {
        let packages = fs::read_dir(venv.join("lib"))
            .into_iter()
            .flatten()
            .flatten();
        let mut packages = packages.map(|entry| entry.path().join("site-packages"));
        packages.any(|packages| packages.join(package).exists())
    };
    let found = venv.filter(has).map(|venv| venv.join("bin/python"));
    require(package, found)
}

/// Start a program with this text plainly and warm.
fn same(python: &Path, text: &str) {
    let warm = Warm::with(python.to_owned()).expect("a directory");
    fs::write(warm.directory.join("program.py"), text).expect("it is written");
    let program = [python.to_str().expect("its path is text"), "program.py"];
    warm.warm_up(&program, &as_is);
    warm.same(&program, &as_is);
}

#[test]
fn setuptools_does_not_hide_itself() {
    let Some(python) = python("setuptools") else {
        return;
    };
    same(
        &python,
        "import setuptools, distutils.core\n\
         print(setuptools.__version__, distutils.__file__, distutils.core.setup)\n",
    );
}
