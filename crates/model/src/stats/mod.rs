//! Estimates with intervals, medians, classes, and the seeded random numbers behind orders and
//! resampling.

mod rng;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use rng::Rng;

/// The minimum number of starts for an interval.
pub const MIN_STARTS: usize = 3;

/// A first iteration that is slower by this factor is not like a typical one, even if some
/// later iterations are as slow.
pub const MUCH_SLOWER: f64 = 1.5;

/// A number with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate. For times, ratios and memory, the geometric mean over starts of each
    /// start's median; for amounts that add up and may be zero, the arithmetic mean over
    /// starts.
    // The aliases are its names in version 1 of the documents.
    #[serde(rename = "estimate", alias = "median", alias = "value")]
    pub value: f64,
    /// The lower bound; `None` with fewer than three starts.
    pub low: Option<f64>,
    /// The upper bound; `None` with fewer than three starts.
    pub high: Option<f64>,
}

impl Estimate {
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

// Medians and quantiles.
//
// Values are ordered by `f64::total_cmp`, so that a NaN sorts last instead of making the
// order undefined. Nothing here validates the values.

/// The middle value, or the mean of the two middle ones; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The quantile `q` (clamped to 0 to 1), interpolated linearly between the two neighboring
/// values (type 7 of Hyndman & Fan 1996, the default of R and NumPy). `None` without values
/// or when `q` is NaN.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if values.is_empty() || q.is_nan() {
        return None;
    }
    let mut values = values.to_vec();
    let (below, part) = position(values.len(), q);
    let (_, low, rest) = values.select_nth_unstable_by(below, f64::total_cmp);
    let low = *low;
    match rest.iter().copied().min_by(f64::total_cmp) {
        Some(high) if part > 0.0 => Some(between(low, high, part)),
        _ => Some(low),
    }
}

/// [`quantile`] of sorted values, of which there must be at least one.
pub fn quantile_of_sorted(sorted: &[f64], q: f64) -> f64 {
    let (below, part) = position(sorted.len(), q);
    let high = sorted[(below + 1).min(sorted.len() - 1)];
    between(sorted[below], high, part)
}

/// The position of quantile `q` among `n` values: the index below it, and the fraction of
/// the way to the next.
fn position(n: usize, q: f64) -> (usize, f64) {
    let at = q.clamp(0.0, 1.0) * (n - 1) as f64;
    let below = (at as usize).min(n - 1);
    (below, at - below as f64)
}

fn between(low: f64, high: f64, part: f64) -> f64 {
    // Weighted, not `low + part * (high - low)`: the difference may overflow.
    if part == 0.0 {
        low
    } else {
        low * (1.0 - part) + high * part
    }
}

/// The typical value over starts: the geometric mean of the medians of their lists, which
/// is the center of the intervals. `None` without lists, or if a median is not above zero.
pub fn geometric_mean(lists: &[Vec<f64>]) -> Option<f64> {
    let logs: Option<Vec<f64>> = lists
        .iter()
        .map(|list| median(list).filter(|m| *m > 0.0).map(f64::ln))
        .collect();
    let logs = logs.filter(|logs| !logs.is_empty())?;
    Some((logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

// The classes of series.
//
// After Barrett et al. 2017, "Virtual machine warmup blows hot and cold", whose classes
// are flat, warmup, slowdown and no steady state. `cold-first` is added: a single slow
// iteration at the beginning, which most GPU programs show and which a classifier that
// needs two iterations to detect a change cannot see.

/// The shape of a series of iteration times, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Class {
    /// As fast from the first iteration on as ever after.
    #[serde(rename = "flat")]
    Flat,
    /// Only the first iteration is slower.
    #[serde(rename = "cold-first")]
    ColdFirst,
    /// Several iterations are slower before the series settles.
    #[serde(rename = "warmup")]
    Warmup,
    /// The series settles at a lower speed than it had before.
    #[serde(rename = "slowdown")]
    Slowdown,
    /// The series does not settle, or is too short.
    #[serde(rename = "no steady state")]
    NoSteadyState,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 5] = [
        Class::Flat,
        Class::ColdFirst,
        Class::Warmup,
        Class::Slowdown,
        Class::NoSteadyState,
    ];

    /// The name in output and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Flat => "flat",
            Class::ColdFirst => "cold-first",
            Class::Warmup => "warmup",
            Class::Slowdown => "slowdown",
            Class::NoSteadyState => "no steady state",
        }
    }

    /// The class of several starts: the most frequent one; of equally frequent ones the
    /// worst. `None` without starts.
    pub fn overall(classes: &[Class]) -> Option<Class> {
        let count = |class: Class| classes.iter().filter(|c| **c == class).count();
        let most_frequent = Class::ALL.into_iter().max_by_key(|c| (count(*c), *c));
        most_frequent.filter(|_| !classes.is_empty())
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The agreement of a series' starts on its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Consistency {
    /// All starts have the same class.
    #[serde(rename = "consistent")]
    Consistent,
    /// They differ, but all of them settle at their best speed.
    #[serde(rename = "good inconsistent")]
    GoodInconsistent,
    /// They differ, and some slow down or do not settle.
    #[serde(rename = "bad inconsistent")]
    BadInconsistent,
}

impl Consistency {
    /// The name in output and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Consistency::Consistent => "consistent",
            Consistency::GoodInconsistent => "good inconsistent",
            Consistency::BadInconsistent => "bad inconsistent",
        }
    }

    /// The consistency of starts with these classes.
    pub fn of(classes: &[Class]) -> Consistency {
        if classes.windows(2).all(|pair| pair[0] == pair[1]) {
            Consistency::Consistent
        } else if classes.iter().all(|class| *class <= Class::Warmup) {
            Consistency::GoodInconsistent
        } else {
            Consistency::BadInconsistent
        }
    }
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Class::{ColdFirst, Flat, NoSteadyState, Slowdown, Warmup};
    use super::*;

    #[test]
    fn medians_of_odd_even_and_no_values() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
    }

    #[test]
    fn quantiles_agree_with_numpy() {
        let values = [15.0, 20.0, 35.0, 40.0, 50.0];
        assert_eq!(quantile(&values, 0.0), Some(15.0));
        assert_eq!(quantile(&values, 0.4), Some(29.0));
        assert_eq!(quantile(&values, 1.0), Some(50.0));
        assert_eq!(quantile(&values, 7.0), Some(50.0));
        assert_eq!(quantile(&values, -7.0), Some(15.0));
        assert_eq!(quantile(&values, f64::NAN), None);
        for q in [0.0, 0.1, 0.33, 0.5, 0.95, 1.0] {
            assert_eq!(quantile(&values, q), Some(quantile_of_sorted(&values, q)));
        }
    }

    #[test]
    fn a_nan_sorts_last() {
        assert_eq!(median(&[f64::NAN, 1.0, 2.0]), Some(2.0));
        assert_eq!(quantile(&[f64::NAN, 1.0, 2.0], 0.0), Some(1.0));
        assert!(median(&[f64::NAN]).is_some_and(f64::is_nan));
    }

    #[test]
    fn the_geometric_mean_of_medians() {
        let lists = [vec![1.0, 1.0, 9.0], vec![4.0], vec![2.0, 2.0]];
        assert!((geometric_mean(&lists).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[vec![0.0]]), None);
        assert_eq!(geometric_mean(&[vec![]]), None);
    }

    #[test]
    fn json_names_match_the_output() {
        for class in Class::ALL {
            let json = serde_json::to_string(&class).unwrap();
            assert_eq!(json, format!("\"{class}\""));
            assert_eq!(serde_json::from_str::<Class>(&json).unwrap(), class);
        }
        for consistency in [
            Consistency::Consistent,
            Consistency::GoodInconsistent,
            Consistency::BadInconsistent,
        ] {
            let json = serde_json::to_string(&consistency).unwrap();
            assert_eq!(json, format!("\"{consistency}\""));
            let back: Consistency = serde_json::from_str(&json).unwrap();
            assert_eq!(back, consistency);
        }
    }

    #[test]
    fn the_most_frequent_class_wins_and_ties_go_to_the_worse() {
        assert_eq!(Class::overall(&[]), None);
        assert_eq!(Class::overall(&[Flat]), Some(Flat));
        assert_eq!(Class::overall(&[Warmup, Flat, Flat]), Some(Flat));
        assert_eq!(
            Class::overall(&[ColdFirst, Warmup, ColdFirst, Warmup]),
            Some(Warmup)
        );
        let tie = [NoSteadyState, Flat];
        assert_eq!(Class::overall(&tie), Some(NoSteadyState));
    }

    #[test]
    fn disagreement_is_good_if_all_starts_settle_at_their_best() {
        assert_eq!(Consistency::of(&[]), Consistency::Consistent);
        assert_eq!(Consistency::of(&[Slowdown; 3]), Consistency::Consistent);
        let good = [Flat, ColdFirst, Warmup];
        assert_eq!(Consistency::of(&good), Consistency::GoodInconsistent);
        for bad in [Slowdown, NoSteadyState] {
            let classes = [Flat, bad, Flat];
            assert_eq!(Consistency::of(&classes), Consistency::BadInconsistent);
        }
    }
}
