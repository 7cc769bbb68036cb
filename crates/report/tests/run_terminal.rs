//! Snapshots of the terminal report of a run. `PREHEAT_UPDATE_SNAPSHOTS=1` updates them.

mod common;

use std::path::Path;

use preheat_model::run::RunReport;
use preheat_report::{Terminal, run_terminal};

fn compare(name: &str, report: &RunReport, width: usize) {
    let terminal = Terminal {
        width,
        color: false,
        unicode: true,
    };
    let text = run_terminal(report, &terminal);
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/snapshots")
        .join(format!("{name}-{width}.txt"));
    if std::env::var_os("PREHEAT_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == text,
        "{} is not what is shown now:\n{text}",
        file.display()
    );
}

#[test]
fn a_training() {
    compare("run-training", &common::run::report(), 80);
    compare("run-training", &common::run::report(), 120);
}

#[test]
fn several_temperatures() {
    compare("run-ladder", &common::run::ladder(), 80);
    compare("run-ladder", &common::run::ladder(), 120);
}

#[test]
fn an_unrecorded_program() {
    compare("run-bare", &common::run::bare(), 80);
}

#[test]
fn narrow_terminal() {
    compare("run-training", &common::run::report(), 50);
}
