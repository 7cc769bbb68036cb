//! Compares two samples: the difference of their means, with a 95 % interval and a p-value.
//!
//! Welch 1947, "The generalization of 'Student's' problem when several different population
//! variances are involved", assumes neither equal numbers of starts nor equal noise on both
//! sides, since a change may well make a program noisier. The degrees of freedom are those
//! of Welch and Satterthwaite.
//!
//! A t interval instead of a bootstrap: with the usual five to ten starts, the tails of a
//! bootstrap rest on a few values, and p-values adjusted for many quantities come from
//! exactly those tails. For heavy-tailed noise, the t test is conservative, which is the
//! right side to err on.

use super::FEWEST;
use super::moments::{Moments, freedom};
use super::student::{t_beyond, t_factor};

/// A mean and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The arithmetic mean.
    pub value: f64,
    /// The bounds of its interval; `None` with fewer than [`FEWEST`] values.
    pub interval: Option<(f64, f64)>,
}

/// The difference of two means, second − first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// The difference.
    pub difference: f64,
    /// The lower bound of its 95 % interval.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// The two-sided p-value.
    pub p: f64,
}

/// The mean of finite values; `None` for an empty list.
pub fn mean(values: &[f64]) -> Option<Mean> {
    let moments = Moments::of(values)?;
    let interval = (values.len() >= FEWEST).then(|| {
        let df = moments.count - 1.0;
        let reach = match moments.variance > 0.0 {
            true => t_factor(0.95, df) * moments.squared_error().sqrt(),
            false => 0.0,
        };
        (moments.mean - reach, moments.mean + reach)
    });
    Some(Mean {
        value: moments.mean,
        interval,
    })
}

/// Compares two samples of finite values; `None` with fewer than [`FEWEST`] on a side.
///
/// If neither side varies at all, their difference is exact: equal samples give p = 1,
/// others p = 0, and the interval has no width. Quantities with few levels, such as memory
/// and small counts, are often equal by chance; callers must handle that with
/// [`by_permutation`].
pub fn welch(first: &[f64], second: &[f64]) -> Option<Welch> {
    if first.len().min(second.len()) < FEWEST {
        return None;
    }
    let (a, b) = (Moments::of(first)?, Moments::of(second)?);
    let difference = b.mean - a.mean;
    let (of_a, of_b) = (a.squared_error(), b.squared_error());
    let error = (of_a + of_b).sqrt();
    if error == 0.0 {
        return Some(Welch {
            difference,
            low: difference,
            high: difference,
            p: if difference == 0.0 { 1.0 } else { 0.0 },
        });
    }
    let df = freedom(of_a, a.count, of_b, b.count);
    let reach = t_factor(0.95, df) * error;
    Some(Welch {
        difference,
        low: difference - reach,
        high: difference + reach,
        p: t_beyond(difference / error, df),
    })
}

/// The p-value of two samples of these sizes that do not overlap, by the exact permutation
/// test: 2 ÷ (n + m choose n). No rank test gives a smaller one.
pub fn by_permutation(first: usize, second: usize) -> f64 {
    let choose: f64 = (1..=first)
        .map(|k| (second + k) as f64 / k as f64)
        .product();
    (2.0 / choose).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::super::Rng;
    use super::*;

    #[test]
    fn values_agree_with_scipy() {
        // scipy.stats.ttest_ind(new, base, equal_var=False): its p-value and interval.
        let found = welch(&[1.0, 2.0, 2.0, 3.0], &[3.0, 4.0, 5.0, 6.0, 7.5]).unwrap();
        for (found, expected) in [
            (found.difference, 3.1),
            (found.low, 0.934_441_645_745_974),
            (found.high, 5.265_558_354_254_026),
            (found.p, 0.012_916_663_336_192_17),
        ] {
            assert!((found - expected).abs() < 1e-10, "{found} {expected}");
        }
        let swapped = welch(&[3.0, 4.0, 5.0, 6.0, 7.5], &[1.0, 2.0, 2.0, 3.0]).unwrap();
        assert_eq!((swapped.low, swapped.p), (-found.high, found.p));
    }

    #[test]
    fn constant_samples_are_exact() {
        let third = 1.0 / 3.0;
        let same = welch(&[third; 4], &[third; 3]).unwrap();
        assert_eq!((same.difference, same.p), (0.0, 1.0));
        let other = welch(&[0.1; 3], &[0.3; 7]).unwrap();
        assert_eq!(
            (other.low, other.high, other.p),
            (0.3 - 0.1, 0.3 - 0.1, 0.0)
        );
        // One varying side is enough for an interval.
        let one = welch(&[1.0; 5], &[1.0, 2.0, 3.0]).unwrap();
        assert!(one.low < 0.0 && one.high > 2.0 && one.p > 0.1);
    }

    #[test]
    fn few_or_no_numbers_have_no_interval() {
        assert_eq!(welch(&[1.0, 2.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(welch(&[1.0, f64::NAN, 2.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(mean(&[]), None);
        let two = mean(&[1.0, 3.0]).unwrap();
        assert_eq!((two.value, two.interval), (2.0, None));
        let tiny = welch(&[1e-200, 2e-200, 4e-200], &[1e-200, 2e-200, 4e-200]).unwrap();
        assert!(tiny.p.is_finite() && tiny.low.is_finite());
    }

    #[test]
    fn permutations_are_counted() {
        assert!((by_permutation(3, 3) - 0.1).abs() < 1e-12);
        assert!((by_permutation(9, 9) - 2.0 / 48620.0).abs() < 1e-12);
        assert_eq!(by_permutation(1, 1), 1.0);
        assert_eq!(by_permutation(0, 5), 1.0);
    }

    /// The share of intervals that contain the true value.
    fn coverage(starts: (usize, usize), noise: (f64, f64), draw: fn(&mut Rng) -> f64) -> f64 {
        let mut rng = Rng::new(11);
        let mut sample = |count: usize, noise: f64| -> Vec<f64> {
            (0..count).map(|_| noise * draw(&mut rng)).collect()
        };
        let rounds = 2000;
        let covered = (0..rounds).filter(|_| {
            let (a, b) = (sample(starts.0, noise.0), sample(starts.1, noise.1));
            let found = welch(&a, &b).unwrap();
            found.low <= 0.0 && 0.0 <= found.high
        });
        covered.count() as f64 / f64::from(rounds)
    }

    #[test]
    fn intervals_have_their_nominal_coverage() {
        let normal: fn(&mut Rng) -> f64 = |rng| rng.normal();
        // Student's t with three degrees of freedom: heavy tails.
        let heavy: fn(&mut Rng) -> f64 = |rng| {
            let chi: f64 = (0..3).map(|_| rng.normal().powi(2)).sum();
            rng.normal() / (chi / 3.0).sqrt()
        };
        for (label, starts, noise, draw, least, most) in [
            ("10 against 10", (10, 10), (1.0, 1.0), normal, 0.94, 0.965),
            ("5 against 5", (5, 5), (1.0, 1.0), normal, 0.94, 0.975),
            ("3 against 3", (3, 3), (1.0, 1.0), normal, 0.94, 0.99),
            (
                "10 against 4, noisier",
                (10, 4),
                (1.0, 3.0),
                normal,
                0.93,
                0.97,
            ),
            (
                "9 against 9, heavy tails",
                (9, 9),
                (1.0, 1.0),
                heavy,
                0.94,
                0.985,
            ),
        ] {
            let share = coverage(starts, noise, draw);
            println!(
                "{label}: {:.1} % of the intervals contain the true value",
                100.0 * share
            );
            assert!((least..=most).contains(&share), "{label}: {share}");
        }
    }
}
