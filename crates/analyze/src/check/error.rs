//! The reasons why a recording cannot be checked, or one of its quantities is unknown.

use preheat_model::Quantity;

use super::{Limited, Part, Unit};
use crate::run::{CauseSeconds, RunReport, Temperature};
use crate::stats::{Estimate, MIN_STARTS};

/// The reason why a quantity is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotMeasured {
    /// The recording is empty.
    #[error("the recording has no start")]
    NoStart,
    /// No start has the temperature of the limit.
    #[error("no start was recorded at temperature {name}; record with --temperature {name}", name = .0.as_str())]
    NotAt(Temperature),
    /// The recording is damaged.
    #[error("the recording cannot be read, see `preheat report`")]
    Damaged,
    /// All starts were cut off.
    #[error("no start finished")]
    Unfinished,
    /// Nothing repeats.
    #[error("no iterations were found; define them with `preheat run --iterations`")]
    NoIterations,
    /// There are too few iterations, or they never become steady.
    #[error("no start reached a steady state; run more iterations")]
    NoSteadyState,
    /// No device was seen.
    #[error("no device was used, or its memory is not known")]
    NoDeviceMemory,
    /// The system does not report it.
    #[error("the resident size is not known")]
    NoHostMemory,
    /// The program ran without the recorder.
    #[error("no start was recorded, so causes are unknown")]
    NoCauses,
}

/// The reason why no budget can be drafted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DraftError {
    /// Some starts failed.
    #[error(
        "its starts have different exit codes: a budget needs a recording of successful starts"
    )]
    DifferentExitCodes,
    /// No quantity is known.
    #[error("the recording contains no measurements")]
    NothingMeasured,
    /// All intervals are too wide for a limit.
    #[error("the starts differ too much; record more of them, on a quiet machine")]
    Uncertain,
    /// There are no starts, or they cannot be read.
    #[error(transparent)]
    NotMeasured(#[from] NotMeasured),
}

/// The recording has fewer starts than the budget requires.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the budget needs at least {least} starts, and the recording has {made}{}; record with `preheat run --starts {least}`",
    at.map_or(String::new(), |at| format!(" at temperature {}", at.as_str()))
)]
pub struct TooFewStarts {
    /// The number that the budget requires.
    pub least: usize,
    /// The number in the recording.
    pub made: usize,
    /// Their temperature.
    pub at: Option<Temperature>,
}

// Explains why a line does not pass, and what the measured value consists of.

/// The maximum number of parts.
const PARTS: usize = 3;

/// Describes a value above its limit, and how certain that is.
pub(super) fn above(unit: Unit, most: f64, value: &Estimate, starts: usize) -> String {
    let measured = unit.write(value.value);
    let limit = unit.write(most);
    let above = format!("{measured} against a limit of {limit}");
    match (value.low, unit.ends(value)) {
        (Some(low), Some(ends)) if low <= most => format!(
            "{above}, but the interval {ends} reaches down to it: {starts} starts are too few to decide"
        ),
        (Some(_), Some(ends)) => format!("{above}, and the whole interval {ends} is above it"),
        _ => format!(
            "{above}, but only {}; use --starts {} or more (the first does not count)",
            match starts {
                1 => "one start counts".to_owned(),
                _ => format!("{starts} starts count"),
            },
            MIN_STARTS + 1
        ),
    }
}

/// The largest parts of a quantity, for the warmest starts.
pub(super) fn parts(report: &RunReport, of: Limited) -> Vec<Part> {
    let part = |name: &str, unit, value| Part {
        name: name.to_owned(),
        unit,
        value,
    };
    let mut parts: Vec<Part> = match of {
        Limited::Quantity(Quantity::TimeToFirst) => (report.causes.iter())
            .map(|cause| part(cause.cause.as_str(), Unit::Seconds, cause.seconds))
            .collect(),
        Limited::Cause(cause) => (report.causes.iter())
            .filter(|found| found.cause == cause)
            .flat_map(|found| &found.items)
            .map(|item| part(&item.name, Unit::Seconds, item.seconds))
            .collect(),
        Limited::Quantity(Quantity::First | Quantity::Ratio | Quantity::Excess) => (report
            .first_excess
            .iter())
        .map(|CauseSeconds { cause, seconds }| part(cause.as_str(), Unit::Seconds, *seconds))
        .collect(),
        Limited::Quantity(Quantity::DeviceMemory) => match &report.memory.device {
            Some(device) => [
                ("context", device.context),
                ("kernels", device.kernels),
                ("allocated", device.used),
                ("reserved", device.reserved),
                ("libraries", device.workspaces),
                ("other", device.other),
            ]
            .map(|(name, bytes)| part(name, Unit::Bytes, bytes as f64))
            .to_vec(),
            None => Vec::new(),
        },
        Limited::Quantity(Quantity::Steady | Quantity::Warmup | Quantity::HostMemory) => Vec::new(),
    };
    parts.retain(|part| part.value > 0.0);
    parts.sort_by(|a, b| b.value.total_cmp(&a.value));
    parts.truncate(PARTS);
    parts
}
