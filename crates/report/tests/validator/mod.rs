//! Validates documents against their schema with an independent validator, the Python package
//! `jsonschema` in `PREHEAT_TEST_VENV`, and checks that the guide covers the schema.

#![allow(dead_code, reason = "each test uses its own part")]

#[path = "../../../../tests/missing.rs"]
pub mod missing;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Reads documents, one per line, and prints for each whether it is valid.
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

/// The result for each document; `None` if the validator is not installed.
pub fn validate(schema: &str, documents: &[serde_json::Value]) -> Option<Vec<String>> {
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
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join(schema);
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

/// Reads a file by its path relative to this crate.
pub fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The example document in a guide.
pub fn example(guide: &str) -> String {
    let guide = read(guide);
    let text = guide.split("```json").nth(1).unwrap();
    text.split("```").next().unwrap().to_owned()
}

/// Asserts that the guide names every field of the schema.
pub fn guide_names_every_field(guide: &str, schema: &str) {
    let text = read(guide);
    let schema: serde_json::Value = serde_json::from_str(&read(schema)).unwrap();
    let mut objects = vec![&schema];
    objects.extend(schema["$defs"].as_object().unwrap().values());
    let fields: Vec<&String> = objects
        .iter()
        .filter_map(|object| object.get("properties")?.as_object())
        .flat_map(|properties| properties.keys())
        .collect();
    assert!(fields.len() > 20);
    for field in fields {
        assert!(
            text.contains(&format!("`{field}`")),
            "{guide} does not name {field}"
        );
    }
}
