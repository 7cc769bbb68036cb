//! `preheat report` with saved results.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use preheat_model::lab::Verdict;
use preheat_model::run::RunReport;
use support::{Directory, preheat, run};

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/results")
        .join(name)
}

/// Analyzes the H200 measurements with the current code; the results must not change. After
/// an intended change of the statistics, update the stored files with
/// `preheat report FILE --json FILE --html PAGE`.
#[test]
fn h200_results_are_unchanged() {
    let directory = Directory::new();
    let again = directory.join("again.json");
    let file = kept("h200/lab-no-bytecode.json");
    let said = run(preheat().arg("report").arg(&file).arg("--json").arg(&again));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let (mut before, after) = (support::report(&file), support::report(&again));
    // The kept result has version 1, in which the estimates are called medians.
    assert_eq!(before.schema, "preheat.lab/1");
    preheat_model::lab::SCHEMA.clone_into(&mut before.schema);
    assert!(
        before == after,
        "the kept result is not what this version finds"
    );
    assert_eq!(said.out, format!("wrote {}\n", again.display()));
    let said = run(preheat().arg("report").arg(&file));
    for word in ["NVIDIA H200", "torch", "jax", "floor"] {
        assert!(said.out.contains(word), "{word} is not shown");
    }
}

#[test]
fn the_h200_confirms_what_started_the_project() {
    let report = support::report(&kept("h200/lab-no-bytecode.json"));
    let verdict = |id: u8| {
        report
            .claims
            .iter()
            .find(|claim| claim.id == id)
            .expect("all are judged")
            .verdict
    };
    for id in (1..=12).chain(14..=19) {
        assert_eq!(verdict(id), Verdict::Holds, "claim {id}");
    }
    // It holds with JAX alone.
    assert_eq!(verdict(20), Verdict::Inconclusive);
    // A dynamic graph is recorded in every iteration, a traced one is not.
    assert_eq!(verdict(13), Verdict::Depends);
    assert!(
        report
            .floors
            .iter()
            .any(|floor| floor.device == "cuda" && floor.seconds < 1.0)
    );
}

#[test]
fn the_document_of_a_run_is_shown_unchanged() {
    let directory = Directory::new();
    let (again, page) = (directory.join("again.json"), directory.join("page.html"));
    let file = kept("h200/resnet50-train.json");
    let said = run(preheat()
        .arg("report")
        .arg(&file)
        .arg("--json")
        .arg(&again)
        .arg("--html")
        .arg(&page)
        .arg("--csv")
        .arg(directory.join("starts.csv")));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.out.lines().count(), 3, "{}", said.out);
    let shown = run(preheat().arg("report").arg(&file));
    assert!(
        shown.out.contains("time to first   5.33 s"),
        "{}",
        shown.out
    );
    let read = |path: &Path| -> RunReport {
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    };
    // The kept document has version 1; it is written with the current one.
    let mut before = read(&file);
    assert_eq!(before.schema, "preheat.run/1");
    preheat_model::run::RUN_SCHEMA.clone_into(&mut before.schema);
    assert_eq!(before, read(&again));
    // A trace needs the recording.
    let trace = directory.join("trace");
    let said = run(preheat()
        .arg("report")
        .arg(&file)
        .arg("--perfetto")
        .arg(&trace));
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("--perfetto needs a recording"));
    // A time that is out of range is rejected, and the error names the start.
    let text = fs::read_to_string(&file).unwrap();
    let broken = text.replacen("\"time_to_first\": 4.", "\"time_to_first\": -4.", 1);
    assert_ne!(text, broken);
    fs::write(&again, broken).unwrap();
    let said = run(preheat().arg("report").arg(&again));
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("json is invalid: start "), "{}", said.err);
}

#[test]
fn rejects_files_that_are_not_results() {
    let directory = Directory::new();
    let file = directory.join("lab.json");
    let long = format!(
        "{{\"schema\": \"preheat.lab/1\", \"claims\": {}",
        "[".repeat(100_000)
    );
    for (text, words) in [
        ("", "not JSON, or is truncated"),
        ("[1, 2", "not JSON, or is truncated"),
        (long.as_str(), "not JSON, or is truncated"),
        (
            "[1, 2]",
            "not a `preheat run`, `lab`, `compare` or `start --measure` result",
        ),
        (
            "{\"schema\": \"preheat.other/1\"}",
            "not a `preheat run`, `lab`, `compare` or `start --measure` result",
        ),
        (
            "{\"schema\": \"preheat.run/1\"}",
            "does not conform to preheat.run/1",
        ),
        (
            "{\"schema\": \"preheat.run/3\"}",
            "a newer preheat is needed",
        ),
        (
            "{\"schema\": \"preheat.lab/3\"}",
            "a newer preheat is needed",
        ),
        (
            "{\"schema\": \"preheat.lab/1\"}",
            "does not conform to preheat.lab/1",
        ),
    ] {
        fs::write(&file, text).expect("it is written");
        let said = run(preheat().arg("report").arg(&file));
        assert_eq!(said.code, Some(2), "{text:.40}: {}", said.err);
        assert!(
            said.err.contains(words) && said.err.contains("lab.json"),
            "{text:.40}: {}",
            said.err
        );
    }
    let said = run(preheat().args(["report", "/nowhere/lab.json"]));
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("wrote with --json"), "{}", said.err);
}

#[test]
fn times_out_of_range_are_rejected() {
    let directory = Directory::new();
    let file = directory.join("lab.json");
    let mut report = support::report(&kept("h200/lab-no-bytecode.json"));
    report.experiments[1].series[0].iterations[0][0] = -1.0;
    fs::write(
        &file,
        serde_json::to_string(&report).expect("it serializes"),
    )
    .expect("it is written");
    let said = run(preheat().arg("report").arg(&file));
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(
        said.err.contains("-1 s") && said.err.contains("alloc on cuda"),
        "{}",
        said.err
    );
}

#[test]
fn a_truncated_result_never_panics() {
    let directory = Directory::new();
    let file = directory.join("lab.json");
    let whole = fs::read(kept("h200/lab-no-bytecode.json")).expect("the file is there");
    for share in [1, 3, 50, 90, 99] {
        fs::write(&file, &whole[..whole.len() * share / 100]).expect("it is written");
        let said = run(preheat().arg("report").arg(&file));
        assert_eq!(said.code, Some(2));
        assert!(!said.err.contains("panicked"), "{}", said.err);
    }
}
