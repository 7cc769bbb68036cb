//! `preheat classify` with the output of real tools: hyperfine and pyperf.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use preheat_model::classify::{ClassifyReport, Format, Measures};
use support::{Directory, preheat, python_with, require, run};

fn judged(directory: &Directory, file: &str) -> ClassifyReport {
    let said = run(preheat().current_dir(directory.path()).args([
        "classify",
        file,
        "--json",
        "judged.json",
    ]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = fs::read_to_string(directory.join("judged.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn hyperfine() {
    let program = Path::new("/usr/bin/hyperfine");
    let Some(program) = require("hyperfine", program.exists().then_some(program)) else {
        return;
    };
    let directory = Directory::new();
    let said = run(Command::new(program)
        .current_dir(directory.path())
        // Without a shell: hyperfine subtracts its time, and nothing would be left.
        .args(["-N", "--runs", "12", "--export-json", "h.json"])
        .args(["--parameter-list", "n", "1,2", "true {n}", "-n", "named"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let report = judged(&directory, "h.json");
    assert_eq!(report.benchmarks.len(), 2);
    for (benchmark, name) in report.benchmarks.iter().zip(["named (n=1)", "named (n=2)"]) {
        assert_eq!(benchmark.name, name);
        assert_eq!(benchmark.format, Format::Hyperfine);
        assert_eq!(benchmark.measures, Measures::Starts);
        assert_eq!(benchmark.iterations(), (12, 12));
        assert_eq!(benchmark.starts.len(), 1);
        assert!(benchmark.notes[0].contains("starts, not iterations"));
    }
}

#[test]
fn pyperf() {
    let Some(python) = python_with("pyperf") else {
        return;
    };
    let directory = Directory::new();
    let script = directory.join("bench.py");
    let text = "import pyperf\n\
                runner = pyperf.Runner()\n\
                runner.bench_func('sum', sum, range(1000))\n\
                runner.timeit('sort', 'sorted(s)', setup='s = list(range(100))')\n";
    fs::write(&script, text).unwrap();
    let said = run(Command::new(python)
        .current_dir(directory.path())
        .arg(&script)
        .args([
            "--processes",
            "3",
            "--values",
            "4",
            "--warmups",
            "2",
            "--min-time",
            "0.001",
        ])
        .args(["--quiet", "-o", "p.json"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let report = judged(&directory, "p.json");
    let names: Vec<&str> = report.benchmarks.iter().map(|b| &*b.name).collect();
    assert_eq!(names, ["sum", "sort"]);
    for benchmark in &report.benchmarks {
        assert_eq!(benchmark.format, Format::Pyperf);
        assert_eq!(
            (benchmark.starts.len(), benchmark.iterations()),
            (3, (6, 6))
        );
        assert!(
            benchmark
                .notes
                .iter()
                .any(|note| note.contains("many loops"))
        );
        assert!(
            benchmark
                .notes
                .iter()
                .any(|note| note.contains("calibrated"))
        );
    }
}
