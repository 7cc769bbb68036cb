//! What the lab hands over: raw samples, start by start.

use serde::{Deserialize, Serialize};

use super::ExperimentId;

/// Everything that one run of the lab measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The command line, for the record.
    pub command: Vec<String>,
    /// When the run began, as an RFC 3339 time in UTC.
    pub created: String,
    /// How it was run.
    pub settings: Settings,
    /// On which machine.
    pub machine: Machine,
    /// On which devices; the first is the one that was asked for.
    pub devices: Vec<MeasuredDevice>,
    /// With which frameworks.
    pub frameworks: Vec<MeasuredFramework>,
    /// What was measured.
    pub units: Vec<Unit>,
}

/// How the lab was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Seeds the order of the starts and every resampling.
    pub seed: u64,
    /// Starts that were asked for, of each experiment and variant.
    pub starts: usize,
    /// Whether the short form was asked for.
    pub quick: bool,
    /// Why the run ended before all starts were done, if it did.
    pub ended_early: Option<String>,
}

/// The machine, as far as it matters to a cold start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The operating system's own name for itself.
    pub os: String,
    /// The kernel's release.
    pub kernel: String,
    /// The processor's name.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Memory in bytes.
    pub memory: u64,
}

/// A device on which something was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredDevice {
    /// `cpu`, `cuda` or `opencl`.
    pub kind: String,
    /// Its own name.
    pub name: String,
    /// Its driver and version.
    pub driver: String,
    /// Its memory in bytes.
    pub memory: u64,
    /// Further facts, as (name, value).
    pub facts: Vec<(String, String)>,
}

/// A framework with which something was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredFramework {
    /// `torch`, `tensorflow` or `jax`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The Python that has it.
    pub python: String,
    /// The device that it computes on: `cpu` or `cuda`.
    pub device: String,
}

/// On what something was measured: a device, natively or through a framework.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject {
    /// `cpu`, `cuda` or `opencl`.
    pub device: String,
    /// `torch`, `tensorflow` or `jax`; none for the native experiments.
    pub framework: Option<String>,
}

impl Subject {
    /// Its name in a sentence: `cuda`, or `torch on cuda`.
    pub fn label(&self) -> String {
        subject_label(&self.device, self.framework.as_deref())
    }
}

/// A subject's name in a sentence: `cuda`, or `torch on cuda`.
pub(super) fn subject_label(device: &str, framework: Option<&str>) -> String {
    match framework {
        None => device.to_owned(),
        Some(framework) => format!("{framework} on {device}"),
    }
}

/// One experiment in one variant on one subject, with all its starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Which experiment.
    pub experiment: ExperimentId,
    /// On what.
    pub subject: Subject,
    /// Which variant, where the experiment has several that each need a process
    /// of their own; else empty.
    pub variant: String,
    /// The starts, in the order in which they ran.
    pub starts: Vec<Start>,
}

/// One fresh process and what it told.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// How it ended.
    pub outcome: Outcome,
    /// What it measured until then.
    pub samples: Vec<Sample>,
    /// What it could not measure, and why.
    pub skipped: Vec<Skipped>,
}

/// How a start ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All was measured.
    Completed,
    /// It ended before all was measured; the sentence says how.
    Failed(String),
}

/// Something that could not be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// What was left out.
    pub what: String,
    /// Why, and what would change that.
    pub why: String,
}

/// One series of one start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Its name; see [`super::names`].
    pub name: String,
    /// What its values are.
    pub kind: SampleKind,
    /// The size that a sweep was at, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The values in order: seconds, bytes or a count, as the kind says.
    pub values: Vec<f64>,
}

/// What the values of a series are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleKind {
    /// Seconds of something that is repeated: first and steady are of interest.
    Iterations,
    /// Seconds of something that happens once a start.
    Stage,
    /// Bytes in use, before the first iteration and after each.
    Memory,
    /// How often something happened in each iteration.
    Count,
}
