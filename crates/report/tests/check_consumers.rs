//! Validates the exports of a check with their consumers or published schemas.
//!
//! The Jenkins schema of JUnit XML is part of a PyPI package, which ./test unpacks; Ant's is
//! described in `check/ant.xsd`. The schemas of the metric format and the benchmark action
//! are a few lines each and written here.

mod common;
mod validator;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::check;
use preheat_report::{check_benchmark_action, check_bmf, check_junit};
use serde_json::{Value, json};

/// Validates a document; prints the counts in its attributes and the actual counts.
const VALIDATE: &str = "
import sys
from lxml import etree
schema, document = map(etree.parse, sys.argv[1:])
etree.XMLSchema(schema).assertValid(document)
suite = document.getroot()[0]
print(*[suite.get(name) for name in ('tests', 'failures', 'skipped')])
print(*[len(suite.findall('.//' + name)) for name in ('testcase', 'failure', 'skipped')])
";

/// The Python of the tests, if it has this module.
fn python_with(module: &str) -> Option<(PathBuf, PathBuf)> {
    let venv = PathBuf::from(std::env::var_os("PREHEAT_TEST_VENV").unwrap_or_default());
    let python = venv.join("bin/python");
    let has = Command::new(&python)
        .args(["-c", &format!("import {module}")])
        .output()
        .is_ok_and(|asked| asked.status.success());
    if !has {
        validator::missing::missing(module, "PREHEAT_TEST_VENV names no Python that has it");
    }
    has.then_some((python, venv))
}

#[test]
fn junit_is_valid_for_ant_and_for_jenkins() {
    let Some((python, venv)) = python_with("lxml") else {
        return;
    };
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check/ant.xsd");
    let mut schemas = vec![own];
    let published = venv.join("junit/junit-10.xsd");
    if published.exists() {
        schemas.push(published);
    } else {
        validator::missing::missing("junit_xsd", "Jenkins' schema is not in PREHEAT_TEST_VENV");
    }
    let directory = std::env::temp_dir().join(format!("preheat-junit-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    for (at, report) in check::all().iter().enumerate() {
        let file = directory.join(format!("{at}.xml"));
        std::fs::write(&file, check_junit(report)).unwrap();
        for schema in &schemas {
            let asked = Command::new(&python)
                .args(["-c", VALIDATE])
                .args([schema, &file])
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&asked.stdout);
            let errors = String::from_utf8_lossy(&asked.stderr);
            assert!(asked.status.success(), "{}: {errors}", schema.display());
            let lines: Vec<&str> = said.lines().collect();
            assert_eq!(lines[0], lines[1], "the counts are right");
        }
    }
    let _ = std::fs::remove_dir_all(&directory);
}

/// Writes a schema to a file for the validator.
fn validate(name: &str, schema: &Value, documents: &[Value]) {
    let file = std::env::temp_dir().join(format!("preheat-{name}-{}.json", std::process::id()));
    std::fs::write(&file, schema.to_string()).unwrap();
    let verdicts = validator::validate(file.to_str().unwrap(), documents).unwrap_or_default();
    let _ = std::fs::remove_file(&file);
    for verdict in verdicts {
        assert_eq!(verdict, "ok");
    }
}

#[test]
fn bencher_accepts_the_metrics() {
    // https://bencher.dev/docs/reference/bencher-metric-format/, with the limits of Bencher.
    let schema = json!({
        "type": "object",
        "minProperties": 1,
        "propertyNames": { "minLength": 1, "maxLength": 1024 },
        "additionalProperties": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": { "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 64 },
            "additionalProperties": {
                "type": "object",
                "required": ["value"],
                "additionalProperties": false,
                "properties": {
                    "value": { "type": "number" },
                    "lower_value": { "type": "number" },
                    "upper_value": { "type": "number" }
                }
            }
        }
    });
    let documents: Vec<Value> = (check::all().iter())
        .map(|report| serde_json::from_str(&check_bmf(report)).unwrap())
        .collect();
    validate("bmf", &schema, &documents);
    let first = &documents[0]["train: time to first"]["latency"];
    let nanoseconds = first["value"].as_f64().unwrap();
    assert!((nanoseconds / 8.96e9 - 1.0).abs() < 0.001, "{first}");
    assert!(first["lower_value"].as_f64().unwrap() < nanoseconds);
}

#[test]
fn the_benchmark_action_accepts_the_entries() {
    // The type that the action reads: BenchmarkResult in its src/extract.ts.
    let schema = json!({
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "required": ["name", "unit", "value"],
            "additionalProperties": false,
            "properties": {
                "name": { "type": "string", "minLength": 1 },
                "unit": { "type": "string", "minLength": 1 },
                "value": { "type": "number" },
                "range": { "type": "string" },
                "extra": { "type": "string" }
            }
        }
    });
    let documents: Vec<Value> = (check::all().iter())
        .map(|report| serde_json::from_str(&check_benchmark_action(report)).unwrap())
        .collect();
    validate("action", &schema, &documents);
    // The history is tracked by name, so names must be unique.
    for document in &documents {
        let mut names: Vec<&str> = (document.as_array().unwrap().iter())
            .filter_map(|entry| entry["name"].as_str())
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}

#[test]
fn the_workflows_in_the_guide_and_the_action_are_valid() {
    let Some((python, _)) = python_with("check_jsonschema") else {
        return;
    };
    let guide = validator::read("../../docs/check.md");
    let blocks = guide.split("```yaml\n").skip(1);
    let workflows: Vec<&str> = blocks
        .filter_map(|block| block.split("```").next())
        .collect();
    let action = validator::read("../../action.yml");
    let file = std::env::temp_dir().join(format!("preheat-workflow-{}.yml", std::process::id()));
    let documents = (workflows.iter().map(|workflow| ("workflows", *workflow)))
        .chain([("actions", action.as_str())]);
    for (schema, text) in documents {
        std::fs::write(&file, text).unwrap();
        let asked = Command::new(&python)
            .args(["-m", "check_jsonschema", "--builtin-schema"])
            .arg(format!("vendor.github-{schema}"))
            .arg(&file)
            .output()
            .unwrap();
        let _ = std::fs::remove_file(&file);
        let said = String::from_utf8_lossy(&asked.stdout);
        assert!(asked.status.success(), "{said}\n{text}");
    }
    for words in [
        concat!("@v", env!("CARGO_PKG_VERSION")),
        "preheat run --starts 5",
        "preheat check rec --github --junit",
    ] {
        assert!(
            workflows.iter().any(|workflow| workflow.contains(words)),
            "{words}"
        );
    }
}
