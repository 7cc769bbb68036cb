//! Explains why a line does not pass, and what the measured value consists of.

use preheat_model::Quantity;

use super::{Limited, Part, Unit};
use crate::run::{CauseSeconds, RunReport};
use crate::stats::{FEWEST, Interval};

/// The maximum number of parts.
const PARTS: usize = 3;

/// Describes a value above its limit, and how certain that is.
pub(super) fn above(unit: Unit, most: f64, value: &Interval, starts: usize) -> String {
    let measured = unit.write(value.estimate);
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
            FEWEST + 1
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
