//! The mean of amounts that add up, with its 95 % interval, replicated by start.
//!
//! Times and ratios have multiplicative errors, as [`interval`](super::interval) assumes.
//! An excess, a number of warm-up iterations, or a cause that some starts lack does not:
//! these may be 0, and an excess is negative where the first iteration happened to be fast.
//! So they are averaged directly, with Student's interval.

use super::Interval;
use super::welch::mean;

/// The mean over starts of one amount each, of any sign. `None` without amounts, or if one
/// is not finite or their sum overflows.
pub fn mean_interval(amounts: &[f64]) -> Option<Interval> {
    if !amounts.iter().all(|amount| amount.is_finite()) {
        return None;
    }
    let found = mean(amounts)?;
    let (low, high) = found.interval.unzip();
    let ends = [low, high, Some(found.value)];
    let finite = ends.iter().flatten().all(|end| end.is_finite());
    finite.then_some(Interval {
        estimate: found.value,
        low,
        high,
    })
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
        assert_eq!((found.estimate, found.low, found.high), (1.0, None, None));
        let found = mean_interval(&[0.0; 5]).unwrap();
        assert_eq!((found.low, found.high), (Some(0.0), Some(0.0)));
        let found = mean_interval(&[1.0, 2.0, 6.0]).unwrap();
        assert_eq!(found.estimate, 3.0);
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
}
