//! Snapshots of the terminal report of classified times.

mod common;
mod snapshot;

use common::classify::{empty, hostile, many, one, starts};
use common::rendering::assert_fits;
use preheat_model::classify::ClassifyReport;
use preheat_report::{Terminal, classify_terminal};
use snapshot::{assert_snapshot, terminal};

fn at(report: &ClassifyReport, width: usize) -> String {
    classify_terminal(report, &terminal(width, false))
}

fn compare(name: &str, report: &ClassifyReport, width: usize) {
    assert_snapshot(&format!("{name}-{width}"), &at(report, width));
}

#[test]
fn many_benchmarks() {
    compare("classify-many", &many().report, 80);
    compare("classify-many", &many().report, 120);
}

#[test]
fn one_benchmark() {
    compare("classify-one", &one().report, 80);
    compare("classify-one", &one().report, 120);
}

#[test]
fn hyperfine_starts() {
    compare("classify-starts", &starts().report, 80);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for report in [one(), starts(), many(), hostile(), empty()] {
        assert_fits(|width, color, unicode| {
            let terminal = Terminal {
                width,
                color,
                unicode,
            };
            classify_terminal(&report.report, &terminal)
        });
    }
}

#[test]
fn missing_values_are_shown_as_dashes_or_omitted() {
    for judged in [many(), empty()] {
        let text = at(&judged.report, 120);
        for word in ["NaN", "inf ", "None", "Some("] {
            assert!(!text.contains(word), "{word} in\n{text}");
        }
    }
}

#[test]
fn equal_names_include_their_files() {
    let mut report = many().report;
    let mut other = report.benchmarks[0].clone();
    other.file = "other.json.bz2".to_owned();
    report.benchmarks.push(other);
    let text = at(&report, 140);
    assert!(text.contains("default-python (krun.json.bz2)"), "{text}");
    assert!(text.contains("default-python (other.json.bz2)"), "{text}");
}
