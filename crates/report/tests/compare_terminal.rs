//! Snapshots of the terminal report of a comparison.

mod common;
mod snapshot;

use common::compare;
use preheat_model::compare::CompareReport;
use preheat_report::compare_terminal;
use snapshot::{assert_snapshot, terminal};

fn shown(name: &str, report: &CompareReport, width: usize, color: bool) {
    let text = compare_terminal(report, &terminal(width, color));
    let suffix = if color { "-color" } else { "" };
    assert_snapshot(&format!("compare-{name}-{width}{suffix}"), &text);
}

#[test]
fn a_regression_with_a_new_import() {
    let report = compare::regression();
    for width in [80, 120] {
        shown("regression", &report, width, false);
        shown("regression", &report, width, true);
    }
    shown("regression", &report, 50, false);
}

#[test]
fn nothing_changed() {
    let report = compare::unchanged();
    shown("unchanged", &report, 80, false);
    shown("unchanged", &report, 80, true);
    shown("unchanged", &report, 120, false);
}

#[test]
fn too_few_starts() {
    let report = compare::few();
    shown("few", &report, 80, false);
    shown("few", &report, 80, true);
    shown("few", &report, 120, false);
}

#[test]
fn more_memory() {
    let report = compare::memory();
    shown("memory", &report, 80, false);
    shown("memory", &report, 120, false);
}

#[test]
fn faster_with_a_quantity_missing_on_one_side() {
    let report = compare::faster();
    shown("faster", &report, 80, false);
    shown("faster", &report, 80, true);
    shown("faster", &report, 120, false);
}

#[test]
fn lab_results() {
    let report = compare::lab();
    shown("lab", &report, 80, false);
    shown("lab", &report, 80, true);
    shown("lab", &report, 120, false);
}

#[test]
fn nothing_in_common() {
    shown("nothing", &compare::nothing(), 80, false);
}
