//! The experiments of `preheat lab`: raw measurements ([`Measured`]) and results
//! ([`LabReport`]).
//!
//! [`LabReport`] is the document `preheat.lab/2`, which every renderer shows. Units are seconds
//! and bytes. It is documented in docs/lab-json.md and docs/schema/preheat.lab-2.schema.json;
//! change all three together.

mod experiment;
mod measured;
pub mod names;

use serde::{Deserialize, Serialize};

use crate::Machine;
use crate::stats::{Class, Consistency, Estimate};
use measured::subject_label;

pub use experiment::ExperimentId;
pub use measured::{
    Measured, MeasuredDevice, MeasuredFramework, Outcome, Sample, SampleKind, Settings, Setup,
    Skipped, Start, Subject,
};

/// The schema id that this version writes.
pub const SCHEMA: &str = "preheat.lab/2";
/// The schema ids that this version reads.
pub const SCHEMAS: [&str; 2] = [SCHEMA, "preheat.lab/1"];

/// The maximum number of starts in a run, and therefore in a valid document.
pub const MAX_STARTS: usize = 10_000;

/// The results of a lab run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabReport {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The version of preheat that wrote it.
    pub preheat: String,
    /// The time when the run began, as RFC 3339 in UTC.
    pub created: String,
    /// The command line.
    pub command: Vec<String>,
    /// The settings of the run.
    pub settings: Settings,
    /// The machine.
    pub machine: Machine,
    /// The main device.
    pub device: MeasuredDevice,
    /// Further measured devices.
    pub other_devices: Vec<MeasuredDevice>,
    /// The frameworks.
    pub frameworks: Vec<MeasuredFramework>,
    /// The time that a minimal native program needs on each device.
    pub floors: Vec<Floor>,
    /// The experiments, each on one subject.
    pub experiments: Vec<Experiment>,
    /// The twenty claims.
    pub claims: Vec<Claim>,
    /// Notable facts about this machine, most striking first.
    pub notable: Vec<String>,
}

/// The time that a minimal native program needs until its first result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// The device.
    pub device: String,
    /// The sum of its parts.
    pub seconds: f64,
    /// Its parts, in order, each the geometric mean over starts.
    pub parts: Vec<(String, f64)>,
}

/// One experiment on one subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// The experiment id.
    pub id: ExperimentId,
    /// A one-line description.
    pub title: String,
    /// The device.
    pub device: String,
    /// The framework; `None` for a native experiment.
    pub framework: Option<String>,
    /// The number of starts of each variant, including the first.
    pub starts: usize,
    /// The measured series.
    pub series: Vec<Series>,
    /// The quantities that could not be measured.
    pub skipped: Vec<Skipped>,
    /// Starts that failed.
    pub failures: Vec<Failure>,
}

impl Experiment {
    /// The subject in a sentence: `cuda`, or `torch on cuda`.
    pub fn subject(&self) -> String {
        subject_label(&self.device, self.framework.as_deref())
    }
}

/// A start that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The variant; empty if there is only one.
    pub variant: String,
    /// The index of the start, counted from 0.
    pub start: usize,
    /// The failure, with a suggestion.
    pub what: String,
}

/// One series over all starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The name of the series.
    pub name: String,
    /// The variant; empty if there is only one.
    pub variant: String,
    /// The type of the values.
    pub kind: SampleKind,
    /// The size within a sweep, in bytes.
    pub size: Option<u64>,
    /// The first iteration: the geometric mean over the starts that settle, without the
    /// first start; over all of them if fewer than three settle.
    pub first: f64,
    /// The steady iteration: the geometric mean of the medians of the same starts; of the
    /// later half of starts that do not settle. `None` for single operations, and if no
    /// start settles.
    pub steady: Option<f64>,
    /// first ÷ steady.
    pub ratio: Option<Estimate>,
    /// The class of the series.
    pub class: Option<Class>,
    /// The agreement of the starts on this class.
    pub consistency: Option<Consistency>,
    /// Iterations before the steady state, median over the starts.
    pub warmup: Option<f64>,
    /// The cost of warm-up beyond steady, median over the starts.
    pub excess: Option<f64>,
    /// The first start, which may have run with cold disks and caches.
    pub first_start: Option<FirstStart>,
    /// The values, one list per start, beginning with the first start; an empty list where
    /// a start did not get that far.
    pub iterations: Vec<Vec<f64>>,
}

/// The first start of a series, reported separately.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FirstStart {
    /// Its first iteration.
    pub first: f64,
    /// Its steady iteration.
    pub steady: Option<f64>,
}

/// A claim and its verdict on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// 1 to 20.
    pub id: u8,
    /// The statement.
    pub text: String,
    /// The verdict over all subjects.
    pub verdict: Verdict,
    /// A human-readable sentence.
    pub sentence: String,
    /// The evidence for each subject.
    pub evidence: Vec<Evidence>,
}

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// The interval is clear of the threshold, on the claim's side.
    #[serde(rename = "holds")]
    Holds,
    /// The interval is clear of the threshold, on the other side.
    #[serde(rename = "does not hold")]
    DoesNotHold,
    /// It holds for some subjects and not for others.
    #[serde(rename = "depends")]
    Depends,
    /// The interval spans the threshold, or there were too few starts for one.
    #[serde(rename = "inconclusive")]
    Inconclusive,
    /// No experiment in the run measures it.
    #[serde(rename = "not measurable here")]
    NotMeasurable,
}

impl Verdict {
    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::DoesNotHold => "does not hold",
            Verdict::Depends => "depends",
            Verdict::Inconclusive => "inconclusive",
            Verdict::NotMeasurable => "not measurable here",
        }
    }
}

/// The evidence of one subject for or against a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The device.
    pub device: String,
    /// The framework; `None` for a native experiment.
    pub framework: Option<String>,
    /// The verdict for this subject.
    pub verdict: Verdict,
    /// The compared quantity, in words.
    pub quantity: String,
    /// Its value with the 95 % interval.
    pub value: Estimate,
    /// The threshold.
    pub threshold: f64,
    /// One sentence with the numbers.
    pub sentence: String,
    /// The series that it is based on.
    #[serde(default)]
    pub basis: Vec<Basis>,
    /// For an inconclusive verdict: the number of starts (as for `--starts`) that would
    /// probably decide it; `None` if more starts would probably not help.
    #[serde(default)]
    pub enough_starts: Option<usize>,
}

/// A series that a verdict is based on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Basis {
    /// The experiment.
    pub experiment: ExperimentId,
    /// The variant; empty if there is only one.
    pub variant: String,
    /// Its name.
    pub series: String,
    /// The size within a sweep, in bytes.
    pub size: Option<u64>,
    /// The number of starts that count, without the first one if there are others.
    pub starts: usize,
}

impl Evidence {
    /// The subject in a sentence: `cuda`, or `torch on cuda`.
    pub fn subject(&self) -> String {
        subject_label(&self.device, self.framework.as_deref())
    }
}

impl Claim {
    /// The value for `--starts` that should decide this claim, if it is inconclusive only for
    /// lack of starts.
    pub fn enough_starts(&self) -> Option<usize> {
        let open = self.verdict == Verdict::Inconclusive;
        open.then(|| starts_that_decide(&self.evidence)).flatten()
    }
}

/// The value for `--starts` that should decide an inconclusive claim; none if more starts
/// alone would not.
pub fn starts_that_decide(evidence: &[Evidence]) -> Option<usize> {
    let open = evidence.iter();
    let open = open.filter(|e| e.verdict == Verdict::Inconclusive);
    let needed: Option<Vec<usize>> = open.map(|e| e.enough_starts).collect();
    needed?.into_iter().max()
}
