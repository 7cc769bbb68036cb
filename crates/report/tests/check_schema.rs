//! Validates the JSON document of a check against its schema.

mod common;
mod validator;

use common::check;
use preheat_model::check::CheckReport;
use preheat_report::check_json;
use serde_json::Value;
use validator::validate;

const SCHEMA: &str = "../../docs/schema/preheat.check-2.schema.json";
const GUIDE: &str = "../../docs/check-json.md";

fn document(report: &CheckReport) -> Value {
    serde_json::from_str(&check_json(report)).unwrap()
}

#[test]
fn the_schema_accepts_written_documents() {
    let mut documents: Vec<Value> = check::all().iter().map(document).collect();
    let example = validator::example(GUIDE);
    serde_json::from_str::<CheckReport>(&example).expect("the example is a report");
    documents.push(serde_json::from_str(&example).unwrap());
    for verdict in validate(SCHEMA, &documents).unwrap_or_default() {
        assert_eq!(verdict, "ok");
    }
}

#[test]
fn the_schema_rejects_other_documents() {
    let good = document(&check::failed());
    let with = |pointer: &str, value: Value| {
        let mut document = good.clone();
        *document.pointer_mut(pointer).expect(pointer) = value;
        document
    };
    let mut unknown = good.clone();
    unknown["surprise"] = 1.into();
    let documents = [
        unknown,
        with("/schema", "preheat.check/3".into()),
        with("/verdict", "not-measured".into()),
        with("/lines/0/limit", "speed".into()),
        with("/lines/0/cause", "magic".into()),
        with("/lines/0/most", "2 s".into()),
        with("/lines/0/place/line", 0.into()),
        with("/lines/0/measured/estimate", Value::Null),
        with("/lines/0/verdict", "perhaps".into()),
        with("/measured/0/unit", "parsecs".into()),
        with("/settings/allow_missing", 1.into()),
    ];
    let verdicts = validate(SCHEMA, &documents).unwrap_or_default();
    for (index, verdict) in verdicts.iter().enumerate() {
        assert!(verdict.starts_with("refused"), "{index}: {verdict}");
    }
}

#[test]
fn documents_round_trip() {
    for report in check::all() {
        let back: CheckReport = serde_json::from_str(&check_json(&report)).unwrap();
        assert_eq!(back, report);
    }
}

#[test]
fn the_guide_lists_every_field_of_the_schema() {
    validator::guide_names_every_field(GUIDE, SCHEMA);
}
