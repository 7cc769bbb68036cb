//! Summarizes all starts of a series together.
//!
//! Each start is summarized separately, on as many threads as the machine has if there is
//! enough work; the result does not depend on their number.

use std::num::NonZero;
use std::thread;

use serde::{Deserialize, Serialize};

use super::interval::paired_ratio_of;
use super::{Class, Consistency, Estimate, geometric_mean, median, steady};

/// A first iteration is slower than steady from this ratio on.
const SLOWER_FROM: f64 = 1.05;

/// Fewer iterations than this in total are not worth a thread.
const WORTH_A_THREAD: usize = 2000;

/// The summary of a series. Times have the unit of the values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesSummary {
    /// The most frequent class; of equally frequent ones the worst; `cold-first` where most
    /// starts seem flat but the ratio over all of them is clear of 1.05.
    pub class: Class,
    /// The agreement of the starts on the class.
    pub consistency: Consistency,
    /// The first iteration: the geometric mean over the starts with a steady state (over
    /// all, if there are none).
    pub first: f64,
    /// The steady time: the geometric mean over the starts that have one.
    pub steady: Option<f64>,
    /// First ÷ steady, over the starts with a steady state.
    pub ratio: Option<Estimate>,
    /// The median number of warm-up iterations.
    pub warmup: Option<f64>,
    /// The median excess.
    pub excess: Option<f64>,
    /// The individual starts, in order.
    pub starts: Vec<StartSummary>,
}

/// Summarizes the iteration times of several starts. `None` without starts, or if one of
/// them has no iterations or a time that is not finite and above zero.
pub fn summarize(starts: &[Vec<f64>], seed: u64) -> Option<SeriesSummary> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    summarize_on(starts, seed, threads)
}

/// [`summarize`] on at most this many threads, for callers with their own threads. The
/// result is the same.
pub fn summarize_on(starts: &[Vec<f64>], seed: u64, threads: usize) -> Option<SeriesSummary> {
    let summaries = summarize_each(starts, threads)?;
    let classes: Vec<Class> = summaries.iter().map(|s| s.class).collect();
    let over = |value: fn(&StartSummary) -> Option<f64>| {
        let values: Vec<f64> = summaries.iter().filter_map(value).collect();
        median(&values)
    };
    // The steady iterations of a flat start begin at 0, but the first one cannot be
    // compared with itself.
    let pairs: Vec<(&[f64], &[f64])> = (starts.iter().zip(&summaries))
        .filter_map(|(values, s)| Some((&values[..1], &values[s.steady_start?.max(1)..])))
        .collect();
    // Over the same starts and with the same mean as the ratio, so that they divide to it.
    let (first, steady) = if pairs.is_empty() {
        let firsts: Vec<Vec<f64>> = summaries.iter().map(|s| vec![s.first]).collect();
        (geometric_mean(&firsts)?, None)
    } else {
        (
            geometric_mean(&pairs.iter().map(|pair| pair.0.to_vec()).collect::<Vec<_>>())?,
            geometric_mean(&pairs.iter().map(|pair| pair.1.to_vec()).collect::<Vec<_>>()),
        )
    };
    let ratio = paired_ratio_of(&pairs, seed);
    let class = match Class::overall(&classes)? {
        // All starts together may show what is lost in the noise of a single one.
        Class::Flat if ratio.is_some_and(|ratio| ratio.is_above(SLOWER_FROM)) => Class::ColdFirst,
        class => class,
    };
    Some(SeriesSummary {
        class,
        consistency: Consistency::of(&classes),
        first,
        steady,
        ratio,
        warmup: over(|s| s.steady_start.map(|i| i as f64)),
        excess: over(|s| s.excess),
        starts: summaries,
    })
}

fn summarize_each(starts: &[Vec<f64>], most: usize) -> Option<Vec<StartSummary>> {
    let iterations: usize = starts.iter().map(Vec::len).sum();
    let threads = match iterations {
        WORTH_A_THREAD.. => most.min(starts.len()),
        _ => 1,
    };
    if threads <= 1 {
        return starts.iter().map(|s| summarize_start(s)).collect();
    }
    let mut results: Vec<Option<StartSummary>> = vec![None; starts.len()];
    let share = starts.len().div_ceil(threads);
    thread::scope(|scope| {
        for (starts, results) in starts.chunks(share).zip(results.chunks_mut(share)) {
            scope.spawn(move || {
                for (values, result) in starts.iter().zip(results) {
                    *result = summarize_start(values);
                }
            });
        }
    });
    results.into_iter().collect()
}

// Summarizes one start: its first iteration, its steady state, and the warm-up between.
//
// The published classifiers (Barrett et al. 2017, Traini et al. 2022) merge a single slow
// first iteration with the second one and then miss it, whatever its size. Here, iteration
// 0 is compared directly with the steady iterations.

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

#[cfg(test)]
mod tests {
    use super::super::Rng;
    use super::*;

    fn cold(rng: &mut Rng, n: usize, first: f64) -> Vec<f64> {
        (0..n)
            .map(|i| if i == 0 { first } else { 0.01 })
            .map(|level| level * (0.01 * rng.normal()).exp())
            .collect()
    }

    #[test]
    fn medians_classes_and_ratio_of_a_cold_series() {
        let mut rng = Rng::new(1);
        let starts: Vec<_> = (0..10).map(|_| cold(&mut rng, 50, 0.5)).collect();
        let found = summarize(&starts, 7).unwrap();
        assert_eq!(found.class, Class::ColdFirst);
        assert_eq!(found.consistency, Consistency::Consistent);
        assert_eq!(found.warmup, Some(1.0));
        assert!((found.first - 0.5).abs() < 0.02);
        assert!((found.steady.unwrap() - 0.01).abs() < 1e-4);
        assert!((found.excess.unwrap() - 0.49).abs() < 0.02);
        let ratio = found.ratio.unwrap();
        assert!(ratio.is_above(48.0) && ratio.is_below(52.0), "{ratio:?}");
        assert_eq!(found.starts.len(), 10);
        assert_eq!(summarize(&starts, 7), Some(found));
    }

    #[test]
    fn starts_may_disagree_and_threads_keep_their_order() {
        let mut rng = Rng::new(2);
        let mut starts: Vec<_> = (0..9).map(|_| cold(&mut rng, 500, 0.01)).collect();
        starts[3] = cold(&mut rng, 500, 9.0);
        let found = summarize(&starts, 7).unwrap();
        assert_eq!(found.class, Class::Flat);
        assert_eq!(found.consistency, Consistency::GoodInconsistent);
        assert_eq!(found.starts[3].class, Class::ColdFirst);
        let alone: Vec<_> = starts.iter().map(|s| summarize_start(s).unwrap()).collect();
        assert_eq!(found.starts, alone);
        for threads in [0, 1, 3, 100] {
            assert_eq!(summarize_on(&starts, 7, threads), Some(found.clone()));
        }
        let ratio = found.ratio.unwrap();
        assert!(!ratio.is_below(1.0));
    }

    #[test]
    fn a_series_without_a_steady_state_still_has_a_first() {
        let found = summarize(&[vec![3.0], vec![4.0, 1.0]], 7).unwrap();
        assert_eq!(found.class, Class::NoSteadyState);
        assert!((found.first - 12f64.sqrt()).abs() < 1e-12);
        assert_eq!((found.steady, found.ratio), (None, None));
        assert_eq!((found.warmup, found.excess), (None, None));
    }

    #[test]
    fn invalid_times_have_no_summary() {
        assert_eq!(summarize(&[], 7), None);
        for bad in [vec![], vec![1.0, 0.0], vec![f64::NAN], vec![-1.0]] {
            assert_eq!(summarize(&[vec![1.0; 9], bad], 7), None);
        }
    }

    #[test]
    fn json_round_trips() {
        let starts = vec![vec![0.5, 0.01, 0.01, 0.01]; 4];
        let found = summarize(&starts, 7).unwrap();
        let json = serde_json::to_string(&found).unwrap();
        assert!(json.contains(r#""class":"cold-first","consistency":"consistent""#));
        let back: SeriesSummary = serde_json::from_str(&json).unwrap();
        assert_eq!(back.class, found.class);
        assert_eq!(back.starts.len(), 4);
    }
}
