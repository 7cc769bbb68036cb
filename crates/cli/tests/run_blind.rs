//! Programs that the recorder does not get into, or only in part, and recordings that
//! cannot be written: the report has a note about it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use preheat_model::run::{Cause, RunReport};

mod support;
use support::{Directory, preheat, require, run};

fn recorded(directory: &Directory, command: &[&str], flags: &[&str]) -> RunReport {
    let command = command.iter().map(|word| OsStr::new(*word));
    support::recorded(directory, flags, command, &[])
}

fn notes(report: &RunReport, part: &str) -> usize {
    let with = report.notes.iter().filter(|note| note.contains(part));
    with.count()
}

#[test]
fn a_python_without_our_part_of_it_is_noted() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let python = python.to_str().expect("it is text");
    for option in ["-I", "-E"] {
        let directory = Directory::new();
        let command = [python, option, "-c", "import json"];
        let report = recorded(&directory, &command, &["--starts", "1"]);
        assert_eq!(
            notes(&report, &format!("{option} disables")),
            1,
            "{:?}",
            report.notes
        );
    }
    let directory = Directory::new();
    let report = recorded(
        &directory,
        &[python, "-c", "import json"],
        &["--starts", "1"],
    );
    assert_eq!(notes(&report, "are not recorded"), 0, "{:?}", report.notes);
}

/// Old Pythons, including Python 2, that pyenv or the distribution has installed.
fn old_pythons() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let versions = home.map(|home| home.join(".pyenv/versions"));
    let entries = versions.and_then(|path| fs::read_dir(path).ok());
    let old = |name: &OsStr| {
        let name = name.to_str().unwrap_or("");
        ["2.7", "3.5", "3.6", "3.7"]
            .iter()
            .any(|old| name.starts_with(old))
    };
    let mut found: Vec<PathBuf> = (entries.into_iter().flatten().flatten())
        .filter(|entry| old(&entry.file_name()))
        .map(|entry| entry.path().join("bin/python"))
        .collect();
    found.push(PathBuf::from("/usr/bin/python2.7"));
    found.retain(|python| python.exists());
    found
}

#[test]
fn old_pythons_run_as_they_do_without_preheat() {
    let pythons = old_pythons();
    if require("old-python", (!pythons.is_empty()).then_some(())).is_none() {
        return;
    }
    for python in pythons {
        let program = [python.to_str().expect("it is text"), "-c", "import json"];
        let directory = Directory::new();
        let said = run(preheat()
            .current_dir(directory.path())
            .args(["run", "--starts", "1", "--json", "run.json", "--"])
            .args(program));
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert!(!said.err.contains("sitecustomize"), "{}", said.err);
        let text = fs::read_to_string(directory.join("run.json")).expect("the JSON is there");
        let report: RunReport = serde_json::from_str(&text).expect("it is a report");
        assert_eq!(notes(&report, "older than 3.8"), 1, "{:?}", report.notes);
    }
}

#[test]
fn an_environment_that_was_emptied_is_noted() {
    let directory = Directory::new();
    let command = ["/usr/bin/env", "-i", "/bin/sh", "-c", ":"];
    let report = recorded(&directory, &command, &["--starts", "1"]);
    assert_eq!(
        notes(&report, "env started a program"),
        1,
        "{:?}",
        report.notes
    );
    let directory = Directory::new();
    let command = ["/usr/bin/env", "A=1", "/bin/sh", "-c", ":"];
    let report = recorded(&directory, &command, &["--starts", "1"]);
    assert_eq!(
        notes(&report, "env started a program"),
        0,
        "{:?}",
        report.notes
    );
}

#[test]
fn a_program_that_goes_on_as_another_user_hears_nothing_of_the_recorder() {
    // SAFETY: geteuid takes nothing and cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    let setpriv = Path::new("/usr/bin/setpriv");
    let is_allowed = root && setpriv.exists();
    if require("another user", is_allowed.then_some(())).is_none() {
        return;
    }
    let directory = Directory::new();
    let said = run(preheat()
        .current_dir(directory.path())
        .args(["run", "--starts", "1", "--output", "recording", "--"])
        .arg(setpriv)
        .args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "/bin/true",
        ]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(!said.err.contains("ld.so"), "{}", said.err);
    assert!(
        said.err.contains("setpriv started a program"),
        "{}",
        said.err
    );
}

fn gcc() -> Option<()> {
    let found = Command::new("gcc").arg("--version").output().is_ok();
    require("gcc", found.then_some(()))
}

/// Compiles a C program as `program`.
fn compile(directory: &Directory, compiler: &str, flags: &[&str], source: &str) {
    fs::write(directory.join("program.c"), source).expect("it is written");
    let compiled = Command::new(compiler)
        .current_dir(directory.path())
        .args(flags)
        .args(["-o", "program", "program.c"])
        .status();
    assert!(compiled.is_ok_and(|status| status.success()));
}

#[test]
fn a_static_program_that_a_shell_starts_is_noted() {
    let Some(()) = gcc() else { return };
    let source = "
#include <time.h>
int main(void) {
    volatile unsigned long sum = 0;
    while (clock() < 0.4 * CLOCKS_PER_SEC) sum++;
    return 0;
}
";
    // The shell becomes the program, or waits for it.
    for (flags, line, noted) in [
        (&["-static"][..], "./program", 1),
        (&["-static"], "./program; true", 1),
        (&[], "./program", 0),
    ] {
        let directory = Directory::new();
        compile(&directory, "gcc", flags, source);
        let report = recorded(&directory, &["sh", "-c", line], &["--starts", "1"]);
        let part = "program, which the command started, is statically linked";
        assert_eq!(notes(&report, part), noted, "{line}: {:?}", report.notes);
        // A child is named as the kernel names it.
        if line.ends_with("true") {
            let mut causes = report.causes.iter();
            let own = causes.find(|found| found.cause == Cause::OwnCpu);
            let items = &own.expect("it computes").items;
            let is_named = |name: &str| name.starts_with("program (");
            assert!(items.iter().any(|item| is_named(&item.name)), "{items:?}");
        }
    }
}

#[test]
fn a_static_program_is_explained_from_outside() {
    let Some(()) = gcc() else { return };
    let directory = Directory::new();
    let source = "
#include <stdio.h>
#include <time.h>
static double used(void) { return (double)clock() / CLOCKS_PER_SEC; }
int main(void) {
    volatile unsigned long sum = 0;
    while (used() < 0.4) sum++;
    for (int i = 0; i < 6; i++) {
        double from = used();
        while (used() < from + 0.01) sum++;
        printf(\"step %d\\n\", i);
        fflush(stdout);
    }
}
";
    compile(&directory, "gcc", &["-static"], source);
    let seconds = |report: &RunReport, cause: Cause| {
        let found = report.causes.iter().find(|found| found.cause == cause);
        found.map_or(0.0, |found| found.seconds)
    };
    let report = recorded(&directory, &["./program"], &["--starts", "1"]);
    assert!(report.starts[0].iterations.is_empty());
    let (own, other) = (Cause::OwnCpu, Cause::Unexplained);
    assert!(seconds(&report, own) >= 0.3, "{:?}", report.causes);
    assert!(seconds(&report, other) < 0.1, "{:?}", report.causes);
    assert_eq!(notes(&report, "statically linked"), 1, "{:?}", report.notes);

    let flags = ["--starts", "1", "--iterations", "lines:^step"];
    let directory = Directory::new();
    compile(&directory, "gcc", &["-static"], source);
    let report = recorded(&directory, &["./program"], &flags);
    assert_eq!(report.starts[0].iterations.len(), 6);
    // Its computation before the first step, however busy the machine was.
    assert!(seconds(&report, own) >= 0.3, "{:?}", report.causes);
    let steady = seconds(&report, Cause::SteadyWork);
    assert!(
        steady < 0.5 * report.time_to_first.value,
        "{:?}",
        report.causes
    );
    assert_eq!(notes(&report, "statically linked"), 1, "{:?}", report.notes);
    assert_eq!(notes(&report, "which the command started"), 0);
}

#[test]
fn a_program_for_musl_runs_as_it_does_without_preheat() {
    let musl = Command::new("musl-gcc").arg("--version").output().is_ok();
    if require("musl", musl.then_some(())).is_none() {
        return;
    }
    let directory = Directory::new();
    let source = "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 3; }\n";
    compile(&directory, "musl-gcc", &[], source);
    // A loader that loads the recorder starts one that cannot.
    for verb in [&["run", "--starts", "1"][..], &["start"]] {
        let said = run(preheat().current_dir(directory.path()).args(verb).args([
            "--",
            "sh",
            "-c",
            "./program",
        ]));
        assert_eq!(said.code, Some(3), "{verb:?}: {}", said.err);
        assert_eq!(said.out.lines().next(), Some("hello"), "{verb:?}");
        assert!(!said.err.contains("Error relocating"), "{}", said.err);
    }
}

#[test]
fn a_recording_that_cannot_be_written_is_said_to_be_lost() {
    let directory = Directory::new();
    // A limit on the size of files stands in for a full disk.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    let preheat = preheat();
    let said = run(Command::new("bash")
        .current_dir(directory.path())
        .args(["-c", script])
        .arg(preheat.get_program())
        .args([
            "run",
            "--starts",
            "1",
            "--output",
            "recording",
            "--",
            "true",
        ]));
    assert_eq!(said.code, Some(125), "{}", said.err);
    assert!(
        said.err.contains("the recording of one start is lost"),
        "{}",
        said.err
    );
    assert!(
        said.err.contains("recording.json cannot be written"),
        "{}",
        said.err
    );
}

#[test]
fn starts_that_are_lost_on_a_full_disk_are_counted() {
    let directory = Directory::new();
    fs::create_dir(directory.join("disk")).expect("it is created");
    let mounted = |script: &str| {
        let mut command = Command::new("unshare");
        command
            .current_dir(directory.path())
            .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
            .arg(format!("mount -t tmpfs -o size=1m none disk && {script}"))
            .arg(env!("CARGO_BIN_EXE_preheat"));
        command
    };
    let tried = mounted("true").output();
    let is_allowed = tried.is_ok_and(|out| out.status.success());
    if require("namespaces", is_allowed.then_some(())).is_none() {
        return;
    }
    // The second start fills the disk of the recording.
    let command = "test -e ran && head -c 2M /dev/zero > disk/filler; touch ran";
    let said = run(&mut mounted(&format!(
        "exec \"$0\" run --starts 3 --json run.json --output disk/recording -- sh -c '{command}'"
    )));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = fs::read_to_string(directory.join("run.json")).expect("the JSON is there");
    let report: RunReport = serde_json::from_str(&text).expect("it is a report");
    assert_eq!(report.starts.len(), 1);
    let part = "Recordings of starts are lost (2 of 3)";
    assert_eq!(notes(&report, part), 1, "{:?}", report.notes);
    assert_eq!(notes(&report, "No space left"), 1, "{:?}", report.notes);
}
