//! Made-up measurements of remedies.

use preheat_model::Machine;
use preheat_model::RemedyId::{
    self, KeptCaches, LoaderThreads, OverlappedInit, Prefetch, WarmParent,
};
use preheat_model::measurement::{
    ConfigurationResult, Decision, MEASUREMENT_SCHEMA, MeasurementReport, RemedyResult,
    SkippedRemedy,
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

fn configuration(
    remedies: &[RemedyId],
    against: Temperature,
    time: f64,
    plain: f64,
) -> ConfigurationResult {
    let ids: Vec<&str> = remedies.iter().map(|id| id.as_str()).collect();
    ConfigurationResult {
        remedies: remedies.to_vec(),
        against,
        recording: format!("preheat-start-train/{}", ids.join("+")),
        time_to_first: Some(about(time, time / 40.0)),
        causes: causes(time, remedies),
        values: vec![time * 0.98, time, time * 1.01, time * 1.02, time],
        saved: (!remedies.is_empty()).then(|| about(plain - time, plain / 30.0)),
        times: (!remedies.is_empty()).then(|| about(plain / time, plain / time / 30.0)),
    }
}

fn causes(time: f64, remedies: &[RemedyId]) -> Vec<CauseSeconds> {
    let imports = match remedies.contains(&WarmParent) {
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
    id: RemedyId,
    predicted: Option<f64>,
    alone: f64,
    beside: Option<f64>,
    kept: Decision,
) -> RemedyResult {
    RemedyResult {
        id,
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
        configurations: vec![
            configuration(&[], Process, 8.21, 8.21),
            configuration(&[WarmParent], Process, 0.931, 8.21),
            configuration(&[OverlappedInit], Process, 7.93, 8.21),
            configuration(&[LoaderThreads], Process, 8.25, 8.21),
            configuration(
                &[WarmParent, OverlappedInit, LoaderThreads],
                Process,
                0.742,
                8.21,
            ),
            configuration(&[OverlappedInit, LoaderThreads], Process, 7.94, 8.21),
            configuration(&[WarmParent, LoaderThreads], Process, 0.938, 8.21),
            configuration(&[WarmParent, OverlappedInit], Process, 0.738, 8.21),
            configuration(&[], Disk, 13.4, 13.4),
            configuration(&[Prefetch], Disk, 11.9, 13.4),
        ],
        remedies: vec![
            result(WarmParent, Some(7.12), 7.28, Some(7.2), Decision::Alone),
            result(
                OverlappedInit,
                Some(0.31),
                0.28,
                Some(0.196),
                Decision::WithOthers,
            ),
            result(LoaderThreads, None, -0.04, Some(-0.004), Decision::Unclear),
            result(Prefetch, Some(2.3), 1.5, None, Decision::Alone),
        ],
        skipped: vec![SkippedRemedy {
            id: KeptCaches,
            why: "the program was not seen to use a compile cache".to_owned(),
        }],
        kept: vec![WarmParent, OverlappedInit, Prefetch],
        interrupted: false,
        notes: Vec::new(),
    }
}

/// A small program for which no remedy helps.
pub fn nothing() -> MeasurementReport {
    MeasurementReport {
        command: vec!["./serve".to_owned()],
        iteration: String::new(),
        configurations: vec![
            configuration(&[], Temperature::Process, 0.012, 0.012),
            configuration(&[WarmParent], Temperature::Process, 0.0121, 0.012),
        ],
        remedies: vec![RemedyResult {
            alone: Some(about(-0.0001, 0.001)),
            ..result(WarmParent, None, 0.0, None, Decision::Unclear)
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
    report.skipped[0].why = "\u{7}bell ".repeat(40);
    report.configurations[0].time_to_first = None;
    report
}
