//! `preheat run` on a real package without bytecode: the cause, its reason and the remedy.

use std::fs;
use std::path::Path;
use std::process::Command;

use preheat_model::run::{Cause, CauseReport, RunReport, Temperature};

mod support;
use support::{Directory, python};

const PROGRAM: &str = "
import sys, json.tool, html.parser, xml.dom.minidom, package
print(sys.dont_write_bytecode, sys.pycache_prefix)
for _ in range(5):
    package.work()
";

/// A directory with a program and the packages it imports, copied without bytecode from
/// Python's own.
fn program(python: &Path) -> Directory {
    let directory = Directory::new();
    fs::write(directory.join("program.py"), PROGRAM).unwrap();
    fs::create_dir(directory.join("package")).unwrap();
    let package = "import json\ndef work():\n    json.loads('[1]')\n";
    fs::write(directory.join("package/__init__.py"), package).unwrap();
    let copy = "
import os, shutil, json, html, xml
for module in json, html, xml:
    path = os.path.dirname(module.__file__)
    without = shutil.ignore_patterns('__pycache__')
    shutil.copytree(path, os.path.basename(path), ignore=without)
";
    let copied = Command::new(python)
        .args(["-c", copy])
        .current_dir(directory.path())
        .status();
    assert!(copied.is_ok_and(|status| status.success()));
    directory
}

fn compiled(report: &RunReport) -> Option<&CauseReport> {
    let mut causes = report.causes.iter();
    causes.find(|found| found.cause == Cause::BytecodeCompilation)
}

fn causes_add_up(report: &RunReport) {
    let sum: f64 = report.causes.iter().map(|cause| cause.seconds).sum();
    assert!((sum - report.time_to_first.value).abs() < 1e-6);
}

#[test]
fn modules_that_every_start_compiles_are_a_cause() {
    let Some(python) = python() else { return };
    let directory = program(&python);
    let report = support::recorded(
        &directory,
        &["--starts", "2"],
        [python.as_os_str(), "program.py".as_ref()],
        &[("PYTHONDONTWRITEBYTECODE", "1".to_owned())],
    );
    causes_add_up(&report);
    let cause = compiled(&report).expect("source was compiled");
    let item = |name: &str| cause.items.iter().find(|item| item.name == name);
    for package in ["json", "html", "xml", "package"] {
        let item = item(package).expect("each package was compiled");
        assert_eq!(item.detail, "no .pyc, writing turned off");
        assert!(item.seconds > 0.0);
    }
    // As many as the packages have modules that the program imports.
    assert_eq!(item("package").map(|item| item.count), Some(1));
    assert!(item("xml").is_some_and(|item| item.count >= 5));
    assert!(!directory.join("json/__pycache__").exists());
}

#[test]
fn bytecode_that_the_first_start_writes_is_used_by_the_next() {
    let Some(python) = python() else { return };
    let directory = program(&python);
    let flags = ["--starts", "2", "--temperature", "process,bytecode"];
    let command = [python.as_os_str(), "program.py".as_ref()];
    let environment = [("PYTHONDONTWRITEBYTECODE", String::new())];
    let report = support::recorded(&directory, &flags, command, &environment);
    causes_add_up(&report);
    assert!(directory.join("xml/__pycache__").exists());
    let packages = |temperature: Temperature| -> f64 {
        let level = report
            .ladder
            .iter()
            .find(|level| level.temperature == temperature);
        let causes = level.expect("starts were made").causes.iter();
        let compiled = causes.filter(|part| part.cause == Cause::BytecodeCompilation);
        compiled.map(|part| part.seconds).sum()
    };
    assert!(packages(Temperature::Bytecode) > 0.0);
    assert_eq!(packages(Temperature::Process), 0.0);
    assert!(compiled(&report).is_none());
    // Files that the starts without bytecode wrote are gone.
    let left = fs::read_dir(directory.join("recording")).unwrap();
    let names = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| !name.ends_with("-caches")));
}
