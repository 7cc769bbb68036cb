//! Validates the JSON document of the lab against its schema.

mod common;
mod validator;

use preheat_model::lab::LabReport;
use preheat_report::lab_json;
use validator::validate;

const SCHEMA: &str = "../../docs/schema/preheat.lab-2.schema.json";
const GUIDE: &str = "../../docs/lab-json.md";

/// The example in the guide.
fn example() -> serde_json::Value {
    let text = validator::example(GUIDE);
    serde_json::from_str::<LabReport>(&text).expect("the example is a report");
    serde_json::from_str(&text).unwrap()
}

fn document(report: &LabReport) -> serde_json::Value {
    serde_json::from_str(&lab_json(report)).unwrap()
}

#[test]
fn the_schema_accepts_written_documents() {
    let mut early = common::report();
    early.settings.ended_early = Some("interrupted".to_owned());
    let reports = [common::report(), common::empty(), common::hostile(), early];
    let mut documents: Vec<_> = reports.iter().map(document).collect();
    documents.push(example());
    for verdict in validate(SCHEMA, &documents).unwrap_or_default() {
        assert_eq!(verdict, "ok");
    }
}

#[test]
fn the_schema_rejects_other_documents() {
    let good = document(&common::report());
    let with = |pointer: &str, value: serde_json::Value| {
        let mut document = good.clone();
        *document.pointer_mut(pointer).expect(pointer) = value;
        document
    };
    let mut unknown = good.clone();
    unknown["surprise"] = 1.into();
    let mut without = good.clone();
    without.as_object_mut().unwrap().remove("machine");
    let documents = [
        unknown,
        without,
        with("/schema", "preheat.lab/3".into()),
        with("/created", "yesterday".into()),
        with("/experiments/0/id", "unknown".into()),
        with("/experiments/0/series/0/kind", "guess".into()),
        with("/experiments/0/series/0/first", "1 ms".into()),
        with("/experiments/1/series/1/class", "odd".into()),
        with("/claims/0/verdict", "perhaps".into()),
        with("/claims/0/id", 21.into()),
        with("/machine/cores", 0.into()),
    ];
    for (index, verdict) in validate(SCHEMA, &documents)
        .unwrap_or_default()
        .iter()
        .enumerate()
    {
        assert!(
            verdict.starts_with("refused"),
            "document {index}: {verdict}"
        );
    }
}

#[test]
fn the_guide_lists_every_field_of_the_schema() {
    validator::guide_names_every_field(GUIDE, SCHEMA);
}
