//! The document `preheat.check/1`: a recording against its budget, line by line.
//!
//! Its description for people is docs/check-json.md, for programs
//! docs/schema/preheat.check-1.schema.json; the three change together.

use serde::{Deserialize, Serialize};

use super::{Place, Quantity, Unit};
use crate::lab::Machine;
use crate::run::{Cause, Temperature};
use crate::stats::Interval;

/// The schema that this version writes.
pub const CHECK_SCHEMA: &str = "preheat.check/1";

/// A recording against its budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Always [`CHECK_SCHEMA`].
    pub schema: String,
    /// The version of preheat that checked.
    pub preheat: String,
    /// What the program is called in exports.
    pub name: String,
    /// The recording, as it was named.
    pub recording: String,
    /// The budget's file, if there was one.
    pub budget: Option<String>,
    /// When the recording was made, as an RFC 3339 time in UTC.
    pub created: String,
    /// The command that was run.
    pub command: Vec<String>,
    /// On which machine.
    pub machine: Machine,
    /// What the verdicts are to lead to.
    pub settings: CheckSettings,
    /// How many starts the recording has.
    pub starts: usize,
    /// The worst of the lines.
    pub verdict: Verdict,
    /// Every limit, in the order of the budget.
    pub lines: Vec<Line>,
    /// All that was measured, limited or not.
    pub measured: Vec<Value>,
    /// Sentences for people: what is doubtful about the recording.
    pub notes: Vec<String>,
}

/// What the verdicts are to lead to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckSettings {
    /// Whether a limit on something that was not measured is passed over.
    pub allow_missing: bool,
    /// Whether a limit of which nothing is certain fails the check.
    pub fail_on_inconclusive: bool,
}

/// How a line, or the whole, stands. Ordered from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// What was measured is within the limit.
    Pass,
    /// It was not measured, and that is allowed.
    NotMeasured,
    /// It is above the limit, and its interval reaches down to it.
    Inconclusive,
    /// It is above the limit, with its whole interval.
    Fail,
}

impl Verdict {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::NotMeasured => "not measured",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Fail => "fail",
        }
    }
}

/// What a line limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// From `exec` to the end of the first iteration.
    TimeToFirst,
    /// The first iteration.
    First,
    /// The steady iteration.
    Steady,
    /// first ÷ steady.
    FirstRatio,
    /// Iterations before steady.
    Warmup,
    /// What warm-up cost over steady.
    Excess,
    /// The most device memory in use.
    DeviceMemory,
    /// The largest resident size.
    HostMemory,
    /// One cause.
    Cause,
    /// How the starts ended.
    ExitCode,
}

impl From<Quantity> for LineKind {
    fn from(of: Quantity) -> LineKind {
        match of {
            Quantity::TimeToFirst => LineKind::TimeToFirst,
            Quantity::First => LineKind::First,
            Quantity::Steady => LineKind::Steady,
            Quantity::FirstRatio => LineKind::FirstRatio,
            Quantity::Warmup => LineKind::Warmup,
            Quantity::Excess => LineKind::Excess,
            Quantity::DeviceMemory => LineKind::DeviceMemory,
            Quantity::HostMemory => LineKind::HostMemory,
            Quantity::Cause(_) => LineKind::Cause,
        }
    }
}

/// One limit and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// What it limits.
    pub limit: LineKind,
    /// Which cause, if it limits one.
    pub cause: Option<Cause>,
    /// For the starts of which temperature; none: for the warmest.
    pub temperature: Option<Temperature>,
    /// Its name for people.
    pub title: String,
    /// In what it is measured.
    pub unit: Unit,
    /// The limit itself: this is still allowed.
    pub most: f64,
    /// Where it stands in the budget's file, if it is from there.
    pub place: Option<Place>,
    /// What was measured; none if it was not.
    pub measured: Option<Interval>,
    /// From how many starts.
    pub starts: usize,
    /// What was measured as a part of the limit: 1 is all of it.
    pub used: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
    /// Why, as a sentence; empty if it passes.
    pub reason: String,
    /// What is behind what was measured, largest first, where it does not pass.
    pub parts: Vec<Part>,
}

/// A part of what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What it is: a cause, a module, a kernel.
    pub name: String,
    /// In what it is measured.
    pub unit: Unit,
    /// How much.
    pub value: f64,
}

/// One quantity as measured, limited or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// Of what.
    pub quantity: LineKind,
    /// Which cause, if it is one.
    pub cause: Option<Cause>,
    /// How cold the starts were made.
    pub temperature: Temperature,
    /// Its name for people.
    pub title: String,
    /// In what it is measured.
    pub unit: Unit,
    /// The estimate and its interval.
    pub measured: Interval,
    /// From how many starts.
    pub starts: usize,
}
