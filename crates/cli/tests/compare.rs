//! `preheat compare` with real programs: one with a planted import against one without, from
//! recordings and live; commands that fail, do not exist, or are interrupted.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use preheat_model::compare::{Change, CompareReport, Verdict};
use preheat_model::run::{Cause, Manifest};

mod support;
use support::{
    Directory, Said, compare, compared, preheat, python, require, run, signal, wait_for,
};

/// A module that uses half a second of CPU time, imported by another module.
fn planted(directory: &Directory) -> Option<String> {
    let python = require("python", python())?;
    let heavy = "import time\nuntil = time.process_time() + 0.5\nwhile time.process_time() < until:\n    pass\n";
    fs::write(directory.join("heavy.py"), heavy).unwrap();
    fs::write(directory.join("helpers.py"), "import heavy\n").unwrap();
    let program = "import json\nprint('done')\n";
    fs::write(directory.join("base.py"), program).unwrap();
    let program = format!("import helpers\n{program}");
    fs::write(directory.join("new.py"), program).unwrap();
    Some(python.to_str().expect("its path is text").to_owned())
}

/// Asserts that the report names the planted import and fails.
fn names_the_planted(said: &Said, report: &CompareReport) {
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    let headline = &report.headline;
    assert!(
        headline.text.starts_with('+') && headline.text.ends_with(": Python imports, heavy is new"),
        "{}",
        headline.text
    );
    assert_eq!(headline.cause, Some(Cause::PythonImports));
    assert_eq!(headline.items, ["heavy"]);
    assert_eq!(report.verdict, Verdict::Slower);
    assert!(report.regressed);
    assert!(said.out.contains("heavy is new"), "{}", said.out);
    let imports = &report.causes[0];
    assert_eq!(imports.verdict, Verdict::Slower);
    assert_eq!(imports.items[0].change, Change::New);
    let detail = &imports.items[0].detail;
    assert!(detail.contains("helpers"), "{detail}");
}

#[test]
fn a_planted_import_is_named_from_recordings_and_documents() {
    let directory = Directory::new();
    let Some(python) = planted(&directory) else {
        return;
    };
    for name in ["base", "new"] {
        let said = run(preheat()
            .current_dir(directory.path())
            .args(["run", "--starts", "6", "--output", name])
            .args(["--json", &format!("{name}.json"), "--", &python])
            .arg(format!("{name}.py")));
        assert_eq!(said.code, Some(0), "{}", said.err);
    }
    let said = compare(&directory, &["base", "new", "--html", "compare.html"]);
    names_the_planted(&said, &compared(&directory));
    let page = fs::read_to_string(directory.join("compare.html")).unwrap();
    assert!(page.contains("heavy"));

    // From two documents, and from a recording and a document.
    for (base, new) in [("base.json", "new.json"), ("base", "new.json")] {
        let said = compare(&directory, &[base, new]);
        let report = compared(&directory);
        assert_eq!(said.code, Some(1), "{}", said.err);
        assert_eq!(report.headline.items, ["heavy"], "{}", report.headline.text);
    }
    // In the other direction, it is an improvement.
    let said = compare(&directory, &["new", "base"]);
    assert_eq!(said.code, Some(0), "{}", said.out);
    let report = compared(&directory);
    assert!(
        report
            .headline
            .text
            .ends_with(": Python imports, heavy is gone")
    );
    assert_eq!(report.verdict, Verdict::Faster);
    // An allowed change is not a regression.
    let said = compare(&directory, &["base", "new", "--min-change", "1min"]);
    assert_eq!(said.code, Some(0), "{}", said.out);
    let said = compare(&directory, &["base", "new", "--gate", "steady"]);
    assert_eq!(said.code, Some(0), "{}", said.out);
}

#[test]
fn a_planted_import_is_named_live_with_interleaved_starts() {
    let directory = Directory::new();
    let Some(python) = planted(&directory) else {
        return;
    };
    let said = compare(
        &directory,
        &[
            "--starts",
            "6",
            &format!("{python} base.py"),
            &format!("{python} 'new.py'"),
        ],
    );
    let report = compared(&directory);
    names_the_planted(&said, &report);
    assert!(!said.out.contains("done"), "their output is not shown");
    assert!(
        said.err.contains("preheat-compare/compare.html"),
        "{}",
        said.err
    );
    assert_eq!((report.base.starts, report.base.counted_starts), (6, 5));

    let starts = |side: &str| {
        let place = directory.join("preheat-compare").join(side);
        assert!(place.join("report.html").exists());
        let text = fs::read(place.join("recording.json")).expect("a normal recording");
        let manifest: Manifest = serde_json::from_slice(&text).expect("a whole one");
        manifest.starts
    };
    let (base, new) = (starts("base"), starts("new"));
    assert_eq!((base.len(), new.len()), (6, 6));
    for (at, (of_base, of_new)) in base.iter().zip(&new).enumerate() {
        let end = of_base.end.max(of_new.end);
        for later in [base.get(at + 1), new.get(at + 1)].into_iter().flatten() {
            assert!(later.exec >= end, "a round is over before the next");
        }
        assert!(of_base.end <= of_new.exec || of_new.end <= of_base.exec);
    }
    let base_first = base.iter().zip(&new).filter(|(b, n)| b.exec < n.exec);
    assert!(
        (1..6).contains(&base_first.count()),
        "in an order of chance"
    );
    assert!(
        !directory
            .join("preheat-compare/base/start-1/stderr.txt")
            .exists()
    );
}

#[test]
fn the_same_program_twice_is_not_a_regression() {
    let directory = Directory::new();
    let Some(python) = planted(&directory) else {
        return;
    };
    let command = format!("{python} base.py");
    let said = compare(
        &directory,
        &["--starts", "6", "--output", "both", &command, &command],
    );
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let report = compared(&directory);
    assert!(!report.regressed);
    assert_eq!(report.base.source, "both/base");
}

#[test]
fn a_failing_command_ends_the_comparison_with_its_output() {
    let directory = Directory::new();
    let said = compare(
        &directory,
        &["true", "sh -c 'echo it is broken here >&2; exit 7'"],
    );
    assert_eq!(said.code, Some(125), "{}", said.err);
    assert!(
        said.err.contains("new: start 1 exited with code 7"),
        "{}",
        said.err
    );
    assert!(said.err.contains("\n  it is broken here"), "{}", said.err);
    assert!(said.err.contains("too few starts"), "{}", said.err);
    assert_eq!(said.out, "");

    // A later failure still compares everything measured before.
    let script = "sh -c 'echo >> count; test $(wc -l < count) -lt 6'";
    let said = compare(&directory, &["--starts", "9", "true", script]);
    assert_eq!(said.code, Some(125), "{}", said.err);
    assert!(
        said.err.contains("new: start 6 exited with code 1"),
        "{}",
        said.err
    );
    let report = compared(&directory);
    assert!(report.new.counted_starts >= 3);
    // Each manifest has its own reason: one command failed, the other did not.
    let said_of = |side: &str, words: &str| {
        let of_side = |note: &&String| note.starts_with(side) && note.contains(words);
        assert!(
            report.notes.iter().any(|note| of_side(&note)),
            "{:?}",
            report.notes
        );
    };
    said_of(
        "new: 6 of 9",
        "starts were made: the command failed with exit code 1",
    );
    said_of(
        "base: ",
        " of 9 starts were made: the other command failed with exit code 1",
    );
}

#[test]
fn a_command_that_cannot_run_leaves_nothing() {
    let directory = Directory::new();
    fs::write(directory.join("plain.txt"), "text").unwrap();
    for (base, new, code, part) in [
        (
            "true",
            "there-is-no-such-program x",
            127,
            "there-is-no-such-program",
        ),
        (
            "there-is-no-such-program",
            "true",
            127,
            "is not a recording or saved result either",
        ),
        ("./plain.txt a", "true", 126, "plain.txt"),
    ] {
        let said = compare(&directory, &[base, new]);
        assert_eq!(said.code, Some(code), "{}", said.err);
        assert!(said.err.contains(part), "{}", said.err);
        assert!(!directory.join("preheat-compare").exists());
    }
}

#[test]
fn names_the_recording_made_before_a_command_vanished() {
    let directory = Directory::new();
    for (name, other) in [("one", "two"), ("two", "one")] {
        // Whichever starts first removes the other.
        let path = directory.join(name);
        fs::write(&path, format!("#!/bin/sh\nrm -f {other}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let said = compare(&directory, &["--output", "both", "./one", "./two"]);
    assert_eq!(said.code, Some(127), "{}", said.err);
    let side = match directory.join("both/base").exists() {
        true => "both/base",
        false => "both/new",
    };
    let expected = format!("the recording so far is in {side}");
    assert!(said.err.contains(&expected), "{}", said.err);
    let manifest = fs::read_to_string(directory.join(side).join("recording.json")).unwrap();
    assert!(
        manifest.contains("the next start of the other command could not be made"),
        "{manifest}"
    );
    assert_eq!(fs::read_dir(directory.join("both")).unwrap().count(), 1);
}

#[test]
fn an_interrupt_ends_it() {
    let directory = Directory::new();
    let slow = "sh -c 'touch began; exec sleep 600'";
    let mut child = preheat()
        .current_dir(directory.path())
        .args(["compare", slow, slow])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    wait_for(&directory.join("began"), &mut child);
    assert!(signal("-INT", &child));
    let output = child.wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("too few starts"), "{err}");
}

#[test]
fn documents_conform_to_the_schema() {
    let Some(python) = support::python_with("jsonschema") else {
        return;
    };
    let directory = Directory::new();
    let said = compare(&directory, &["--starts", "4", "true", "true"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let schema = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/schema/preheat.compare-2.schema.json");
    let validated = run(Command::new(python)
        .args(["-c", "import json, sys, jsonschema\nschema, document = (json.load(open(path)) for path in sys.argv[1:])\njsonschema.Draft202012Validator(schema).validate(document)"])
        .arg(schema)
        .arg(directory.join("compare.json")));
    assert_eq!(validated.code, Some(0), "{}", validated.err);
}

#[test]
fn a_warm_up_without_output_is_not_a_regression() {
    let training = "
import torch
model = torch.nn.Linear(512, 512)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def step():
    optimizer.zero_grad()
    model(torch.ones(512, 512)).sum().backward()
    optimizer.step()
";
    let counting = "
def step():
    return sum(range(100_000))
";
    for (python, program, known) in support::pythons_with_torch()
        .map(|python| (Some(python), training, true))
        .chain([(require("python", python()), counting, false)])
    {
        let Some(python) = python else { continue };
        let directory = Directory::new();
        for (name, begin) in [("base", 0), ("new", -5)] {
            let text = format!(
                "{program}for n in range({begin}, 8):\n    step()\n    if n >= 0:\n        print('step', flush=True)\n"
            );
            fs::write(directory.join(&format!("{name}.py")), text).unwrap();
            let said = run(preheat()
                .current_dir(directory.path())
                .args(["run", "--starts", "4", "--iterations", "lines:^step"])
                .args(["--output", name, "--quiet", "--"])
                .arg(&python)
                .arg(format!("{name}.py")));
            assert_eq!(said.code, Some(0), "{}", said.err);
        }
        let said = compare(&directory, &["base", "new"]);
        let report = compared(&directory);
        let gated = |id: &str| {
            let quantity = report.quantities.iter().find(|one| one.id.id() == id);
            quantity.map(|quantity| quantity.gated)
        };
        assert_eq!(gated("first"), Some(known), "{}", said.out);
        assert_eq!(gated("time-to-first"), Some(!known), "{}", said.out);
        let has = |words: &str| report.notes.iter().any(|note| note.contains(words));
        assert_eq!(has("before the first line: 0 in base, 5 in new"), known);
        assert_eq!(has("shows where the first iteration begins"), !known);
        if !known {
            let first = report.quantities.iter().find(|one| one.id.id() == "first");
            assert_eq!(first.map(|one| one.verdict), Some(Verdict::Inconclusive));
        }
    }
}
