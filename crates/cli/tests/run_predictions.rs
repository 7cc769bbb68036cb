//! The advice of `preheat run` holds: an import that it calls avoidable can be blocked, and it
//! promises no warm start that `preheat start` would not make.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use preheat_model::run::{Manifest, Remedy, RunReport};

mod support;
use support::{Directory, python};

/// Takes its time on the CPU when it is imported.
const SLOW: &str = "VALUE = sum(number * number for number in range(8_000_000))\n";

/// A virtual environment in which a library needs one slow package and works without another,
/// and a program with a slow module.
fn environment(python: &Path) -> (Directory, PathBuf) {
    let directory = Directory::new();
    let mut command = Command::new(python);
    command.args(["-m", "venv", "--without-pip"]);
    let made = command.arg(directory.join("venv")).status();
    assert!(made.is_ok_and(|status| status.success()));
    let lib = fs::read_dir(directory.join("venv/lib")).unwrap().next();
    let packages = lib.unwrap().unwrap().path().join("site-packages");
    let write = |name: &str, text: &str| fs::write(packages.join(name), text).unwrap();
    write("optional_part.py", &format!("import common_part\n{SLOW}"));
    write("common_part.py", SLOW);
    write("required_part.py", SLOW);
    write(
        "library.py",
        "import required_part\n\
         try:\n    import optional_part\nexcept ImportError:\n    optional_part = None\n\
         import common_part\n\
         def work():\n    return required_part.VALUE % 7\n",
    );
    fs::write(directory.join("own_part.py"), SLOW).unwrap();
    fs::write(
        directory.join("program.py"),
        "import library, own_part\nprint(library.work())\n",
    )
    .unwrap();
    let its_python = directory.join("venv/bin/python");
    (directory, its_python)
}

fn remedy<'a>(report: &'a RunReport, id: &str) -> Option<&'a Remedy> {
    report
        .remedies
        .iter()
        .find(|remedy| remedy.id.as_str() == id)
}

/// The output of the program if a module cannot be imported.
fn without(module: &str, directory: &Directory, python: &Path) -> (bool, String) {
    let blocked =
        format!("import sys; sys.modules[{module:?}] = None; exec(open('program.py').read())");
    let mut command = Command::new(python);
    let said = command.args(["-c", &blocked]).current_dir(directory.path());
    let said = said.output().expect("it starts");
    (
        said.status.success(),
        String::from_utf8_lossy(&said.stdout).into_owned(),
    )
}

#[test]
fn an_avoidable_import_can_be_blocked() {
    let Some(python) = python() else { return };
    let (directory, python) = environment(&python);
    let command = [python.as_os_str(), "program.py".as_ref()];
    let report = support::recorded(&directory, &["--starts", "2"], command, &[]);
    let suggestion = remedy(&report, "avoidable-imports").expect("one import is optional");
    assert_eq!(suggestion.title, "Avoid importing optional_part");
    // The library imports it too.
    let manifest = fs::read_to_string(directory.join("recording/recording.json")).unwrap();
    let manifest: Manifest = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest.shared_imports, ["common_part"]);
    for other in ["required_part", "own_part"] {
        assert!(!suggestion.what.contains(other), "{}", suggestion.what);
    }
    assert!(suggestion.saving < report.time_to_first.value);
    let (works, printed) = without("nothing", &directory, &python);
    assert!(works);
    assert_eq!(
        without("optional_part", &directory, &python),
        (true, printed)
    );
    assert!(!without("required_part", &directory, &python).0);
    // A program that mentions it may use it.
    fs::write(
        directory.join("program.py"),
        "import library, own_part, optional_part\nprint(library.work())\n",
    )
    .unwrap();
    fs::remove_dir_all(directory.join("recording")).unwrap();
    let report = support::recorded(&directory, &["--starts", "2"], command, &[]);
    assert!(remedy(&report, "avoidable-imports").is_none());
}

#[test]
fn no_warm_start_is_promised_that_would_be_plain() {
    let Some(python) = python() else { return };
    let (directory, python) = environment(&python);
    let name = python.to_str().unwrap();
    let report = support::recorded(
        &directory,
        &["--starts", "2"],
        [python.as_os_str(), "program.py".as_ref()],
        &[],
    );
    let served = remedy(&report, "warm-parent").expect("imports take most of the time");
    assert!(served.helps && served.saving > 0.0);
    // A shell that runs two programs becomes neither of them.
    fs::remove_dir_all(directory.join("recording")).unwrap();
    let script = directory.script(
        "run.sh",
        &format!("#!/bin/sh\n{name} program.py\n{name} program.py\n"),
    );
    let report = support::recorded(&directory, &["--starts", "2"], [script.as_os_str()], &[]);
    let promised = remedy(&report, "warm-parent").map_or(0.0, |remedy| remedy.saving);
    assert_eq!(promised, 0.0, "{:?}", report.remedies);
}
