//! Snapshots of the terminal report of classified times. `PREHEAT_UPDATE_SNAPSHOTS=1`
//! updates them.

mod common;

use std::path::Path;

use common::classify::{empty, hostile, many, one, starts};
use preheat_model::classify::ClassifyReport;
use preheat_report::{Terminal, classify_terminal};

fn at(report: &ClassifyReport, width: usize) -> String {
    let terminal = Terminal {
        width,
        color: false,
        unicode: true,
    };
    classify_terminal(report, &terminal)
}

fn compare(name: &str, report: &ClassifyReport, width: usize) {
    let text = at(report, width);
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/snapshots")
        .join(format!("{name}-{width}.txt"));
    if std::env::var_os("PREHEAT_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let file = file.display();
    assert!(kept == text, "{file} is not what is shown now:\n{text}");
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
    for judged in [one(), starts(), many(), hostile(), empty()] {
        for width in [1, 10, 24, 40, 60, 79, 80, 100, 120, 200] {
            for unicode in [false, true] {
                let terminal = Terminal {
                    width,
                    color: false,
                    unicode,
                };
                let text = classify_terminal(&judged.report, &terminal);
                for line in text.lines() {
                    assert!(line.chars().count() <= width, "{width}: {line:?}");
                    assert_eq!(line, line.trim_end());
                    assert!(!line.chars().any(char::is_control));
                    assert!(unicode || line.is_ascii());
                }
            }
        }
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
