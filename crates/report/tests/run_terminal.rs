//! Snapshots of the terminal report of a run.

mod common;
mod snapshot;

use preheat_model::run::RunReport;
use preheat_report::run_terminal;
use snapshot::{assert_snapshot, terminal};

fn compare(name: &str, report: &RunReport, width: usize) {
    let text = run_terminal(report, &terminal(width, false));
    assert_snapshot(&format!("{name}-{width}"), &text);
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
