//! The JSON document against its schema, by an independent validator: the Python
//! package `jsonschema` in the environment that `PREHEAT_TEST_VENV` names.

mod common;
#[path = "../../../tests/missing.rs"]
mod missing;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use preheat_analyze::lab::LabReport;
use preheat_report::lab_json;

const SCHEMA: &str = "../../docs/schema/preheat.lab-1.schema.json";
const GUIDE: &str = "../../docs/lab-json.md";

/// Reads documents, one a line, and says for each whether the schema takes it.
const VALIDATE: &str = "
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
validator = jsonschema.Draft202012Validator(schema, format_checker=checker)
for line in sys.stdin:
    error = jsonschema.exceptions.best_match(validator.iter_errors(json.loads(line)))
    print('ok' if error is None else 'refused: ' + error.json_path + ': ' + error.message[:300])
";

/// What the schema says of each document; none if there is no validator here.
fn validate(documents: &[serde_json::Value]) -> Option<Vec<String>> {
    let python = std::env::var_os("PREHEAT_TEST_VENV")
        .map(|venv| Path::new(&venv).join("bin/python"))
        .filter(|python| python.exists());
    let Some(python) = python else {
        missing::missing(
            "jsonschema",
            "PREHEAT_TEST_VENV names no Python environment",
        );
        return None;
    };
    if !Command::new(&python)
        .args(["-c", "import jsonschema"])
        .status()
        .unwrap()
        .success()
    {
        missing::missing(
            "jsonschema",
            "the Python package jsonschema is not installed",
        );
        return None;
    }
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join(SCHEMA);
    let mut child = Command::new(&python)
        .args(["-c", VALIDATE])
        .arg(schema)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: String = documents
        .iter()
        .map(|document| format!("{document}\n"))
        .collect();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(
        String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect(),
    )
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The document that the guide shows.
fn example() -> serde_json::Value {
    let guide = read(GUIDE);
    let text = guide
        .split("```json")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    serde_json::from_str::<LabReport>(text).expect("the example is a report");
    serde_json::from_str(text).unwrap()
}

fn document(report: &LabReport) -> serde_json::Value {
    serde_json::from_str(&lab_json(report)).unwrap()
}

#[test]
fn the_schema_takes_what_is_written() {
    let mut early = common::report();
    early.settings.ended_early = Some("interrupted".to_owned());
    let reports = [common::report(), common::empty(), common::hostile(), early];
    let mut documents: Vec<_> = reports.iter().map(document).collect();
    documents.push(example());
    for verdict in validate(&documents).unwrap_or_default() {
        assert_eq!(verdict, "ok");
    }
}

#[test]
fn the_schema_refuses_what_is_not_a_report() {
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
        with("/schema", "preheat.lab/2".into()),
        with("/created", "yesterday".into()),
        with("/experiments/0/id", "unknown".into()),
        with("/experiments/0/series/0/kind", "guess".into()),
        with("/experiments/0/series/0/first", "1 ms".into()),
        with("/experiments/1/series/1/class", "odd".into()),
        with("/claims/0/verdict", "perhaps".into()),
        with("/claims/0/id", 21.into()),
        with("/machine/cores", 0.into()),
    ];
    for (index, verdict) in validate(&documents).unwrap_or_default().iter().enumerate() {
        assert!(
            verdict.starts_with("refused"),
            "document {index}: {verdict}"
        );
    }
}

#[test]
fn the_guide_names_every_field_of_the_schema() {
    let guide = read(GUIDE);
    let schema: serde_json::Value = serde_json::from_str(&read(SCHEMA)).unwrap();
    let mut objects = vec![&schema];
    objects.extend(schema["$defs"].as_object().unwrap().values());
    let fields: Vec<&String> = objects
        .iter()
        .filter_map(|object| object.get("properties")?.as_object())
        .flat_map(|properties| properties.keys())
        .collect();
    assert!(fields.len() > 50);
    for field in fields {
        assert!(
            guide.contains(&format!("`{field}`")),
            "docs/lab-json.md does not name {field}"
        );
    }
}
