//! Validates the JSON document of the doctor against its schema.

mod validator;

use preheat_model::doctor::DoctorReport;
use preheat_report::doctor_json;
use serde_json::Value;
use validator::validate;

const SCHEMA: &str = "../../docs/schema/preheat.doctor-1.schema.json";
const GUIDE: &str = "../../docs/doctor-json.md";

/// The example in the guide, after reading and writing it.
fn example() -> Value {
    let report: DoctorReport =
        serde_json::from_str(&validator::example(GUIDE)).expect("the example is a report");
    serde_json::from_str(&doctor_json(&report)).unwrap()
}

/// The example with other values, by pointer.
fn with(changes: &[(&str, Value)]) -> Value {
    let mut document = example();
    for (pointer, value) in changes {
        *document.pointer_mut(pointer).expect(pointer) = value.clone();
    }
    document
}

#[test]
fn the_schema_accepts_written_documents() {
    let documents = [
        example(),
        serde_json::from_str(&validator::example(GUIDE)).unwrap(),
        with(&[("/python", Value::Null), ("/advice", vec!["a"].into())]),
        with(&[("/python/bytecode", Value::Null)]),
        with(&[
            ("/nvrtc/version", Value::Null),
            ("/nvrtc/missing", "libnvrtc was not found".into()),
        ]),
    ];
    for verdict in validate(SCHEMA, &documents).unwrap_or_default() {
        assert_eq!(verdict, "ok");
    }
}

#[test]
fn the_schema_rejects_other_documents() {
    let mut unknown = example();
    unknown["surprise"] = 1.into();
    let mut inner = example();
    inner["python"]["bytecode"]["surprise"] = 1.into();
    let mut without = example();
    without.as_object_mut().unwrap().remove("nvrtc");
    let documents = [
        unknown,
        inner,
        without,
        with(&[("/schema", "preheat.doctor/2".into())]),
        with(&[("/machine/cores", 0.into())]),
        with(&[("/auto", "gpu".into())]),
        with(&[("/devices", Value::Array(Vec::new()))]),
        with(&[("/devices/0/kind", "rocm".into())]),
        // A device is found or missing, never both or neither.
        with(&[("/devices/0/missing", "not installed".into())]),
        with(&[("/devices/1/missing", Value::Null)]),
        with(&[("/nvrtc/version", Value::Null)]),
        with(&[("/devices/0/device/facts/0", vec!["one"].into())]),
        with(&[("/python/bytecode/missing", (-1).into())]),
        with(&[("/frameworks/0/name", "mxnet".into())]),
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
