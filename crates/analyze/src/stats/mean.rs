//! The mean of amounts that add up, with its 95 % interval, replicated by start.
//!
//! Times and ratios have multiplicative errors, as [`interval`](super::interval) assumes.
//! An excess, a number of warm-up iterations, or a cause that some starts lack does not:
//! these may be 0, and an excess is negative where the first iteration happened to be fast.
//! So they are averaged directly, with Student's interval.

use super::Estimate;
use super::welch::mean;

/// The mean over starts of one amount each, of any sign. `None` without amounts, or if one
/// is not finite or their sum overflows.
pub fn mean_interval(amounts: &[f64]) -> Option<Estimate> {
    if !amounts.iter().all(|amount| amount.is_finite()) {
        return None;
    }
    let found = mean(amounts)?;
    let (low, high) = found.interval.unzip();
    let ends = [low, high, Some(found.value)];
    let finite = ends.iter().flatten().all(|end| end.is_finite());
    finite.then_some(Estimate {
        value: found.value,
        low,
        high,
    })
}

// The number of values, their mean and their variance.

/// The mean and the variance of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moments {
    /// The number of values.
    pub count: f64,
    /// Their mean.
    pub mean: f64,
    /// Their unbiased variance: 0 for a single value.
    pub variance: f64,
}

impl Moments {
    /// The moments of finite values; `None` for an empty list.
    pub(super) fn of(values: &[f64]) -> Option<Moments> {
        let first = *values.first()?;
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let count = values.len() as f64;
        // Relative to the first value, so that equal values have exactly zero variance.
        let shift = values.iter().map(|value| value - first).sum::<f64>() / count;
        let mean = first + shift;
        let squares = values.iter().map(|value| (value - mean).powi(2));
        let same = values.iter().all(|value| *value == first);
        let variance = match same || values.len() < 2 {
            true => 0.0,
            false => squares.sum::<f64>() / (count - 1.0),
        };
        Some(Moments {
            count,
            mean,
            variance,
        })
    }

    /// The square of the mean's standard error.
    pub(super) fn squared_error(&self) -> f64 {
        self.variance / self.count
    }
}

/// The degrees of freedom of a sum of two variances, estimated from these numbers of values
/// (Welch and Satterthwaite); at least one of the variances is above zero.
pub(super) fn freedom(of_a: f64, count_a: f64, of_b: f64, count_b: f64) -> f64 {
    // Shares of the total, so that small variances do not underflow when squared.
    let (share_a, share_b) = (of_a / (of_a + of_b), of_b / (of_a + of_b));
    1.0 / (share_a.powi(2) / (count_a - 1.0) + share_b.powi(2) / (count_b - 1.0))
}

#[cfg(test)]
mod tests {
    use super::super::Rng;
    use super::*;

    #[test]
    fn intervals_have_their_nominal_coverage() {
        for n in [3, 5, 10, 30] {
            // Negative, zero and positive: the sign must not matter.
            for truth in [-2.0, 0.0, 7.0] {
                let mut rng = Rng::new(4);
                let trials = 1000;
                let covered = (0..trials)
                    .filter(|_| {
                        let amounts: Vec<f64> = (0..n).map(|_| truth + rng.normal()).collect();
                        let found = mean_interval(&amounts).unwrap();
                        !found.is_above(truth) && !found.is_below(truth)
                    })
                    .count();
                let share = f64::from(u32::try_from(covered).unwrap()) / f64::from(trials);
                assert!((0.93..=0.97).contains(&share), "{n} at {truth}: {share}");
            }
        }
    }

    #[test]
    fn the_estimate_is_the_mean_and_few_starts_have_no_interval() {
        let found = mean_interval(&[-1.0, 3.0]).unwrap();
        assert_eq!((found.value, found.low, found.high), (1.0, None, None));
        let found = mean_interval(&[0.0; 5]).unwrap();
        assert_eq!((found.low, found.high), (Some(0.0), Some(0.0)));
        let found = mean_interval(&[1.0, 2.0, 6.0]).unwrap();
        assert_eq!(found.value, 3.0);
        assert!(found.low.unwrap() < 1.0 && found.high.unwrap() > 6.0);
    }

    #[test]
    fn amounts_without_a_finite_sum_have_no_mean() {
        assert_eq!(mean_interval(&[]), None);
        for bad in [f64::NAN, f64::INFINITY] {
            assert_eq!(mean_interval(&[1.0, bad]), None);
        }
        assert_eq!(mean_interval(&[f64::MAX, f64::MAX, -f64::MAX]), None);
    }

    #[test]
    fn equal_values_have_zero_variance_and_others_the_unbiased_one() {
        let third = 1.0 / 3.0;
        let same = Moments::of(&[third; 7]).unwrap();
        assert_eq!((same.mean, same.variance), (third, 0.0));
        let found = Moments::of(&[1.0, 2.0, 6.0]).unwrap();
        assert_eq!((found.mean, found.variance), (3.0, 7.0));
        assert!((found.squared_error() - 7.0 / 3.0).abs() < 1e-12);
        assert_eq!(Moments::of(&[5.0]).unwrap().variance, 0.0);
        assert_eq!(Moments::of(&[]), None);
        assert_eq!(Moments::of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn freedom_lies_between_the_smaller_sample_and_both() {
        assert!((freedom(1.0, 10.0, 1.0, 10.0) - 18.0).abs() < 1e-12);
        assert_eq!(freedom(0.0, 10.0, 1e-300, 4.0), 3.0);
    }
}
