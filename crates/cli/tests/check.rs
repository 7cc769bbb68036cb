//! `preheat check` on recordings of real programs: some made on an H200, one made here.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use preheat_model::check::{CheckReport, Verdict};
use support::{Directory, Said, preheat, python, python_with, recorded, require, run, unpack};

/// A directory with a recording of `examples/linear.py`, one start on an H200.
fn with_linear() -> Directory {
    let directory = Directory::new();
    unpack(&directory, "linear");
    directory
}

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name)
}

/// Six starts of the same program on an H200, written by `preheat run --json`.
fn six() -> String {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    tests.join("recordings/linear.json").display().to_string()
}

fn check(directory: &Directory, arguments: &[&str]) -> Said {
    run(preheat()
        .current_dir(directory.path())
        .env_remove("GITHUB_STEP_SUMMARY")
        .arg("check")
        .args(arguments))
}

fn budget(directory: &Directory, text: &str) {
    fs::write(directory.join("preheat.toml"), text).unwrap();
}

fn report(directory: &Directory, file: &str) -> CheckReport {
    serde_json::from_str(&fs::read_to_string(directory.join(file)).unwrap()).unwrap()
}

#[test]
fn every_limit_can_be_kept_and_exceeded_on_an_h200() {
    let directory = with_linear();
    for (limit, kept, exceeded) in [
        ("time_to_first", "\"13 s\"", "\"10 s\""),
        ("first", "\"350 ms\"", "\"200 ms\""),
        ("steady", "\"1 ms\"", "\"600 us\""),
        ("first_ratio", "400", "50"),
        ("warmup", "10", "0"),
        ("excess", "\"400 ms\"", "\"50 ms\""),
        ("device_memory", "\"1 GiB\"", "\"500 MB\""),
        ("host_memory", "\"1.5 GiB\"", "\"1 GB\""),
        ("cause.\"python imports\"", "\"11 s\"", "\"1.5 s\""),
        ("cause.\"driver init\"", "\"300 ms\"", "\"100 ms\""),
        ("cause.\"graph capture\"", "\"1 us\"", ""),
    ] {
        budget(&directory, &format!("# Budget.\n{limit} = {kept}\n"));
        let said = check(&directory, &["linear"]);
        assert_eq!(said.code, Some(0), "{limit}: {}{}", said.out, said.err);
        assert!(said.out.contains("✓ The limit is met."), "{}", said.out);
        if exceeded.is_empty() {
            continue;
        }
        budget(&directory, &format!("# Budget.\n{limit} = {exceeded}\n"));
        // One start has no interval, so nothing is conclusive.
        let flags = ["linear", "--fail-on-inconclusive", "--json", "check.json"];
        let said = check(&directory, &flags);
        assert_eq!(said.code, Some(3), "{limit}: {}{}", said.out, said.err);
        assert!(
            (said.out).contains("? No limit is conclusively exceeded, 1 is inconclusive."),
            "{}",
            said.out
        );
        let found = report(&directory, "check.json");
        let verdict = (found.verdict, found.lines.len());
        assert_eq!(verdict, (Verdict::Inconclusive, 1));
        assert_eq!(found.lines[0].place.map(|place| place.line), Some(2));
    }
}

#[test]
fn exit_codes_distinguish_the_verdicts() {
    let directory = Directory::new();
    let six = six();
    // 4.34 s (4.21–4.47).
    for (limit, flags, code, mark) in [
        ("5s", &[][..], 0, "✓ time to first"),
        ("4.3s", &[], 0, "? time to first"),
        ("4.3s", &["--fail-on-inconclusive"], 3, "? time to first"),
        ("4s", &["--fail-on-inconclusive"], 1, "✗ time to first"),
    ] {
        let mut arguments = vec![six.as_str(), "--time-to-first", limit];
        arguments.extend(flags);
        let said = check(&directory, &arguments);
        assert_eq!(said.code, Some(code), "{limit}: {}", said.out);
        assert!(said.out.contains(mark), "{}", said.out);
    }
    let cold = docs("results/h200/resnet50-cold.json")
        .display()
        .to_string();
    budget(
        &directory,
        "[temperature.caches]\ntime_to_first = \"60 s\"\n",
    );
    let said = check(&directory, &[&cold]);
    assert_eq!(said.code, Some(1), "{}", said.out);
    assert!(
        said.out.contains("not measured: no start was recorded"),
        "{}",
        said.out
    );
    let said = check(&directory, &[&cold, "--allow-missing"]);
    assert_eq!(said.code, Some(0), "{}", said.out);
}

#[test]
fn a_real_program_meets_the_budget_derived_from_it() {
    let Some(python) = require("python", python()) else {
        return;
    };
    let directory = Directory::new();
    let script = directory.script(
        "train.py",
        "import json, decimal\nfor step in range(8):\n    sum(range(20000))\n    print('step', step, flush=True)\n",
    );
    let flags = ["--starts", "4", "--iterations", "lines:^step"];
    recorded(
        &directory,
        &flags,
        [python.as_os_str(), script.as_os_str()],
        &[],
    );
    let said = check(&directory, &["--init", "recording"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = fs::read_to_string(directory.join("preheat.toml")).unwrap();
    for key in [
        "starts = 4",
        "time_to_first = \"",
        "first = \"",
        "host_memory = \"",
    ] {
        assert!(text.contains(key), "{key} in\n{text}");
    }
    for kept in ["recording", "run.json"] {
        let said = check(&directory, &[kept, "--json", "check.json"]);
        assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
        let found = report(&directory, "check.json");
        assert_eq!((found.name.as_str(), found.starts), ("train", 4));
        assert!(found.lines.iter().all(|line| line.verdict == Verdict::Pass));
        assert_eq!(found.lines[0].starts, 3, "{found:?}");
    }
    // It is overwritten only with --force.
    let said = check(&directory, &["--init", "recording"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.err.contains("already exists; use --force"),
        "{}",
        said.err
    );
    let said = check(
        &directory,
        &["--init", "recording", "--force", "--headroom", "300%"],
    );
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_ne!(
        fs::read_to_string(directory.join("preheat.toml")).unwrap(),
        text
    );
    let said = check(&directory, &["--init", "recording", "--budget", "-"]);
    assert!(said.out.starts_with("# Upper limits "), "{}", said.out);
    // A flag overrides the file; nothing starts within a microsecond.
    let said = check(&directory, &["recording", "--time-to-first", "1us"]);
    assert_eq!(said.code, Some(1), "{}", said.out);
    let said = check(&directory, &["recording", "--starts", "9"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("--starts 9"), "{}", said.err);
}

#[test]
fn a_program_that_fails_is_never_within_its_budget() {
    let directory = Directory::new();
    let script = directory.script("fails", "#!/bin/sh\nexit 7\n");
    let said = run(preheat()
        .current_dir(directory.path())
        .args(["run", "--starts", "2", "--output", "recording", "--"])
        .arg(script));
    assert_eq!(said.code, Some(7), "{}", said.err);
    let said = check(&directory, &["recording", "--time-to-first", "1h"]);
    assert_eq!(said.code, Some(1), "{}", said.out);
    assert!(
        said.out.contains("2 of 2 starts ended with exit code 7"),
        "{}",
        said.out
    );
    let said = check(
        &directory,
        &["recording", "--time-to-first", "1h", "--exit-code", "7"],
    );
    assert_eq!(said.code, Some(0), "{}", said.out);
    let said = check(&directory, &["--init", "recording"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let said = check(&directory, &["recording"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
}

#[test]
fn every_result_is_written_to_its_file() {
    let directory = Directory::new();
    let six = six();
    let common = [six.as_str(), "--time-to-first", "4s", "--steady", "0.8ms"];
    let files = [
        ("--json", "check.json", "\"schema\": \"preheat.check/2\""),
        (
            "--junit",
            "junit.xml",
            "<failure type=\"fail\" message=\"4.34 s against",
        ),
        ("--markdown", "check.md", "| ❌ | time to first | 4 s |"),
        (
            "--bmf",
            "bmf.json",
            "\"linear: time to first\": {\n    \"latency\": {",
        ),
        (
            "--benchmark-action",
            "bench.json",
            "\"name\": \"linear: time to first\"",
        ),
    ];
    let mut arguments = common.to_vec();
    arguments.extend(files.iter().flat_map(|(flag, file, _)| [*flag, *file]));
    let said = check(&directory, &arguments);
    assert_eq!(said.code, Some(1), "{}", said.err);
    for (_, file, words) in files {
        let text = fs::read_to_string(directory.join(file)).unwrap();
        assert!(text.contains(words), "{file}:\n{text}");
    }
    // A document on standard output is the only output there.
    for (flag, file, _) in files {
        let mut arguments = common.to_vec();
        arguments.extend([flag, "-"]);
        let said = check(&directory, &arguments);
        assert_eq!(said.out, fs::read_to_string(directory.join(file)).unwrap());
        assert!(
            said.err
                .contains("1 of 2 limits is not met, 1 is inconclusive")
        );
    }
    let mut arguments = common.to_vec();
    arguments.extend(["--name", "nightly", "--bmf", "-"]);
    assert!(
        check(&directory, &arguments)
            .out
            .contains("\"nightly: steady iteration\"")
    );
}

#[test]
fn github_gets_annotations_and_a_summary() {
    let directory = Directory::new();
    budget(&directory, "time_to_first = \"4 s\"\nsteady = \"800 us\"\n");
    let summary = directory.join("summary.md");
    fs::write(&summary, "before\n").unwrap();
    let said = run(preheat()
        .current_dir(directory.path())
        .env("GITHUB_STEP_SUMMARY", &summary)
        .args(["check", &six(), "--github"]));
    assert_eq!(said.code, Some(1), "{}", said.err);
    let commands: Vec<&str> = said
        .out
        .lines()
        .filter(|line| line.starts_with("::"))
        .collect();
    assert_eq!(commands.len(), 2, "{}", said.out);
    assert!(commands[0].starts_with(
        "::error file=preheat.toml,line=1,col=1,title=linear%3A time to first::4.34 s"
    ));
    assert!(commands[1].starts_with("::warning file=preheat.toml,line=2,col=1,title="));
    let text = fs::read_to_string(&summary).unwrap();
    assert!(
        text.starts_with("before\n### ❌ preheat check: linear\n"),
        "{text}"
    );
    // Without the flag there are no annotations, and a summary that cannot be written does
    // not fail the check.
    let said = run(preheat()
        .current_dir(directory.path())
        .env("GITHUB_STEP_SUMMARY", &summary)
        .env("GITHUB_ACTIONS", "true")
        .args(["check", &six()]));
    assert!(!said.out.contains("::error"));
    assert_eq!(fs::read_to_string(&summary).unwrap(), text);
    let said = run(preheat()
        .current_dir(directory.path())
        .env("GITHUB_STEP_SUMMARY", directory.join("no/such/file"))
        .args([
            "check",
            &six(),
            "--github",
            "--steady",
            "1s",
            "--time-to-first",
            "12s",
        ]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.err.contains("could not write"), "{}", said.err);
}

#[test]
fn documents_conform_to_the_schema() {
    let Some(python) = python_with("jsonschema") else {
        return;
    };
    let directory = with_linear();
    let limits = [
        "--time-to-first",
        "6s",
        "--cause",
        "idle=1us",
        "--warmup",
        "0",
    ];
    // One start is too few to fail.
    for (recording, code) in [("linear".to_owned(), 0), (six(), 1)] {
        let mut arguments = vec![recording.as_str(), "--json", "check.json"];
        arguments.extend(limits);
        assert_eq!(check(&directory, &arguments).code, Some(code));
        let validate = "
import json, sys, jsonschema
schema, document = (json.load(open(path)) for path in sys.argv[1:])
jsonschema.Draft202012Validator(schema).validate(document)
";
        let validated = run(Command::new(&python)
            .args(["-c", validate])
            .arg(docs("schema/preheat.check-2.schema.json"))
            .arg(directory.join("check.json")));
        assert_eq!(validated.code, Some(0), "{}", validated.err);
    }
}
