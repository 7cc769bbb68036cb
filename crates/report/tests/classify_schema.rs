//! Validates the JSON document of classified times against its schema.

mod common;
mod validator;

use common::classify::{Judged, empty, hostile, many, one, starts};
use preheat_model::classify::{ClassifyReport, Format};
use preheat_report::classify_json;
use validator::validate;

const SCHEMA: &str = "../../docs/schema/preheat.classify-2.schema.json";
const GUIDE: &str = "../../docs/classify-json.md";

fn document(judged: &Judged) -> serde_json::Value {
    serde_json::from_str(&classify_json(&judged.report)).unwrap()
}

/// The example in the guide.
fn example() -> serde_json::Value {
    let text = validator::example(GUIDE);
    serde_json::from_str::<ClassifyReport>(&text).expect("the example is a report");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_schema_accepts_written_documents() {
    let mut documents = [one(), starts(), many(), hostile(), empty()]
        .map(|judged| document(&judged))
        .to_vec();
    documents.push(example());
    for verdict in validate(SCHEMA, &documents).unwrap_or_default() {
        assert_eq!(verdict, "ok");
    }
}

#[test]
fn documents_round_trip() {
    for judged in [one(), many(), empty()] {
        let text = classify_json(&judged.report);
        assert!(text.starts_with("{\n  \"schema\": \"preheat.classify/2\",\n"));
        assert!(text.ends_with("}\n"));
        let back: ClassifyReport = serde_json::from_str(&text).unwrap();
        assert_eq!(back, judged.report);
    }
}

#[test]
fn the_schema_rejects_other_documents() {
    let good = document(&many());
    let with = |pointer: &str, value: serde_json::Value| {
        let mut document = good.clone();
        *document.pointer_mut(pointer).expect(pointer) = value;
        document
    };
    let mut unknown = good.clone();
    unknown["surprise"] = 1.into();
    let mut without = good.clone();
    without.as_object_mut().unwrap().remove("unread");
    let documents = [
        unknown,
        without,
        with("/schema", "preheat.classify/3".into()),
        with("/benchmarks/0/class", "odd".into()),
        with("/benchmarks/0/format", "excel".into()),
        with("/benchmarks/0/measures", "seconds".into()),
        with("/benchmarks/0/consistency", "maybe".into()),
        with("/benchmarks/0/starts/0/first", 0.into()),
        with("/benchmarks/0/starts/0/steady_start", (-1).into()),
        with("/benchmarks/0/starts", serde_json::json!([])),
        with("/benchmarks/0/discard", 1.5.into()),
        with("/benchmarks/0/ratio/estimate", serde_json::Value::Null),
        with("/unread/0/why", 1.into()),
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
fn the_schema_and_the_guide_list_every_format() {
    let schema: serde_json::Value = serde_json::from_str(&validator::read(SCHEMA)).unwrap();
    let known: Vec<serde_json::Value> = (Format::ALL.iter())
        .map(|format| serde_json::to_value(format).unwrap())
        .collect();
    assert_eq!(schema["$defs"]["format"]["enum"], serde_json::json!(known));
    let guide = validator::read(GUIDE);
    for format in known {
        let name = format.as_str().unwrap();
        assert!(guide.contains(&format!("| `{name}` |")), "{name}");
    }
}

#[test]
fn the_guide_lists_every_field_of_the_schema() {
    validator::guide_names_every_field(GUIDE, SCHEMA);
}
