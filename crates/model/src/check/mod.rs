//! Budgets: quantities and their units, as text and as numbers, and the verdicts on them.
//!
//! [`CheckReport`] is the document `preheat.check/2`: a recording against its budget, line by
//! line. It is documented in docs/check-json.md and docs/schema/preheat.check-2.schema.json;
//! change all three together.

mod limited;
pub mod value;

use serde::{Deserialize, Serialize};

use crate::run::{Cause, Temperature};
use crate::stats::Estimate;
use crate::{Machine, Quantity};
use thiserror::Error;

pub use crate::units::Unit;
pub use limited::{Limited, UnknownCause, did_you_mean, nearest};
pub use value::InvalidValue;

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
    /// Iterations before the steady state.
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
    pub place: Option<Position>,
    /// The measured value, if any.
    pub measured: Option<Estimate>,
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
    pub measured: Estimate,
    /// The number of starts behind it.
    pub starts: usize,
}

// A budget drafted from measurements.

/// One measured quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The quantity.
    pub of: Limited,
    /// The temperature of the starts.
    pub temperature: Temperature,
    /// The estimate and its interval.
    pub value: Estimate,
    /// The number of starts it is based on.
    pub starts: usize,
}

/// A drafted budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The headroom of each limit above the measured value: 0.25 is a quarter.
    pub headroom: f64,
    /// The minimum number of starts to require.
    pub starts: Option<usize>,
    /// The exit code of all starts, if not 0.
    pub exit_code: Option<i32>,
    /// The limits.
    pub lines: Vec<DraftLine>,
    /// Quantities whose intervals are too wide for a limit.
    pub uncertain: Vec<Measured>,
}

/// A drafted limit.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftLine {
    /// The measurement behind it.
    pub measured: Measured,
    /// True if it belongs in the section of its temperature.
    pub colder: bool,
    /// The limit as text: `12 s`, `1.1 GiB`.
    pub most: String,
}

// Positions in a budget.

/// A position in a text; line and column count characters from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// The position of the byte `at`, or of the end if the text is shorter.
    pub fn of(text: &str, at: usize) -> Position {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Position {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// An error in a budget, with its position: `3:17: a message`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}:{}: {what}", place.line, place.column)]
pub struct Misplaced {
    /// The position.
    pub place: Position,
    /// The message.
    pub what: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let text = "a\r\nµs = 1\n";
        for (at, line, column) in [(0, 1, 1), (3, 2, 1), (5, 2, 2), (4, 2, 1), (999, 3, 1)] {
            assert_eq!(
                Position::of(text, at),
                Position { line, column },
                "byte {at}"
            );
        }
    }
}
