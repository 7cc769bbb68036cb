//! Summarizes one start: its first iteration, its steady state, and the warm-up between.
//!
//! The published classifiers (Barrett et al. 2017, Traini et al. 2022) merge a single slow
//! first iteration with the second one and then miss it, whatever its size. Here, iteration
//! 0 is compared directly with the steady iterations.

use serde::{Deserialize, Serialize};

use super::Class;
use super::steady;

/// The summary of one start. Times have the unit of the values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartSummary {
    /// The shape of the series.
    pub class: Class,
    /// The first iteration.
    pub first: f64,
    /// The median iteration after warm-up, always without iteration 0.
    pub steady: Option<f64>,
    /// The number of warm-up iterations: 0 if flat, 1 if only the first is slow.
    pub steady_start: Option<usize>,
    /// The cost of warm-up beyond steady, Σ(tᵢ − steady) before `steady_start`.
    pub excess: Option<f64>,
}

/// Summarizes the iteration times of one start. `None` if there are none, or one of them is
/// not finite and above zero.
///
/// One or two iterations have no steady state; three or more can have one.
pub fn summarize_start(values: &[f64]) -> Option<StartSummary> {
    if !are_times(values) {
        return None;
    }
    let first = values[0];
    let Some(steady) = steady::find(values) else {
        return Some(StartSummary {
            class: Class::NoSteadyState,
            first,
            steady: None,
            steady_start: None,
            excess: None,
        });
    };
    let (class, steady_start) = match steady.start {
        _ if steady.was_faster => (Class::Slowdown, steady.start),
        1 if steady.first_is_slow => (Class::ColdFirst, 1),
        1 => (Class::Flat, 0),
        later => (Class::Warmup, later),
    };
    let before = values[..steady_start].iter();
    Some(StartSummary {
        class,
        first,
        steady: Some(steady.level),
        steady_start: Some(steady_start),
        excess: Some(before.map(|t| t - steady.level).sum()),
    })
}

/// The first iterations of the starts with a steady state (of all, if there are none), so
/// that they divide by the steady ones to the ratio.
pub fn firsts(starts: &[StartSummary]) -> Vec<f64> {
    let settle = starts.iter().any(|start| start.steady.is_some());
    let counted = (starts.iter()).filter(|start| !settle || start.steady.is_some());
    counted.map(|start| start.first).collect()
}

/// Returns true if these are valid times: at least one value, all finite and above zero.
pub(super) fn are_times(values: &[f64]) -> bool {
    !values.is_empty() && values.iter().all(|v| v.is_finite() && *v > 0.0)
}
