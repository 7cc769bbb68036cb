//! A budget drafted from measurements.

use super::Limited;
use crate::run::Temperature;
use crate::stats::Interval;

/// One measured quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The quantity.
    pub of: Limited,
    /// The temperature of the starts.
    pub temperature: Temperature,
    /// The estimate and its interval.
    pub value: Interval,
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
