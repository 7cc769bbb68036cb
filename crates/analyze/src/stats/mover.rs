//! The difference of two geometric means, in their original unit.
//!
//! Logarithms give the interval of a ratio. Multiplying it by one of the means would not
//! give the interval of the difference, because that mean is an estimate too: with a ratio
//! of 0.2, the difference is nearly as large as the base. So the errors of both sides are
//! combined (the method of variance estimates recovery, MOVER; Zou and Donner 2008): the
//! lower bound of the difference follows from the lower bound of the second mean and the
//! upper bound of the first. That preserves the skew of both sides.
//!
//! The bounds of each mean use Student's t with the degrees of freedom of the difference,
//! not of a single sample, which would be too wide where both have similar errors. Where
//! the means are nearly equal, this is the interval of the ratio times the mean.

use super::FEWEST;
use super::moments::{Moments, freedom};
use super::student::t_factor;

/// The bounds of the 95 % interval of exp(mean of `second`) − exp(mean of `first`), for two
/// samples of logarithms; `None` with fewer than [`FEWEST`] on a side.
pub fn geometric_difference(first: &[f64], second: &[f64]) -> Option<(f64, f64)> {
    if first.len().min(second.len()) < FEWEST {
        return None;
    }
    let (a, b) = (Moments::of(first)?, Moments::of(second)?);
    let (mean_a, mean_b) = (a.mean.exp(), b.mean.exp());
    let difference = mean_b - mean_a;
    // Converts the error of a logarithm to the unit of the means; relative to the larger
    // mean, so that squares do not overflow.
    let scale = mean_a.max(mean_b);
    let squared = |of: &Moments, mean: f64| of.squared_error() * (mean / scale).powi(2);
    let (of_a, of_b) = (squared(&a, mean_a), squared(&b, mean_b));
    if of_a + of_b == 0.0 {
        return Some((difference, difference));
    }
    let t = t_factor(0.95, freedom(of_a, a.count, of_b, b.count));
    let reach = |of: &Moments, mean: f64| {
        let by = t * of.squared_error().sqrt();
        (-mean * (-by).exp_m1(), mean * by.exp_m1())
    };
    let (down_a, up_a) = reach(&a, mean_a);
    let (down_b, up_b) = reach(&b, mean_b);
    Some((
        difference - down_b.hypot(up_a),
        difference + up_b.hypot(down_a),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::{Rng, welch};
    use super::*;

    /// The share of intervals that contain the true value.
    fn coverage(starts: (usize, usize), ratio: f64, noise: (f64, f64)) -> f64 {
        let mut rng = Rng::new(5);
        let mut sample = |count: usize, level: f64, noise: f64| -> Vec<f64> {
            (0..count)
                .map(|_| level.ln() + noise * rng.normal())
                .collect()
        };
        let rounds = 2000;
        let covered = (0..rounds).filter(|_| {
            let base = sample(starts.0, 3.0, noise.0);
            let new = sample(starts.1, 3.0 * ratio, noise.1);
            let (low, high) = geometric_difference(&base, &new).unwrap();
            let truth = 3.0 * ratio - 3.0;
            low <= truth && truth <= high
        });
        covered.count() as f64 / f64::from(rounds)
    }

    #[test]
    fn coverage_does_not_depend_on_the_ratio() {
        for (starts, noise) in [
            ((9, 9), (0.03, 0.03)),
            ((9, 9), (0.2, 0.2)),
            ((4, 4), (0.05, 0.05)),
            ((3, 3), (0.05, 0.05)),
            ((9, 4), (0.02, 0.1)),
        ] {
            for ratio in [0.2, 0.5, 1.0, 2.0, 5.0] {
                let share = coverage(starts, ratio, noise);
                println!(
                    "{starts:?} at {ratio}, noise {noise:?}: {:.1} %",
                    100.0 * share
                );
                assert!(
                    (0.93..=0.99).contains(&share),
                    "{starts:?} {ratio}: {share}"
                );
            }
        }
    }

    #[test]
    fn small_differences_agree_with_the_ratio() {
        let mut rng = Rng::new(6);
        for _ in 0..200 {
            let mut sample =
                |level: f64| -> Vec<f64> { (0..6).map(|_| level + 0.02 * rng.normal()).collect() };
            let (base, new) = (sample(0.0), sample(0.01));
            let (low, high) = geometric_difference(&base, &new).unwrap();
            let ratio = welch(&base, &new).unwrap();
            let mean = base.iter().sum::<f64>() / 6.0;
            for (found, part) in [(low, ratio.low), (high, ratio.high)] {
                assert!((found - part.exp_m1() * mean.exp()).abs() < 3e-3, "{found}");
            }
        }
    }

    #[test]
    fn constant_samples_are_exact_and_small_ones_have_no_interval() {
        let found = geometric_difference(&[0.0; 3], &[2f64.ln(); 4]).unwrap();
        assert!((found.0 - 1.0).abs() < 1e-12 && found.0 == found.1);
        assert_eq!(geometric_difference(&[0.0; 2], &[0.0; 9]), None);
        let huge = geometric_difference(&[700.0, 701.0, 702.0], &[0.0; 3]).unwrap();
        assert!(huge.0 < huge.1);
    }
}
