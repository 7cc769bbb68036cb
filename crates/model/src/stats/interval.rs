//! Estimates with 95 % intervals.

use serde::{Deserialize, Serialize};

/// An estimate and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The estimate. For times, ratios and memory, the geometric mean over starts of each
    /// start's median; for amounts that add up and may be zero, the
    /// arithmetic mean over starts.
    #[serde(alias = "median")] // Its name in version 1 of the documents.
    pub estimate: f64,
    /// The lower bound; `None` with fewer than three starts.
    pub low: Option<f64>,
    /// The upper bound; `None` with fewer than three starts.
    pub high: Option<f64>,
}

impl Interval {
    /// Returns true if the whole interval is above the threshold; false without an
    /// interval.
    pub fn is_above(&self, threshold: f64) -> bool {
        self.low.is_some_and(|low| low > threshold)
    }

    /// Returns true if the whole interval is below the threshold; false without an
    /// interval.
    pub fn is_below(&self, threshold: f64) -> bool {
        self.high.is_some_and(|high| high < threshold)
    }
}
