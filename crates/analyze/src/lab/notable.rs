//! Notable facts about this machine, in a few sentences.

use super::{Experiment, ExperimentId, LabReport, Series, names};
use crate::units::{bandwidth, bytes, duration, number, ratio};

/// Pinned copies that are faster by at least this factor are mentioned.
const PINNING_HELPS: f64 = 1.5;
/// A framework that uses more than this share of device memory preallocates.
pub(super) const PREALLOCATED: f64 = 0.5;
/// A first import that is slower by at least this factor is mentioned.
const SLOW_FIRST_IMPORT: f64 = 2.0;

/// The sentences, most striking first.
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

/// The training or inference iteration with the largest ratio of first to steady.
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
        location(experiment),
        number(median_ratio(series)),
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
            let first_start = series
                .first_start
                .filter(|start| start.first > SLOW_FIRST_IMPORT * series.first);
            let first_start = first_start.map_or(String::new(), |start| {
                format!(" ({} in the first start)", duration(start.first))
            });
            Some(format!(
                "Importing {} takes {}{first_start}: timers inside a script do not see it.",
                framework.name,
                duration(series.first)
            ))
        })
        .collect()
}

/// An optimizer that costs more than the first iteration, hidden before the loop.
fn optimizers(report: &LabReport) -> Option<String> {
    report.experiments.iter().filter(|e| e.id == ExperimentId::Train).find_map(|experiment| {
        let built = experiment.series.iter().find(|s| s.name == names::BUILD_OPTIMIZER)?;
        let first = experiment.series.iter().find(|s| s.name == names::ITERATION)?;
        (built.first > first.first).then(|| {
            format!(
                "Building the optimizer {} takes {}, more than the first iteration ({}): it imports modules that the framework left out.",
                location(experiment),
                duration(built.first),
                duration(first.first)
            )
        })
    })
}

fn memory(report: &LabReport) -> Option<String> {
    // Device memory is scarcer than host memory, which is only used if nothing else was
    // measured.
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
            location(experiment),
            bytes(series.first as u64),
            series.name,
            match preallocated {
                true => ": it is preallocated, regardless of the network",
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
    (pinned > PINNING_HELPS * pageable).then(|| {
        format!(
            "Copies to {} reach {} from pinned memory and {} from pageable memory.",
            experiment.device,
            bandwidth(pinned),
            bandwidth(pageable)
        )
    })
}

/// The share of graph recording and the backward pass in a steady training iteration with its
/// optimizer, or in the forward and backward pass if no such iteration was measured;
/// frameworks come before the native tape.
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
        let autograd = whole - plain;
        let passes = format!(
            "forward and backward take {} with it, forward alone {} without it",
            duration(whole),
            duration(plain)
        );
        let (part, of, numbers) = match steady_training(report, experiment) {
            Some(iteration) if autograd <= iteration => (
                autograd / iteration,
                "a steady training iteration, optimizer included,",
                format!("{} of {}; ", duration(autograd), duration(iteration)),
            ),
            _ => (autograd / whole, "forward and backward", String::new()),
        };
        (autograd > 0.0).then(|| {
            format!(
                "Autograd (recording the graph and the backward pass) is {:.0} % of {of} {}: {numbers}{passes}.",
                part * 100.0,
                location(experiment),
            )
        })
    })
}

/// The steady training iteration on the same subject, with the optimizer.
fn steady_training(report: &LabReport, like: &Experiment) -> Option<f64> {
    let trained = report.experiments.iter().filter(|experiment| {
        experiment.id == ExperimentId::Train
            && experiment.device == like.device
            && experiment.framework == like.framework
    });
    let iterations = trained.flat_map(|experiment| &experiment.series);
    let iterations: Vec<&Series> = iterations
        .filter(|series| series.name == names::ITERATION && series.steady.is_some())
        .collect();
    let on_device = iterations
        .iter()
        .find(|series| series.variant == names::MODEL_ON_DEVICE);
    on_device.or(iterations.first())?.steady
}

/// One of the articles uses these two to show the benefit of pinned memory.
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
            "Moving a pinned tensor of 4 MiB {} takes {}; creating one there with randn takes {}. These are different operations and do not show the effect of pinning: one allocates and copies, the other allocates and runs a kernel that is loaded on first use. Compare pinned with pageable copies instead.",
            location(experiment),
            times(moved),
            times(made)
        ))
    })
}

fn bandwidths(report: &LabReport) -> Option<String> {
    // The cpu device uses host memory.
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
fn location(experiment: &Experiment) -> String {
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
    series.ratio.map_or(0.0, |ratio| ratio.value)
}
