//! Made-up measurements of remedies.

use preheat_model::Machine;
use preheat_model::measurement::{
    Decision, MEASUREMENT_SCHEMA, MeasurementReport, RemedyResult, SkippedRemedy, VariantResult,
};
use preheat_model::run::{Cause, CauseSeconds, Temperature};
use preheat_model::stats::Estimate;

fn about(value: f64, by: f64) -> Estimate {
    Estimate {
        value,
        low: Some(value - by),
        high: Some(value + by),
    }
}

fn variant(remedies: &[&str], against: Temperature, time: f64, plain: f64) -> VariantResult {
    VariantResult {
        remedies: remedies.iter().map(|id| (*id).to_owned()).collect(),
        against,
        recording: format!("preheat-start-train/{}", remedies.join("+")),
        time_to_first: Some(about(time, time / 40.0)),
        causes: causes(time, remedies),
        values: vec![time * 0.98, time, time * 1.01, time * 1.02, time],
        saved: (!remedies.is_empty()).then(|| about(plain - time, plain / 30.0)),
        times: (!remedies.is_empty()).then(|| about(plain / time, plain / time / 30.0)),
    }
}

fn causes(time: f64, remedies: &[&str]) -> Vec<CauseSeconds> {
    let imports = match remedies.contains(&"warm-parent") {
        true => 0.0,
        false => time * 0.8,
    };
    [
        (Cause::PythonImports, imports),
        (Cause::DriverInit, time * 0.1),
        (Cause::OwnCpu, time * 0.9 - imports),
    ]
    .map(|(cause, seconds)| CauseSeconds { cause, seconds })
    .to_vec()
}

fn result(
    id: &str,
    predicted: Option<f64>,
    alone: f64,
    beside: Option<f64>,
    kept: Decision,
) -> RemedyResult {
    RemedyResult {
        id: id.to_owned(),
        predicted,
        alone: Some(about(alone, 0.02)),
        with_others: beside.map(|beside| about(beside, 0.02)),
        holds: None,
        variables: Vec::new(),
        kept,
    }
}

/// A training script on a GPU: some remedies help, others do not.
pub fn training() -> MeasurementReport {
    use Temperature::{Disk, Process};
    MeasurementReport {
        schema: MEASUREMENT_SCHEMA.to_owned(),
        preheat: "0.1.0".to_owned(),
        created: "2026-01-02T03:04:05Z".to_owned(),
        machine: Some(Machine {
            os: "Linux".to_owned(),
            kernel: "6.8".to_owned(),
            cpu: "a processor".to_owned(),
            cores: 16,
            memory: 1 << 37,
        }),
        command: ["python", "train.py", "--epochs", "3"]
            .map(str::to_owned)
            .to_vec(),
        iteration: "steps of SGD".to_owned(),
        variants: vec![
            variant(&[], Process, 8.21, 8.21),
            variant(&["warm-parent"], Process, 0.931, 8.21),
            variant(&["overlapped-init"], Process, 7.93, 8.21),
            variant(&["loader-threads"], Process, 8.25, 8.21),
            variant(
                &["warm-parent", "overlapped-init", "loader-threads"],
                Process,
                0.742,
                8.21,
            ),
            variant(&["overlapped-init", "loader-threads"], Process, 7.94, 8.21),
            variant(&["warm-parent", "loader-threads"], Process, 0.938, 8.21),
            variant(&["warm-parent", "overlapped-init"], Process, 0.738, 8.21),
            variant(&[], Disk, 13.4, 13.4),
            variant(&["prefetch"], Disk, 11.9, 13.4),
        ],
        remedies: vec![
            result("warm-parent", Some(7.12), 7.28, Some(7.2), Decision::Alone),
            result(
                "overlapped-init",
                Some(0.31),
                0.28,
                Some(0.196),
                Decision::WithOthers,
            ),
            result(
                "loader-threads",
                None,
                -0.04,
                Some(-0.004),
                Decision::Unclear,
            ),
            result("prefetch", Some(2.3), 1.5, None, Decision::Alone),
        ],
        skipped: vec![SkippedRemedy {
            id: "kept-caches".to_owned(),
            why: "the program was not seen to use a compile cache".to_owned(),
        }],
        kept: ["warm-parent", "overlapped-init", "prefetch"]
            .map(str::to_owned)
            .to_vec(),
        interrupted: false,
        notes: Vec::new(),
    }
}

/// A small program for which no remedy helps.
pub fn nothing() -> MeasurementReport {
    MeasurementReport {
        command: vec!["./serve".to_owned()],
        iteration: String::new(),
        variants: vec![
            variant(&[], Temperature::Process, 0.012, 0.012),
            variant(&["warm-parent"], Temperature::Process, 0.0121, 0.012),
        ],
        remedies: vec![RemedyResult {
            alone: Some(about(-0.0001, 0.001)),
            ..result("warm-parent", None, 0.0, None, Decision::Unclear)
        }],
        skipped: Vec::new(),
        kept: Vec::new(),
        notes: vec![
            "No iterations were found: times are those to the end of the program.".to_owned(),
        ],
        ..training()
    }
}

/// A report with names that try to inject markup.
pub fn hostile() -> MeasurementReport {
    let mut report = training();
    report.command = vec!["\u{1b}[31mred".to_owned(), "x".repeat(500)];
    report.remedies[0].id = "y".repeat(90);
    report.skipped[0].why = "\u{7}bell ".repeat(40);
    report.variants[0].time_to_first = None;
    report
}
