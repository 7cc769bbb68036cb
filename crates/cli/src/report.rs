//! `preheat report`: a kept result, analysed and shown again.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result as Anyhow, bail};
use preheat_analyze::lab::{
    Experiment, LabReport, MOST_STARTS, Measured, SCHEMA, SampleKind, analyze,
};

use crate::args::ReportArguments;
use crate::exit::Usage;
use crate::recording;
use crate::show::Targets;

pub fn run(arguments: &ReportArguments) -> Anyhow<ExitCode> {
    if recording::is_one(&arguments.file) {
        return recording::report(arguments);
    }
    for (flag, given) in [
        ("--csv", arguments.export.csv.is_some()),
        ("--perfetto", arguments.export.perfetto.is_some()),
        ("--iterations", arguments.iterations.is_some()),
    ] {
        if given {
            return Err(Usage(format!(
                "{flag} is for recordings of `preheat run`, and {} is none",
                arguments.file.display()
            ))
            .into());
        }
    }
    let kept = read(&arguments.file)?;
    let targets = Targets::open(&arguments.show, None)?;
    // From the raw values: this version's statistics, not those of the version that
    // measured. Its name stays, since it says what was run.
    let Some(report) = analyze(&Measured::from_report(&kept), &kept.preheat) else {
        bail!("{} names no device", arguments.file.display());
    };
    targets.show_lab(&report)?;
    Ok(ExitCode::SUCCESS)
}

/// The document, or a sentence that says what is wrong with it and where.
fn read(path: &Path) -> Anyhow<LabReport> {
    let place = path.display();
    let text = if path == Path::new("-") {
        io::read_to_string(io::stdin())
    } else {
        fs::read_to_string(path)
    };
    let text = text.map_err(|why| {
        Usage(format!(
            "{place} cannot be read: {why}; name a recording of `preheat run`, or a file that `preheat lab --json` wrote"
        ))
    })?;
    let document: serde_json::Value = serde_json::from_str(&text)
        .map_err(|why| Usage(format!("{place} is not JSON, or was cut off: {why}")))?;
    match document.get("schema").and_then(|schema| schema.as_str()) {
        Some(SCHEMA) => {}
        Some(other) if other.starts_with("preheat.lab/") => {
            return Err(Usage(format!(
                "{place} is {other}, and this preheat {} reads {SCHEMA}; a newer preheat reads it",
                env!("CARGO_PKG_VERSION")
            ))
            .into());
        }
        _ => {
            return Err(Usage(format!(
                "{place} is no result of `preheat lab`: it does not begin with \"schema\": \"{SCHEMA}\""
            ))
            .into());
        }
    }
    let report: LabReport = serde_json::from_value(document).map_err(|why| {
        Usage(format!(
            "{place} says {SCHEMA} and does not keep to it: {why}"
        ))
    })?;
    for experiment in &report.experiments {
        check(experiment).map_err(|what| {
            Usage(format!(
                "{place} has {what} in {} on {}, which cannot be",
                experiment.id.id(),
                experiment.subject()
            ))
        })?;
    }
    Ok(report)
}

/// Whether a run can have measured this; else what it cannot have measured.
fn check(experiment: &Experiment) -> Result<(), String> {
    if let Some(failure) = experiment.failures.iter().find(|f| f.start >= MOST_STARTS) {
        return Err(format!("a failure of start {}", failure.start));
    }
    for series in &experiment.series {
        if series.iterations.len() > MOST_STARTS {
            return Err(format!("{} starts", series.iterations.len()));
        }
        let (possible, unit) = match series.kind {
            SampleKind::Iterations | SampleKind::Stage => (1e-12..1e9, "s"),
            SampleKind::Memory | SampleKind::Count => (0.0..1e18, "bytes or counts"),
        };
        let mut values = series.iterations.iter().flatten();
        if let Some(value) = values.find(|value| !possible.contains(*value)) {
            return Err(format!("{value} {unit} of \"{}\"", series.name));
        }
    }
    Ok(())
}
