//! The documents that the program writes conform to the published schemas.
//!
//! The schemas are written by hand: they have limits and explanations for readers in other
//! languages, and a type that changes by accident must not change its schema, as with `schemars`.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Directory, preheat, python_with, run};

const VALIDATE: &str = "
import json, sys, jsonschema
schema, document = (json.load(open(path)) for path in sys.argv[1:])
jsonschema.Draft202012Validator.check_schema(schema)
jsonschema.Draft202012Validator(schema).validate(document)
";

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name)
}

#[test]
fn real_results_keep_to_the_schema() {
    let Some(python) = python_with("jsonschema") else {
        return;
    };
    let directory = Directory::new();
    let fresh = directory.join("lab.json");
    // Starts that fail leave gaps, which the schema must allow: in training all but the
    // first fail, elsewhere the first does.
    let fake = directory.script(
        "python",
        r#"#!/bin/sh
if [ "$1" = -c ]; then echo '{"version": "3.99.0", "frameworks": [["torch", "9.9"]]}'; exit 0; fi
output=$(printf '%s' "$2" | sed 's/.*"output":"\([^"]*\)".*/\1/')
case "$2" in *'"train"'*) good=first ;; *) good=later ;; esac
if [ -e "$0.$good" ]; then now=later; else now=first; fi
touch "$0.$good"
if [ $now = $good ]; then
echo '{"line":"sample","name":"import","kind":"stage","values":[1.5]}' > "$output"
echo '{"line":"sample","name":"iteration","kind":"iterations","values":[1.0,0.1,0.1,0.1,0.1]}' >> "$output"
fi
"#,
    );
    let said = run(preheat()
        .args([
            "lab",
            "--device",
            "cpu",
            "--framework",
            "torch",
            "--quick",
            "--starts",
            "2",
        ])
        .arg("--python")
        .arg(fake)
        .arg("--json")
        .arg(&fresh));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let again = run(preheat().arg("report").arg(&fresh));
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert!(!again.out.contains("takes –"), "{}", again.out);
    // A kept result has the version of its time.
    for (document, version) in [(fresh, 2), (docs("results/h200/lab-no-bytecode.json"), 1)] {
        assert_conforms(&python, &format!("lab-{version}"), &document);
    }
}

#[test]
fn the_findings_on_this_machine_keep_to_the_schema() {
    let Some(python) = python_with("jsonschema") else {
        return;
    };
    let directory = Directory::new();
    let with_python = [python.as_os_str(), "/nowhere/python3".as_ref()];
    for (inspected, name) in with_python.into_iter().zip(["a.json", "b.json"]) {
        let document = directory.join(name);
        let said = run(preheat()
            .args(["doctor", "--python"])
            .arg(inspected)
            .arg("--json")
            .arg(&document));
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert_conforms(&python, "doctor-1", &document);
    }
}

/// Asserts that a document conforms to a schema, such as `lab-2`.
fn assert_conforms(python: &Path, schema: &str, document: &Path) {
    let validated = run(Command::new(python)
        .args(["-c", VALIDATE])
        .arg(docs(&format!("schema/preheat.{schema}.schema.json")))
        .arg(document));
    let last = validated.err.lines().rev().take(30).collect::<Vec<_>>();
    assert_eq!(validated.code, Some(0), "{}: {last:#?}", document.display());
}
