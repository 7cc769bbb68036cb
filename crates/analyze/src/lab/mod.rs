//! Analyses the measurements of `preheat lab`.
//!
//! The data flow: [`Measured`] (raw, from the `lab` crate) → [`analyze`] → [`LabReport`]
//! (shown by every renderer and stored as JSON).

mod claims;
mod data;
mod notable;

use crate::stats;
use data::{SeriesData, later_starts, values, values_by_start};

pub use claims::CLAIMS;
pub(crate) use preheat_model::lab::{
    Basis, Claim, Evidence, Experiment, ExperimentId, Failure, FirstStart, Floor, LabReport,
    MAX_STARTS, Measured, Outcome, SCHEMA, Sample, SampleKind, Series, Settings, Setup, Skipped,
    Subject, Verdict, names, starts_that_decide,
};

/// Analyses the measurements; `version` is preheat's version.
///
/// Returns `None` if no device was measured, which a plan does not allow.
pub fn analyze(measured: &Measured, version: &str) -> Option<LabReport> {
    let (device, others) = measured.devices.split_first()?;
    let mut report = LabReport {
        schema: SCHEMA.to_owned(),
        preheat: version.to_owned(),
        created: measured.created.clone(),
        command: measured.command.clone(),
        settings: measured.settings.clone(),
        machine: measured.machine.clone(),
        device: device.clone(),
        other_devices: others.to_vec(),
        frameworks: measured.frameworks.clone(),
        floors: Vec::new(),
        experiments: experiments(measured),
        claims: claims::judge(measured),
        notable: Vec::new(),
    };
    report.floors = floors(&report.experiments);
    report.notable = notable::notable(&report);
    Some(report)
}

/// Groups the setups of one experiment on one subject.
fn experiments(measured: &Measured) -> Vec<Experiment> {
    let mut groups: Vec<(ExperimentId, &Subject, Vec<&Setup>)> = Vec::new();
    for setup in measured
        .setups
        .iter()
        .filter(|setup| !setup.starts.is_empty())
    {
        let group = groups
            .iter_mut()
            .find(|(id, subject, _)| *id == setup.experiment && **subject == setup.subject);
        match group {
            Some((_, _, setups)) => setups.push(setup),
            None => groups.push((setup.experiment, &setup.subject, vec![setup])),
        }
    }
    groups
        .into_iter()
        .map(|(id, subject, setups)| Experiment {
            id,
            title: id.title().to_owned(),
            device: subject.device.clone(),
            framework: subject.framework.clone(),
            starts: setups
                .iter()
                .map(|setup| setup.starts.len())
                .max()
                .unwrap_or(0),
            series: setups
                .iter()
                .flat_map(|setup| series_of(setup, measured.settings.seed))
                .collect(),
            skipped: skipped(&setups),
            failures: setups.iter().flat_map(|setup| failures(setup)).collect(),
        })
        .collect()
}

fn series_of(setup: &Setup, seed: u64) -> Vec<Series> {
    let mut keys: Vec<(&str, Option<u64>, SampleKind)> = Vec::new();
    for sample in setup.starts.iter().flat_map(|start| &start.samples) {
        let key = (sample.name.as_str(), sample.size, sample.kind);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.into_iter()
        .filter_map(|(name, size, kind)| {
            let all = values_by_start(setup, name, size);
            // One list per start; empty where a start did not reach this series.
            let mut iterations = vec![Vec::new(); setup.starts.len()];
            for (index, values) in &all {
                iterations[*index].clone_from(values);
            }
            // The first start is reported separately only if there are others.
            let first_start = all
                .first()
                .filter(|(index, _)| *index == 0 && all.len() > 1)
                .cloned();
            let later = SeriesData::new(later_starts(all), seed)?;
            let starts = values(&later.starts);
            let mut series = Series {
                name: name.to_owned(),
                variant: setup.variant.clone(),
                kind,
                size,
                first: 0.0,
                steady: None,
                ratio: None,
                class: None,
                consistency: None,
                warmup: None,
                excess: None,
                first_start: None,
                iterations,
            };
            match kind {
                SampleKind::Iterations => {
                    let summary = stats::summarize(&starts, seed)?;
                    // The same estimate as in the claims: of starts that settle, or of all
                    // where few do.
                    series.first = SeriesData::typical(&later.firsts());
                    if later.settles() {
                        series.steady = Some(SeriesData::typical(&later.steadies()));
                        series.ratio = later.first_to_steady();
                    }
                    series.class = Some(summary.class);
                    series.consistency = Some(summary.consistency);
                    series.warmup = summary.warmup;
                    series.excess = summary.excess;
                    series.first_start = first_start.as_ref().and_then(|(_, values)| {
                        let start = stats::summarize_start(values)?;
                        Some(FirstStart {
                            first: start.first,
                            steady: start.steady,
                        })
                    });
                }
                SampleKind::Stage => {
                    series.first = stats::geometric_mean(&starts)?;
                    series.first_start = first_start.as_ref().map(|(_, values)| FirstStart {
                        first: values[0],
                        steady: None,
                    });
                }
                SampleKind::Memory | SampleKind::Count => {
                    let changes: Vec<(f64, f64)> = starts
                        .iter()
                        .filter_map(|values| first_and_later(kind, values))
                        .collect();
                    series.first = stats::median(&changes.iter().map(|c| c.0).collect::<Vec<_>>())?;
                    series.steady = stats::median(&changes.iter().map(|c| c.1).collect::<Vec<_>>());
                    series.first_start = first_start
                        .as_ref()
                        .and_then(|(_, values)| first_and_later(kind, values))
                        .map(|(first, later)| FirstStart {
                            first,
                            steady: Some(later),
                        });
                }
            }
            // JSON cannot represent other numbers.
            series.first.is_finite().then_some(series)
        })
        .collect()
}

/// The increase (or count) of the first iteration, and of a typical later one.
fn first_and_later(kind: SampleKind, values: &[f64]) -> Option<(f64, f64)> {
    let steps: Vec<f64> = match kind {
        SampleKind::Memory => values.windows(2).map(|pair| pair[1] - pair[0]).collect(),
        _ => values.to_vec(),
    };
    let (first, later) = steps.split_first()?;
    Some((*first, stats::median(later).unwrap_or(0.0)))
}

fn skipped(setups: &[&Setup]) -> Vec<Skipped> {
    let mut all: Vec<Skipped> = Vec::new();
    for skipped in setups
        .iter()
        .flat_map(|setup| &setup.starts)
        .flat_map(|start| &start.skipped)
    {
        if !all.iter().any(|known| known.what == skipped.what) {
            all.push(skipped.clone());
        }
    }
    all
}

fn failures(setup: &Setup) -> Vec<Failure> {
    setup
        .starts
        .iter()
        .enumerate()
        .filter_map(|(index, start)| match &start.outcome {
            Outcome::Completed => None,
            Outcome::Failed(what) => Some(Failure {
                variant: setup.variant.clone(),
                start: index,
                what: what.clone(),
            }),
        })
        .collect()
}

/// The time that a native program with precompiled code needs: everything up to the end of
/// the first launch except compilation.
fn floors(experiments: &[Experiment]) -> Vec<Floor> {
    experiments
        .iter()
        .filter(|experiment| {
            experiment.id == ExperimentId::Launch && experiment.framework.is_none()
        })
        .filter_map(|experiment| {
            let parts: Vec<(String, f64)> = experiment
                .series
                .iter()
                .filter(|series| {
                    series.kind == SampleKind::Stage && series.variant == names::CACHE_EMPTY
                })
                .filter(|series| !names::COMPILATION.contains(&series.name.as_str()))
                .map(|series| (series.name.clone(), series.first))
                .collect();
            let complete = parts.iter().any(|(name, _)| name == names::FIRST_LAUNCH);
            complete.then(|| Floor {
                device: experiment.device.clone(),
                seconds: parts.iter().map(|(_, seconds)| seconds).sum(),
                parts,
            })
        })
        .collect()
}
