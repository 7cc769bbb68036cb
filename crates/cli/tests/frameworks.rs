//! The experiments in real frameworks; each is skipped with a message if it is not
//! installed.

mod support;

use std::path::Path;

use preheat_model::lab::{LabReport, SampleKind, Series, names};
use support::{Directory, preheat, python_with, run};

fn lab(framework: &str, python: &Path, experiments: &[&str]) -> LabReport {
    let directory = Directory::new();
    let json = directory.join("lab.json");
    let said = run(preheat()
        .arg("lab")
        .args(experiments)
        .args([
            "--device",
            "cpu",
            "--quick",
            "--starts",
            "1",
            "--framework",
            framework,
        ])
        .arg("--python")
        .arg(python)
        .arg("--json")
        .arg(&json));
    assert_eq!(said.code, Some(0), "{}", said.err);
    support::report(&json)
}

/// The framework ran these experiments without a failure, and measured this series.
fn measured(report: &LabReport, framework: &str, experiment: &str, series: &str) {
    let found = report
        .experiments
        .iter()
        .find(|e| e.framework.as_deref() == Some(framework) && e.id.id() == experiment)
        .unwrap_or_else(|| panic!("{framework} did not run {experiment}"));
    assert_eq!(found.failures, []);
    assert!(
        found.series.iter().any(|s| s.name == series),
        "{framework} {experiment} has no {series:?}"
    );
}

/// The framework repeated something in that variant.
fn has_variant(report: &LabReport, framework: &str, experiment: &str, variant: &str) {
    let mut experiments = report.experiments.iter();
    let found = experiments
        .find(|e| e.framework.as_deref() == Some(framework) && e.id.id() == experiment)
        .unwrap_or_else(|| panic!("{framework} did not run {experiment}"));
    let repeated = |s: &Series| s.variant == variant && s.kind == SampleKind::Iterations;
    assert!(
        found.series.iter().any(repeated),
        "{framework} {experiment} has no variant {variant:?}"
    );
}

#[test]
fn pytorch() {
    let Some(python) = python_with("torch") else {
        return;
    };
    let report = lab("torch", &python, &[]);
    for (experiment, series) in [
        ("alloc", names::FROM_NOTHING),
        ("alloc", names::RANDN_FROM_NOTHING),
        ("train", names::ITERATION),
        ("train", names::BUILD_OPTIMIZER),
        ("train-initialized", names::INITIALIZE),
        ("train", names::MOVE_MODEL),
        ("train-no-optimizer", names::FORWARD_RECORDING),
        ("train-no-optimizer", names::FORWARD_BACKWARD),
        ("infer", names::NEW_WEIGHTS),
        ("infer", names::FRESH_INPUT),
        ("infer", names::RESIDENT_INPUT),
        ("infer", names::HOST_MEMORY),
    ] {
        measured(&report, "torch", experiment, series);
    }
    let variants = [
        ("train", names::MODEL_FROM_NOTHING),
        ("train", names::MODEL_ON_DEVICE),
        ("infer", names::UNET),
        ("infer", names::MLP_ON_DEVICE),
    ];
    for (experiment, variant) in variants {
        has_variant(&report, "torch", experiment, variant);
    }
}

#[test]
fn tensorflow() {
    let Some(python) = python_with("tensorflow") else {
        return;
    };
    let report = lab("tensorflow", &python, &["train", "infer"]);
    measured(&report, "tensorflow", "train", names::ITERATION);
    measured(&report, "tensorflow", "infer", names::FRESH_INPUT);
    measured(&report, "tensorflow", "infer", names::RECORDINGS);
    measured(&report, "tensorflow", "infer", names::NEW_WEIGHTS);
    for variant in [names::MODEL_FROM_NOTHING, names::MODEL_ON_DEVICE] {
        has_variant(&report, "tensorflow", "train", variant);
    }
    for variant in [names::UNET, names::MLP_ON_DEVICE] {
        has_variant(&report, "tensorflow", "infer", variant);
    }
}

#[test]
fn jax() {
    let Some(python) = python_with("jax") else {
        return;
    };
    let report = lab("jax", &python, &["infer"]);
    measured(&report, "jax", "infer", names::FRESH_INPUT);
    measured(&report, "jax", "infer", names::RECORDINGS);
    measured(&report, "jax", "infer", names::NEW_WEIGHTS);
    for variant in [names::UNET, names::MLP_ON_DEVICE] {
        has_variant(&report, "jax", "infer", variant);
    }
}
