//! Snapshots of the terminal report of a comparison. `PREHEAT_UPDATE_SNAPSHOTS=1` updates
//! them.

mod common;

use std::path::Path;

use common::compare;
use preheat_model::compare::CompareReport;
use preheat_report::{Terminal, compare_terminal};

fn shown(name: &str, report: &CompareReport, width: usize, color: bool) {
    let terminal = Terminal {
        width,
        color,
        unicode: true,
    };
    let text = compare_terminal(report, &terminal);
    let suffix = if color { "-colour" } else { "" };
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/snapshots")
        .join(format!("compare-{name}-{width}{suffix}.txt"));
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
