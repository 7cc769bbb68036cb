//! The document `preheat.lab/1`: what every renderer shows. Seconds and bytes.
//!
//! Its description for people is docs/lab-json.md, for programs
//! docs/schema/preheat.lab-1.schema.json; the three change together.

use serde::{Deserialize, Serialize};

use super::measured::subject_label;
use super::{
    ExperimentId, Machine, MeasuredDevice, MeasuredFramework, SampleKind, Settings, Skipped,
};
use crate::stats::{Class, Consistency, Interval};

/// The schema that this version writes.
pub const SCHEMA: &str = "preheat.lab/1";

/// The most starts that a run makes; a document with more was not written by one.
pub const MOST_STARTS: usize = 10_000;

/// What a run of the lab found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabReport {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The version of preheat that wrote it.
    pub preheat: String,
    /// When the run began, as an RFC 3339 time in UTC.
    pub created: String,
    /// The command line.
    pub command: Vec<String>,
    /// How it was run.
    pub settings: Settings,
    /// On which machine.
    pub machine: Machine,
    /// On which device.
    pub device: MeasuredDevice,
    /// Devices that were measured beside it.
    pub other_devices: Vec<MeasuredDevice>,
    /// With which frameworks.
    pub frameworks: Vec<MeasuredFramework>,
    /// What a minimal native program needs on each device.
    pub floors: Vec<Floor>,
    /// The experiments, each on one subject.
    pub experiments: Vec<Experiment>,
    /// The twenty claims.
    pub claims: Vec<Claim>,
    /// What is worth knowing about this machine, most striking first.
    pub notable: Vec<String>,
}

/// What a minimal native program needs from its first line to its first result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// On this device.
    pub device: String,
    /// In all: the sum of its parts.
    pub seconds: f64,
    /// Its parts, in order, each the geometric mean over starts.
    pub parts: Vec<(String, f64)>,
}

/// One experiment on one subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Which.
    pub id: ExperimentId,
    /// What is run.
    pub title: String,
    /// On which device.
    pub device: String,
    /// Through which framework; none for a native experiment.
    pub framework: Option<String>,
    /// How many starts there were of each variant, the first included.
    pub starts: usize,
    /// What was measured.
    pub series: Vec<Series>,
    /// What could not be measured.
    pub skipped: Vec<Skipped>,
    /// Starts that ended badly.
    pub failures: Vec<Failure>,
}

impl Experiment {
    /// Its subject in a sentence: `cuda`, or `torch on cuda`.
    pub fn subject(&self) -> String {
        subject_label(&self.device, self.framework.as_deref())
    }
}

/// A start that ended badly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// In which variant; empty where there are none.
    pub variant: String,
    /// Which start, counted from 0.
    pub start: usize,
    /// What happened and what to try.
    pub what: String,
}

/// One series over all starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What was done.
    pub name: String,
    /// In which variant; empty where there are none.
    pub variant: String,
    /// What the values are.
    pub kind: SampleKind,
    /// The size that a sweep was at, in bytes.
    pub size: Option<u64>,
    /// The first iteration: the geometric mean over the starts that settle, the first start
    /// excluded; over all of them where fewer than three settle.
    pub first: f64,
    /// The steady iteration: the geometric mean over the same starts of their medians; the
    /// later half of a start that does not settle. None for what happens once, and where
    /// no start settles.
    pub steady: Option<f64>,
    /// first ÷ steady.
    pub ratio: Option<Interval>,
    /// How the series behaves.
    pub class: Option<Class>,
    /// Whether all starts behave so.
    pub consistency: Option<Consistency>,
    /// Iterations before steady, median over the starts.
    pub warmup: Option<f64>,
    /// What warm-up cost over steady, median over the starts.
    pub excess: Option<f64>,
    /// The first start, which may have found cold disks and caches.
    pub first_start: Option<FirstStart>,
    /// The values, a list for each start, the first start's first; an empty list where
    /// a start did not come so far.
    pub iterations: Vec<Vec<f64>>,
}

/// The first start of a series, reported apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FirstStart {
    /// Its first iteration.
    pub first: f64,
    /// Its steady iteration.
    pub steady: Option<f64>,
}

/// A claim and what this machine says of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// 1 to 20.
    pub id: u8,
    /// What is claimed.
    pub text: String,
    /// Over all subjects.
    pub verdict: Verdict,
    /// One sentence for a person.
    pub sentence: String,
    /// Subject by subject.
    pub evidence: Vec<Evidence>,
}

/// What a machine says of a claim.
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
    /// Nothing that was run could tell.
    #[serde(rename = "not measurable here")]
    NotMeasurable,
}

impl Verdict {
    /// The words for it.
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

/// What one subject says of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The device.
    pub device: String,
    /// The framework; none for a native experiment.
    pub framework: Option<String>,
    /// What this subject says.
    pub verdict: Verdict,
    /// What was compared, in words.
    pub quantity: String,
    /// Its value with the 95 % interval.
    pub value: Interval,
    /// The value that decides.
    pub threshold: f64,
    /// One sentence with the numbers.
    pub sentence: String,
    /// The series that it rests on.
    #[serde(default)]
    pub basis: Vec<Basis>,
    /// For an inconclusive verdict: the starts (as for `--starts`) that would probably decide
    /// it; none where more starts would probably not.
    #[serde(default)]
    pub enough_starts: Option<usize>,
}

/// A series that a verdict rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Basis {
    /// Of which experiment.
    pub experiment: ExperimentId,
    /// In which variant; empty where there are none.
    pub variant: String,
    /// Its name.
    pub series: String,
    /// The size that a sweep was at, in bytes.
    pub size: Option<u64>,
    /// The starts that count, the first one excluded where there are others.
    pub starts: usize,
}

impl Evidence {
    /// Its subject in a sentence: `cuda`, or `torch on cuda`.
    pub fn subject(&self) -> String {
        subject_label(&self.device, self.framework.as_deref())
    }
}
