//! The document `preheat.check/2`: a recording against its budget, line by line.
//!
//! Documented in docs/check-json.md and docs/schema/preheat.check-2.schema.json; change all
//! three together.

use serde::{Deserialize, Serialize};

use super::{Limited, Place, Unit};
use crate::Machine;
use crate::Quantity;
use crate::run::{Cause, Temperature};
use crate::stats::Interval;

/// The schema id that this version writes.
pub const CHECK_SCHEMA: &str = "preheat.check/2";

/// The result of checking a recording against its budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Always [`CHECK_SCHEMA`].
    pub schema: String,
    /// The version of preheat that performed the check.
    pub preheat: String,
    /// The name of the program in exports.
    pub name: String,
    /// The recording, as the user named it.
    pub recording: String,
    /// The budget file, if any.
    pub budget: Option<String>,
    /// The time of the recording, as RFC 3339 in UTC.
    pub created: String,
    /// The command that was run.
    pub command: Vec<String>,
    /// The machine it ran on.
    pub machine: Machine,
    /// The settings of the check.
    pub settings: CheckSettings,
    /// The number of starts in the recording.
    pub starts: usize,
    /// The worst verdict of the lines.
    pub verdict: Verdict,
    /// All limits, in the order of the budget.
    pub lines: Vec<Line>,
    /// All measured quantities, limited or not.
    pub measured: Vec<Value>,
    /// Human-readable notes on doubts about the recording.
    pub notes: Vec<String>,
}

/// The settings of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckSettings {
    /// If true, limits on quantities that were not measured are ignored.
    pub allow_missing: bool,
    /// If true, inconclusive limits fail the check.
    pub fail_on_inconclusive: bool,
}

/// The verdict on a line or on the whole check, ordered from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The value is within the limit.
    Pass,
    /// The quantity was not measured, and that is allowed.
    NotMeasured,
    /// The value is above the limit, but its interval reaches down to it.
    Inconclusive,
    /// The value and its whole interval are above the limit.
    Fail,
}

impl Verdict {
    /// The human-readable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::NotMeasured => "not measured",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Fail => "fail",
        }
    }
}

/// The quantity that a line limits.
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
    /// The cost of warm-up beyond steady.
    Excess,
    /// The peak device memory.
    DeviceMemory,
    /// Peak host memory: the largest resident size of a process.
    HostMemory,
    /// One cause.
    Cause,
    /// The exit code of the starts.
    ExitCode,
}

impl From<Limited> for LineKind {
    fn from(of: Limited) -> LineKind {
        match of {
            Limited::Quantity(Quantity::TimeToFirst) => LineKind::TimeToFirst,
            Limited::Quantity(Quantity::First) => LineKind::First,
            Limited::Quantity(Quantity::Steady) => LineKind::Steady,
            Limited::Quantity(Quantity::Ratio) => LineKind::FirstRatio,
            Limited::Quantity(Quantity::Warmup) => LineKind::Warmup,
            Limited::Quantity(Quantity::Excess) => LineKind::Excess,
            Limited::Quantity(Quantity::DeviceMemory) => LineKind::DeviceMemory,
            Limited::Quantity(Quantity::HostMemory) => LineKind::HostMemory,
            Limited::Cause(_) => LineKind::Cause,
        }
    }
}

/// One limit and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The limited quantity.
    pub limit: LineKind,
    /// The cause, if it limits one.
    pub cause: Option<Cause>,
    /// The temperature of the starts; `None` for the warmest.
    pub temperature: Option<Temperature>,
    /// The human-readable name.
    pub title: String,
    /// The unit.
    pub unit: Unit,
    /// The limit: the largest allowed value.
    pub most: f64,
    /// The position in the budget file, if it comes from there.
    pub place: Option<Place>,
    /// The measured value, if any.
    pub measured: Option<Interval>,
    /// The number of starts behind it.
    pub starts: usize,
    /// The measured value as a fraction of the limit.
    pub used: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason as a message; empty if it passes.
    pub reason: String,
    /// The largest parts of the measured value, largest first, if it does not pass.
    pub parts: Vec<Part>,
}

/// A part of a measured value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The name of a cause, module or kernel.
    pub name: String,
    /// The unit.
    pub unit: Unit,
    /// The value.
    pub value: f64,
}

/// One measured quantity, limited or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// The quantity.
    pub quantity: LineKind,
    /// The cause, if it is one.
    pub cause: Option<Cause>,
    /// The temperature of the starts.
    pub temperature: Temperature,
    /// The human-readable name.
    pub title: String,
    /// The unit.
    pub unit: Unit,
    /// The estimate and its interval.
    pub measured: Interval,
    /// The number of starts behind it.
    pub starts: usize,
}
