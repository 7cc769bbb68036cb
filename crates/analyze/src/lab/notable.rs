//! What is worth knowing about this machine, in a few sentences.

use super::{Experiment, ExperimentId, LabReport, Series, names};
use crate::units::{bandwidth, bytes, duration, ratio};

/// A steady copy below this share of the pinned one is worth a sentence.
const PINNING_PAYS: f64 = 1.5;
/// More of a device's memory than this, whatever the model: the framework preallocates.
pub(super) const PREALLOCATED: f64 = 0.5;
/// A first import that is slower by this much deserves a word.
const FIRST_START_APART: f64 = 2.0;

/// Sentences, most striking first.
pub(super) fn notable(report: &LabReport) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(floor(report));
    found.extend(slowest_first(report));
    found.extend(imports(report));
    found.extend(optimizers(report));
    found.extend(memory(report));
    found.extend(autograd(report));
    found.extend(pinning(report));
    found.extend(pinned_or_randn(report));
    found.extend(bandwidths(report));
    found
}

fn floor(report: &LabReport) -> Option<String> {
    let floor = report.floors.first()?;
    let (name, largest) = floor.parts.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!(
        "The floor on {}: a minimal native program needs {} to its first result; {name} is {} of it.",
        floor.device,
        duration(floor.seconds),
        duration(*largest)
    ))
}

/// The iteration of training or inference whose first is slowest against its steady.
fn slowest_first(report: &LabReport) -> Option<String> {
    let (experiment, series) = all(report)
        .filter(|(experiment, series)| {
            matches!(experiment.id, ExperimentId::Train | ExperimentId::Infer)
                && [names::ITERATION, names::FRESH_INPUT].contains(&series.name.as_str())
        })
        .filter(|(_, series)| series.ratio.is_some())
        .max_by(|a, b| median_ratio(a.1).total_cmp(&median_ratio(b.1)))?;
    let what = if experiment.id == ExperimentId::Train {
        "training iteration"
    } else {
        "inference"
    };
    Some(format!(
        "The first {what} {} takes as long as {} steady ones: {} against {}.",
        place(experiment),
        ratio(median_ratio(series)).trim_end_matches('×'),
        duration(series.first),
        duration(series.steady?)
    ))
}

fn imports(report: &LabReport) -> Vec<String> {
    report
        .frameworks
        .iter()
        .filter_map(|framework| {
            let (_, series) = all(report).find(|(experiment, series)| {
                experiment.framework.as_ref() == Some(&framework.name)
                    && series.name == names::IMPORT
            })?;
            let apart = series
                .first_start
                .filter(|start| start.first > FIRST_START_APART * series.first);
            let apart = apart.map_or(String::new(), |start| {
                format!(" ({} in the first start)", duration(start.first))
            });
            Some(format!(
                "Importing {} takes {}{apart}: no timer inside a script sees it.",
                framework.name,
                duration(series.first)
            ))
        })
        .collect()
}

/// An optimizer that costs more than the first iteration hides in front of the loop.
fn optimizers(report: &LabReport) -> Option<String> {
    report.experiments.iter().filter(|e| e.id == ExperimentId::Train).find_map(|experiment| {
        let built = experiment.series.iter().find(|s| s.name == names::BUILD_OPTIMIZER)?;
        let first = experiment.series.iter().find(|s| s.name == names::ITERATION)?;
        (built.first > first.first).then(|| {
            format!(
                "Building the optimizer {} takes {}, more than the first iteration ({}): it imports what the framework left out.",
                place(experiment),
                duration(built.first),
                duration(first.first)
            )
        })
    })
}

fn memory(report: &LabReport) -> Option<String> {
    // Device memory is scarcer than the host's: of the latter only where there is no other.
    let most = |name: &str| {
        all(report)
            .filter(|(_, series)| series.name == name && series.variant == names::MLP)
            .max_by(|a, b| a.1.first.total_cmp(&b.1.first))
    };
    let (experiment, series) = most(names::DEVICE_MEMORY).or_else(|| most(names::HOST_MEMORY))?;
    let devices = std::iter::once(&report.device).chain(&report.other_devices);
    let all_of_it = devices
        .filter(|device| device.kind == experiment.device)
        .map(|device| device.memory as f64)
        .next();
    let preallocated = series.name == names::DEVICE_MEMORY
        && all_of_it.is_some_and(|all| series.first > PREALLOCATED * all);
    (series.first > 0.0).then(|| {
        format!(
            "The first inference {} takes {} of {}, for a network of 100 KiB{}.",
            place(experiment),
            bytes(series.first as u64),
            series.name,
            match preallocated {
                true => ": it is preallocated, whatever the network needs",
                false => "",
            }
        )
    })
}

fn pinning(report: &LabReport) -> Option<String> {
    let experiment = report.experiments.iter().find(|e| {
        e.id == ExperimentId::Transfer && e.device == report.device.kind && e.framework.is_none()
    })?;
    let (pinned, pageable) = (
        fastest(experiment, names::H2D_PINNED)?,
        fastest(experiment, names::H2D_PAGEABLE)?,
    );
    (pinned > PINNING_PAYS * pageable).then(|| {
        format!(
            "Copies to {} reach {} from pinned memory and {} from pageable memory.",
            experiment.device,
            bandwidth(pinned),
            bandwidth(pageable)
        )
    })
}

/// The share of recording the graph and the backward pass; of a framework before
/// the native tape.
fn autograd(report: &LabReport) -> Option<String> {
    let mut experiments: Vec<&Experiment> = report
        .experiments
        .iter()
        .filter(|experiment| experiment.id == ExperimentId::TrainNoOptimizer)
        .collect();
    experiments.sort_by_key(|experiment| experiment.framework.is_none());
    experiments.into_iter().find_map(|experiment| {
        let steady = |name| steady(experiment, name);
        let (plain, whole) = (
            steady(names::FORWARD_PLAIN)?,
            steady(names::FORWARD_BACKWARD)?,
        );
        Some(format!(
            "Autograd (recording the graph and the backward pass) is {:.0} % of forward and backward {}: {} without it, {} with it.",
            (whole - plain) / whole * 100.0,
            place(experiment),
            duration(plain),
            duration(whole)
        ))
    })
}

/// One of the articles times these two to show what pinned memory is worth.
fn pinned_or_randn(report: &LabReport) -> Option<String> {
    report.experiments.iter().find_map(|experiment| {
        let of = |name: &str| {
            experiment
                .series
                .iter()
                .find(|series| series.name == name && series.variant == names::PINNED_OR_RANDN)
        };
        let (moved, made) = (of(names::MOVE_PINNED)?, of(names::RANDN_CONTEXT_READY)?);
        let times = |series: &Series| {
            let steady = series.steady.map_or(String::new(), |steady| {
                format!(", {} once steady", duration(steady))
            });
            format!("{} at first{steady}", duration(series.first))
        };
        Some(format!(
            "Moving a pinned tensor of 4 MiB {} takes {}; making one there with randn {}. These are two different things and say nothing of pinning: the one allocates and copies, the other allocates and runs a kernel that its first use loads. Pinned against pageable copies do.",
            place(experiment),
            times(moved),
            times(made)
        ))
    })
}

fn bandwidths(report: &LabReport) -> Option<String> {
    // The memory of the cpu device is the host's.
    let mut experiments = report.experiments.iter().filter(|experiment| {
        experiment.id == ExperimentId::Transfer
            && experiment.device == report.device.kind
            && experiment.device != "cpu"
    });
    experiments.find_map(|experiment| {
        let within = fastest(experiment, names::D2D)?;
        let to = [names::H2D_PINNED, names::H2D_PAGEABLE]
            .into_iter()
            .filter_map(|name| fastest(experiment, name))
            .max_by(f64::total_cmp)?;
        Some(format!(
            "Copies within {} reach {}, {} the {} to it.",
            experiment.device,
            bandwidth(within),
            ratio(within / to),
            bandwidth(to)
        ))
    })
}

/// The fastest steady copy, in bytes per second.
fn fastest(experiment: &Experiment, name: &str) -> Option<f64> {
    experiment
        .series
        .iter()
        .filter(|series| series.name == name)
        .filter_map(|series| Some(series.size? as f64 / series.steady?))
        .max_by(f64::total_cmp)
}

fn steady(experiment: &Experiment, name: &str) -> Option<f64> {
    let mut series = experiment.series.iter();
    series.find(|series| series.name == name)?.steady
}

/// `on cuda`, or `with torch on cuda`.
fn place(experiment: &Experiment) -> String {
    match &experiment.framework {
        None => format!("on {}", experiment.device),
        Some(_) => format!("with {}", experiment.subject()),
    }
}

fn all(report: &LabReport) -> impl Iterator<Item = (&Experiment, &Series)> {
    report.experiments.iter().flat_map(|experiment| {
        experiment
            .series
            .iter()
            .map(move |series| (experiment, series))
    })
}

fn median_ratio(series: &Series) -> f64 {
    series.ratio.map_or(0.0, |ratio| ratio.median)
}
