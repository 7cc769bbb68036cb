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
