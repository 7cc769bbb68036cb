//! `preheat lab` on the embedded device, as a user runs it.

mod support;

use std::fs;

use preheat_model::lab::{ExperimentId, LabReport, Series, names};
use support::{Directory, preheat, run};

#[test]
fn every_experiment_runs_on_the_cpu_device() {
    let directory = Directory::new();
    let (json, html) = (directory.join("lab.json"), directory.join("lab.html"));
    let said = run(preheat()
        .args([
            "lab",
            "--device",
            "cpu",
            "--framework",
            "none",
            "--quick",
            "--starts",
            "2",
        ])
        .arg("--json")
        .arg(&json)
        .arg("--html")
        .arg(&html));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let report = support::report(&json);
    assert_eq!(report.schema, "preheat.lab/2");
    for id in ExperimentId::ALL {
        let experiment = report.experiments.iter().find(|e| e.id == id);
        let experiment = experiment.unwrap_or_else(|| panic!("{} is missing", id.id()));
        assert!(
            !experiment.series.is_empty(),
            "{} measured nothing",
            id.id()
        );
        assert_eq!(experiment.failures, [], "{}", id.id());
    }
    for word in [
        "init", "alloc", "transfer", "train", "infer", "launch", "Claims", "Notable",
    ] {
        assert!(said.out.contains(word), "{word} is not in the table");
    }
    assert_eq!(report.claims.len(), 20);
    assert_eq!(report.floors.len(), 1);
    let page = fs::read_to_string(&html).expect("the page is there");
    assert!(page.len() < 2 << 20);
    assert!(page.contains("<svg"));
    // Piped output is plain.
    assert!(!said.out.contains('\x1b'));
    assert_eq!(said.err, "");
}

#[test]
fn reports_a_slow_first_training_iteration() {
    let directory = Directory::new();
    let json = directory.join("lab.json");
    let said = run(preheat()
        .args([
            "lab",
            "train",
            "--device",
            "cpu",
            "--framework",
            "none",
            "--quick",
            "--starts",
            "6",
        ])
        .arg("--json")
        .arg(&json));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let report = support::report(&json);
    let series = report.experiments.iter().flat_map(|e| &e.series);
    let series: Vec<&Series> = series.filter(|s| s.name == names::ITERATION).collect();
    let variants: Vec<&str> = series.iter().map(|s| s.variant.as_str()).collect();
    assert_eq!(
        variants,
        [names::MODEL_FROM_NOTHING, names::MODEL_ON_DEVICE]
    );
    for series in &series {
        // Compiling the kernels takes milliseconds, an iteration microseconds.
        assert!(series.ratio.expect("there is a ratio").value > 5.0);
        assert_eq!(series.iterations.len(), 6);
        assert!(series.first_start.is_some());
    }
    // The claim uses the same numbers as the table.
    let claim = report.claims.iter().find(|claim| claim.id == 10);
    let evidence = &claim.expect("all are judged").evidence[0];
    assert_eq!(Some(evidence.value), series[1].ratio);
    let basis: Vec<&str> = evidence.basis.iter().map(|b| b.variant.as_str()).collect();
    assert_eq!(basis, [names::MODEL_ON_DEVICE, names::MODEL_FROM_NOTHING]);
}

#[test]
fn the_list_needs_no_device() {
    let said = run(preheat().args(["lab", "--list"]));
    assert_eq!(said.code, Some(0));
    for id in ExperimentId::ALL {
        assert!(said.out.contains(id.id()));
    }
    assert!(said.out.contains("20"));
}

#[test]
fn json_on_standard_output_is_nothing_but_json() {
    let said = run(preheat().args([
        "lab",
        "init",
        "--device",
        "cpu",
        "--framework",
        "none",
        "--quick",
        "--starts",
        "1",
        "--json",
        "-",
    ]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let report: LabReport = serde_json::from_str(&said.out).expect("standard output is JSON");
    assert_eq!(report.experiments.len(), 1);
    assert!(
        said.err.contains("init"),
        "the table goes to standard error"
    );
}

#[test]
fn the_requested_width_is_respected() {
    for width in ["60", "80", "120"] {
        let said = run(preheat()
            .args([
                "lab",
                "init",
                "train",
                "--device",
                "cpu",
                "--framework",
                "none",
                "--quick",
                "--starts",
                "2",
            ])
            .env("COLUMNS", width));
        let widest = said
            .out
            .lines()
            .map(|line| line.chars().count())
            .max()
            .unwrap_or(0);
        assert!(
            widest <= width.parse().expect("a number"),
            "{widest} > {width}\n{}",
            said.out
        );
    }
}
