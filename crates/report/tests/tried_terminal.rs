//! Snapshots of the terminal report of measured remedies. `PREHEAT_UPDATE_SNAPSHOTS=1`
//! updates them.

mod common;
mod validator;

use std::path::Path;

use common::tried::{hostile, nothing, training};
use preheat_model::tried::TriedReport;
use preheat_report::{Terminal, tried_html, tried_json, tried_terminal};
use serde_json::Value;
use validator::validate;

const SCHEMA: &str = "../../docs/schema/preheat.start-1.schema.json";
const GUIDE: &str = "../../docs/start-json.md";

fn compare(name: &str, report: &TriedReport, width: usize) {
    let terminal = Terminal {
        width,
        color: false,
        unicode: true,
    };
    let text = tried_terminal(report, &terminal);
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
fn the_variables_of_settings_are_named() {
    let mut report = training();
    let set = ("CUDA_BINARY_LOADER_THREAD_COUNT", "8");
    report.remedies[2].variables = vec![(set.0.to_owned(), set.1.to_owned())];
    let terminal = Terminal {
        width: 120,
        color: false,
        unicode: true,
    };
    let text = tried_terminal(&report, &terminal);
    let line = "  Settings: loader threads sets CUDA_BINARY_LOADER_THREAD_COUNT=8.\n";
    assert!(text.contains(line), "{text}");
    let page = tried_html(&report);
    assert!(page.contains("loader threads sets CUDA_BINARY_LOADER_THREAD_COUNT=8."));
    let document: Value = serde_json::from_str(&tried_json(&report)).unwrap();
    let verdicts = validate(SCHEMA, &[document]).unwrap_or_default();
    assert!(
        verdicts.iter().all(|verdict| verdict == "ok"),
        "{verdicts:?}"
    );
}

#[test]
fn shows_predicted_and_measured_savings() {
    compare("tried-training", &training(), 80);
    compare("tried-training", &training(), 120);
}

#[test]
fn shows_that_nothing_helps() {
    compare("tried-nothing", &nothing(), 80);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for report in [training(), nothing(), hostile()] {
        for width in [1, 10, 24, 40, 60, 79, 80, 100, 120, 200] {
            for unicode in [false, true] {
                let terminal = Terminal {
                    width,
                    color: false,
                    unicode,
                };
                let text = tried_terminal(&report, &terminal);
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

fn document(report: &TriedReport) -> Value {
    serde_json::from_str(&tried_json(report)).unwrap()
}

#[test]
fn the_schema_accepts_written_documents() {
    let mut documents = vec![document(&training()), document(&nothing())];
    let example = validator::example(GUIDE);
    serde_json::from_str::<TriedReport>(&example).expect("the example is a report");
    documents.push(serde_json::from_str(&example).unwrap());
    for verdict in validate(SCHEMA, &documents).unwrap_or_default() {
        assert_eq!(verdict, "ok");
    }
}

#[test]
fn the_schema_rejects_other_documents() {
    let good = document(&training());
    let with = |pointer: &str, value: Value| {
        let mut document = good.clone();
        *document.pointer_mut(pointer).expect(pointer) = value;
        document
    };
    let mut unknown = good.clone();
    unknown["surprise"] = 1.into();
    let documents = [
        unknown,
        with("/schema", "preheat.start/2".into()),
        with("/variants/0/against", "luke-warm".into()),
        with("/variants/1/saved/value", Value::Null),
        with("/remedies/0/kept", "yes".into()),
        with("/kept/0", "magic".into()),
        with("/machine", 3.into()),
    ];
    let verdicts = validate(SCHEMA, &documents).unwrap_or_default();
    for (index, verdict) in verdicts.iter().enumerate() {
        assert!(verdict.starts_with("refused"), "{index}: {verdict}");
    }
}
