//! Snapshots of the terminal report of measured remedies.

mod common;
mod snapshot;
mod validator;

use common::measurement::{hostile, nothing, training};
use common::rendering::assert_fits;
use preheat_model::measurement::MeasurementReport;
use preheat_report::{Terminal, measurement_html, measurement_json, measurement_terminal};
use serde_json::Value;
use snapshot::{assert_snapshot, terminal};
use validator::validate;

const SCHEMA: &str = "../../docs/schema/preheat.start-2.schema.json";
const GUIDE: &str = "../../docs/start-json.md";

fn compare(name: &str, report: &MeasurementReport, width: usize) {
    let text = measurement_terminal(report, &terminal(width, false));
    assert_snapshot(&format!("{name}-{width}"), &text);
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
    let text = measurement_terminal(&report, &terminal);
    let line = "  Settings: loader threads sets CUDA_BINARY_LOADER_THREAD_COUNT=8.\n";
    assert!(text.contains(line), "{text}");
    let page = measurement_html(&report);
    assert!(page.contains("loader threads sets CUDA_BINARY_LOADER_THREAD_COUNT=8."));
    let document: Value = serde_json::from_str(&measurement_json(&report)).unwrap();
    let verdicts = validate(SCHEMA, &[document]).unwrap_or_default();
    assert!(
        verdicts.iter().all(|verdict| verdict == "ok"),
        "{verdicts:?}"
    );
}

#[test]
fn shows_predicted_and_measured_savings() {
    compare("measurement-training", &training(), 80);
    compare("measurement-training", &training(), 120);
}

#[test]
fn shows_that_nothing_helps() {
    compare("measurement-nothing", &nothing(), 80);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for report in [training(), nothing(), hostile()] {
        assert_fits(|width, color, unicode| {
            let terminal = Terminal {
                width,
                color,
                unicode,
            };
            measurement_terminal(&report, &terminal)
        });
    }
}

fn document(report: &MeasurementReport) -> Value {
    serde_json::from_str(&measurement_json(report)).unwrap()
}

#[test]
fn the_schema_accepts_written_documents() {
    let mut documents = vec![document(&training()), document(&nothing())];
    let example = validator::example(GUIDE);
    serde_json::from_str::<MeasurementReport>(&example).expect("the example is a report");
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
        with("/schema", "preheat.start/3".into()),
        with("/variants/0/against", "luke-warm".into()),
        with("/variants/1/saved/estimate", Value::Null),
        with("/remedies/0/kept", "yes".into()),
        with("/kept/0", "magic".into()),
        with("/machine", 3.into()),
    ];
    let verdicts = validate(SCHEMA, &documents).unwrap_or_default();
    for (index, verdict) in verdicts.iter().enumerate() {
        assert!(verdict.starts_with("refused"), "{index}: {verdict}");
    }
}
