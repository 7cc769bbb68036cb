//! Validates the JSON document of a run against its schema.

mod common;
mod validator;

use preheat_model::run::{IterationRule, RunReport};
use preheat_report::run_json;
use validator::validate;

const SCHEMA: &str = "../../docs/schema/preheat.run-2.schema.json";
const GUIDE: &str = "../../docs/run-json.md";

fn document(report: &RunReport) -> serde_json::Value {
    serde_json::from_str(&run_json(report)).unwrap()
}

/// The example in the guide.
fn example() -> serde_json::Value {
    let text = validator::example(GUIDE);
    serde_json::from_str::<RunReport>(&text).expect("the example is a report");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_schema_accepts_written_documents() {
    use common::run;
    let mut documents = [
        run::report(),
        run::twice(),
        run::ladder(),
        run::bare(),
        run::hostile(),
    ]
    .map(|r| document(&r))
    .to_vec();
    documents.push(example());
    for rule in ["nvtx:step", "call:model:predict", "lines:^a=>^b"] {
        let mut report = run::report();
        report.settings.iterations = rule.parse().unwrap();
        documents.push(document(&report));
    }
    let simple = IterationRule::SIMPLE.map(|(_, rule)| {
        let mut report = run::report();
        report.settings.iterations = rule;
        document(&report)
    });
    documents.extend(simple);
    for verdict in validate(SCHEMA, &documents).unwrap_or_default() {
        assert_eq!(verdict, "ok");
    }
}

#[test]
fn the_schema_rejects_other_documents() {
    let good = document(&common::run::ladder());
    let with = |pointer: &str, value: serde_json::Value| {
        let mut document = good.clone();
        *document.pointer_mut(pointer).expect(pointer) = value;
        document
    };
    let mut unknown = good.clone();
    unknown["surprise"] = 1.into();
    let mut without = good.clone();
    without.as_object_mut().unwrap().remove("causes");
    let documents = [
        unknown,
        without,
        with("/schema", "preheat.run/3".into()),
        with("/created", "yesterday".into()),
        with("/iterations_by", "guess".into()),
        with("/settings/iterations", "all".into()),
        with("/time_to_first/estimate", serde_json::Value::Null),
        with("/class", "odd".into()),
        with("/causes/0/cause", "magic".into()),
        with("/causes/0/items/0/seconds", "1 s".into()),
        with("/memory/pinned", (-1).into()),
        with("/ladder/0/temperature", "hot".into()),
        with("/remedies/0/id", "Warm Parent".into()),
        with("/starts/0/iterations/0", serde_json::Value::Null),
        with("/machine/cores", 0.into()),
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
