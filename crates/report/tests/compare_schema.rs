//! Validates the JSON document of a comparison against its schema.

mod common;
mod validator;

use preheat_model::compare::CompareReport;
use preheat_report::compare_json;
use validator::validate;

const SCHEMA: &str = "../../docs/schema/preheat.compare-2.schema.json";
const GUIDE: &str = "../../docs/compare-json.md";

fn document(report: &CompareReport) -> serde_json::Value {
    serde_json::from_str(&compare_json(report)).unwrap()
}

/// The example in the guide.
fn example() -> serde_json::Value {
    let text = validator::example(GUIDE);
    serde_json::from_str::<CompareReport>(&text).expect("the example is a comparison");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_schema_accepts_written_documents() {
    use common::compare;
    let mut documents = [
        compare::regression(),
        compare::unchanged(),
        compare::few(),
        compare::memory(),
        compare::faster(),
        compare::lab(),
        compare::hostile(),
        compare::hostile_lab(),
        compare::nothing(),
    ]
    .map(|report| document(&report))
    .to_vec();
    documents.push(example());
    for verdict in validate(SCHEMA, &documents).unwrap_or_default() {
        assert_eq!(verdict, "ok");
    }
}

#[test]
fn the_schema_rejects_other_documents() {
    let good = document(&common::compare::regression());
    let with = |pointer: &str, value: serde_json::Value| {
        let mut document = good.clone();
        *document.pointer_mut(pointer).expect(pointer) = value;
        document
    };
    let mut unknown = good.clone();
    unknown["surprise"] = 1.into();
    let mut without = good.clone();
    without.as_object_mut().unwrap().remove("verdict");
    let documents = [
        unknown,
        without,
        with("/schema", "preheat.compare/3".into()),
        with("/kind", "programs".into()),
        with("/verdict", "worse".into()),
        with("/max_regression", "5%".into()),
        with("/headline/text", serde_json::Value::Null),
        with("/quantities/0/id", "time".into()),
        with("/quantities/0/difference/estimate", serde_json::Value::Null),
        with("/quantities/0/p", 2.into()),
        with("/causes/0/cause", "magic".into()),
        with("/causes/0/items/0/change", "moved".into()),
        with("/base/machine/cores", 0.into()),
    ];
    let verdicts = validate(SCHEMA, &documents).unwrap_or_default();
    for (index, verdict) in verdicts.iter().enumerate() {
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
