//! The input from the lab: raw samples, start by start.

use serde::{Deserialize, Serialize};

use super::{Experiment, ExperimentId, LabReport, names};
use crate::Machine;

/// All measurements of one lab run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The command line.
    pub command: Vec<String>,
    /// The time when the run began, as RFC 3339 in UTC.
    pub created: String,
    /// The settings of the run.
    pub settings: Settings,
    /// The machine.
    pub machine: Machine,
    /// The devices; the first is the requested one.
    pub devices: Vec<MeasuredDevice>,
    /// The frameworks.
    pub frameworks: Vec<MeasuredFramework>,
    /// The measurements.
    pub setups: Vec<Setup>,
}

/// The settings of a lab run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The seed for the order of the starts and all resampling.
    pub seed: u64,
    /// The requested number of starts of each experiment and variant.
    pub starts: usize,
    /// True for a quick run.
    pub quick: bool,
    /// The reason why the run ended before all starts were done, if it did.
    pub ended_early: Option<String>,
}

/// A measured device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredDevice {
    /// `cpu`, `cuda` or `opencl`.
    pub kind: String,
    /// The device name.
    pub name: String,
    /// Its driver and version.
    pub driver: String,
    /// Its memory in bytes.
    pub memory: u64,
    /// Further details, as (name, value).
    pub facts: Vec<(String, String)>,
}

/// A measured framework.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredFramework {
    /// `torch`, `tensorflow` or `jax`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The Python it is installed in.
    pub python: String,
    /// The device it computes on: `cpu` or `cuda`.
    pub device: String,
}

/// The subject of a measurement: a device, natively or through a framework.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject {
    /// `cpu`, `cuda` or `opencl`.
    pub device: String,
    /// `torch`, `tensorflow` or `jax`; `None` for native experiments.
    pub framework: Option<String>,
}

impl Subject {
    /// The name in a sentence: `cuda`, or `torch on cuda`.
    pub fn label(&self) -> String {
        subject_label(&self.device, self.framework.as_deref())
    }
}

/// The name of a subject in a sentence: `cuda`, or `torch on cuda`.
pub(super) fn subject_label(device: &str, framework: Option<&str>) -> String {
    match framework {
        None => device.to_owned(),
        Some(framework) => format!("{framework} on {device}"),
    }
}

/// One experiment in one variant on one subject, with all its starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The experiment.
    pub experiment: ExperimentId,
    /// The subject.
    pub subject: Subject,
    /// The variant, where the experiment has several that each need a separate process;
    /// otherwise empty.
    pub variant: String,
    /// The starts, in the order they ran.
    pub starts: Vec<Start>,
}

/// One fresh process and its results.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// The outcome.
    pub outcome: Outcome,
    /// The samples, up to a failure.
    pub samples: Vec<Sample>,
    /// The quantities it could not measure.
    pub skipped: Vec<Skipped>,
}

/// The outcome of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The measurement is complete.
    Completed,
    /// It ended early, with a message.
    Failed(String),
}

/// A quantity that could not be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The quantity.
    pub what: String,
    /// The reason, and how to fix it.
    pub why: String,
}

/// One series of one start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Its name; see [`super::names`].
    pub name: String,
    /// The type of its values.
    pub kind: SampleKind,
    /// The size within a sweep, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The values in order: seconds, bytes or counts, depending on the kind.
    pub values: Vec<f64>,
}

/// The type of values in a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleKind {
    /// Seconds of a repeated operation: first and steady matter.
    Iterations,
    /// Seconds of an operation that happens once per start.
    Stage,
    /// Bytes in use, before the first iteration and after each.
    Memory,
    /// The number of events in each iteration.
    Count,
}

// Restores measurements from a report, so that a stored report can be analyzed again with
// newer statistics or on another machine.

impl Measured {
    /// Restores the measurements of a report. The variant and start in which something was
    /// skipped are not stored: it is assigned to the experiment's first start.
    pub fn from_report(report: &LabReport) -> Measured {
        let mut setups: Vec<Setup> = Vec::new();
        for experiment in &report.experiments {
            for series in &experiment.series {
                for (index, values) in series.iterations.iter().enumerate() {
                    let start = start_of(&mut setups, experiment, &series.variant, index);
                    if !values.is_empty() {
                        start.samples.push(Sample {
                            name: series.name.clone(),
                            kind: series.kind,
                            size: series.size,
                            values: values.clone(),
                        });
                    }
                }
            }
            for failure in &experiment.failures {
                start_of(&mut setups, experiment, &failure.variant, failure.start).outcome =
                    Outcome::Failed(failure.what.clone());
            }
            if !experiment.skipped.is_empty() {
                let variant = experiment
                    .series
                    .first()
                    .map_or("", |series| &series.variant);
                start_of(&mut setups, experiment, variant, 0)
                    .skipped
                    .clone_from(&experiment.skipped);
            }
        }
        Measured {
            command: report.command.clone(),
            created: report.created.clone(),
            settings: report.settings.clone(),
            machine: report.machine.clone(),
            devices: std::iter::once(&report.device)
                .chain(&report.other_devices)
                .cloned()
                .collect(),
            frameworks: report.frameworks.clone(),
            setups,
        }
    }
}

/// The current name of a variant. Training had one unnamed variant before.
fn current_name(experiment: ExperimentId, variant: &str) -> &str {
    match (experiment, variant) {
        (ExperimentId::Train | ExperimentId::TrainInitialized, "") => names::MODEL_FROM_NOTHING,
        _ => variant,
    }
}

/// Returns that start of the experiment's setup; creates it if necessary.
fn start_of<'a>(
    setups: &'a mut Vec<Setup>,
    experiment: &Experiment,
    variant: &str,
    start: usize,
) -> &'a mut Start {
    let variant = current_name(experiment.id, variant);
    let index = setups.iter().position(|setup| {
        setup.experiment == experiment.id
            && setup.subject.device == experiment.device
            && setup.subject.framework == experiment.framework
            && setup.variant == variant
    });
    let index = index.unwrap_or_else(|| {
        setups.push(Setup {
            experiment: experiment.id,
            subject: Subject {
                device: experiment.device.clone(),
                framework: experiment.framework.clone(),
            },
            variant: variant.to_owned(),
            starts: Vec::new(),
        });
        setups.len() - 1
    });
    let starts = &mut setups[index].starts;
    while starts.len() <= start {
        starts.push(Start {
            outcome: Outcome::Completed,
            samples: Vec::new(),
            skipped: Vec::new(),
        });
    }
    &mut starts[start]
}
