//! The mean of amounts that add up, with its 95 % interval, replicated by start.
//!
//! Times and ratios err by factors, and `interval` treats them so. An excess does not: it is
//! a sum of differences, is 0 in a flat start and below 0 where the first iteration
//! happened to be a fast one. So it is averaged as it is: what warm-up costs a start, over
//! many starts. Its interval is made as the others are (see `interval`), without logarithms;
//! a start has one such amount, so only starts are drawn again.

use super::interval::{Interval, MIN_STARTS, RESAMPLES, ends, mean_and_squared_error};
use super::rng::Rng;

/// The mean over starts of one amount each, of any sign. `None` without amounts, or where one
/// is not finite or all together are too large to add up.
pub fn mean_interval(amounts: &[f64], seed: u64) -> Option<Interval> {
    let n = amounts.len();
    if n == 0 || !amounts.iter().all(|amount| amount.is_finite()) {
        return None;
    }
    let (mean, squared_error) = mean_and_squared_error(amounts);
    if !mean.is_finite() || !squared_error.is_finite() {
        return None;
    }
    let mut result = Interval {
        median: mean,
        low: None,
        high: None,
    };
    if n >= MIN_STARTS {
        let mut rng = Rng::new(seed);
        let mut draws: Vec<f64> = (0..RESAMPLES)
            .map(|_| (0..n).map(|_| amounts[rng.below(n)]).sum::<f64>() / n as f64)
            .collect();
        let (low, high) = ends(&mut draws, n, mean, squared_error.sqrt());
        result.low = Some(low.min(mean));
        result.high = Some(high.max(mean));
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_the_truth_about_as_often_as_they_say() {
        for n in [3, 5, 10, 30] {
            // Around a value below 0 and one at 0: the sign must not matter.
            for truth in [-2.0, 0.0, 7.0] {
                let mut rng = Rng::new(4);
                let trials = 400;
                let held = (0..trials)
                    .filter(|trial| {
                        let amounts: Vec<f64> = (0..n).map(|_| truth + rng.normal()).collect();
                        let found = mean_interval(&amounts, *trial).unwrap();
                        !found.is_above(truth) && !found.is_below(truth)
                    })
                    .count();
                let share = held as f64 / trials as f64;
                assert!((0.92..=0.99).contains(&share), "{n} at {truth}: {share}");
            }
        }
    }

    #[test]
    fn the_estimate_is_the_mean_and_few_starts_have_no_interval() {
        let found = mean_interval(&[-1.0, 3.0], 1).unwrap();
        assert_eq!((found.median, found.low, found.high), (1.0, None, None));
        let found = mean_interval(&[0.0; 5], 1).unwrap();
        assert_eq!((found.low, found.high), (Some(0.0), Some(0.0)));
        let found = mean_interval(&[1.0, 2.0, 6.0], 1).unwrap();
        assert_eq!(found.median, 3.0);
        assert!(found.low.unwrap() < 1.0 && found.high.unwrap() > 6.0);
        assert_eq!(mean_interval(&[1.0, 2.0, 6.0], 1), Some(found));
    }

    #[test]
    fn what_cannot_be_added_up_has_no_mean() {
        assert_eq!(mean_interval(&[], 1), None);
        for bad in [f64::NAN, f64::INFINITY] {
            assert_eq!(mean_interval(&[1.0, bad], 1), None);
        }
        assert_eq!(mean_interval(&[f64::MAX, f64::MAX, -f64::MAX], 1), None);
    }
}
