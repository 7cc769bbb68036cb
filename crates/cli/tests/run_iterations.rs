//! Finding the iterations of real programs: by lines of output and by calls.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use preheat_analyze::run::{IterationsBy, RunReport};

mod support;
use support::{Directory, require};

/// Records a script of this interpreter.
fn recorded(interpreter: &Path, script: &str, flags: &[&str]) -> RunReport {
    let directory = Directory::new();
    fs::write(directory.join("program"), script).expect("it is written");
    let command = [interpreter.as_os_str(), OsStr::new("program")];
    support::recorded(&directory, flags, command, &[])
}

#[test]
fn every_line_counts_however_fast_it_comes() {
    for (name, script) in [
        // All in one piece.
        ("seq", "seq -f 'step %g' 1000"),
        (
            "one at a time",
            "i=0; while [ $i -lt 1000 ]; do echo step $i; i=$((i+1)); done",
        ),
    ] {
        let flags = ["--starts", "1", "--iterations", "lines:^step"];
        let report = recorded(Path::new("/bin/sh"), script, &flags);
        let iterations = &report.starts[0].iterations;
        assert_eq!(iterations.len(), 1000, "{name}");
        assert!(iterations.iter().all(|time| *time > 0.0), "{name}");
        let together = report.notes.iter().any(|note| note.contains("together"));
        assert!(together || name != "seq", "{:?}", report.notes);
    }
}

#[test]
fn lines_of_standard_error_can_begin_iterations() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let script = "
import sys, time
time.sleep(0.3)  # set-up
for number in range(6):
    print('begin', file=sys.stderr, flush=True)
    time.sleep(0.01)
    print('step', number, file=sys.stderr, flush=True)
";
    let first = |iterations: &str| {
        let report = recorded(
            &python,
            script,
            &["--starts", "1", "--iterations", iterations],
        );
        assert_eq!(report.iterations_by, IterationsBy::Lines);
        let iterations = &report.starts[0].iterations;
        assert_eq!(iterations.len(), 6);
        let time = report.time_to_first.median;
        (iterations[0], time - iterations[0])
    };
    // Without a line that begins it, the first iteration has the set-up in it; with one the
    // set-up lies before it.
    let (whole, _) = first("lines:^step");
    assert!(whole >= 0.3, "{whole}");
    let (_, before) = first("lines:^begin=>^step");
    assert!(before >= 0.3, "{before}");
}

#[test]
fn of_threads_and_processes_that_iterate_the_earliest_first_result_counts() {
    let Some(python) = support::python_with("torch") else {
        return;
    };
    let script = "
import os, threading, time, torch
model = torch.nn.Linear(8, 8)
def calls(count):
    with torch.no_grad():
        for _ in range(count):
            model(torch.ones(2, 8))
child = os.fork()
calls(6)
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
late = threading.Thread(target=calls, args=(20,))
late.start()
late.join()
";
    let report = recorded(&python, script, &["--starts", "1"]);
    assert_eq!(report.iterations_by, IterationsBy::Python);
    // The thread with the most calls comes last; the two others are as good as at once.
    assert_eq!(report.starts[0].iterations.len(), 6);
    let counts: Vec<usize> = (report.other_threads.iter())
        .map(|other| other.iterations)
        .collect();
    assert_eq!(counts, [6, 20]);
    let ends = report.other_threads.iter().map(|other| other.time_to_first);
    assert!(
        ends.into_iter()
            .all(|end| end >= report.time_to_first.median)
    );
    let note = report.notes.iter().find(|note| note.contains("iterate"));
    let note = note.expect("it is said");
    assert!(note.starts_with("3 threads of 2 processes"), "{note}");
}
