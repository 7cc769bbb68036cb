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

use super::MIN_STARTS;
use super::mean::{Moments, freedom};
use super::student::{t_beyond, t_factor};

/// A mean and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The arithmetic mean.
    pub value: f64,
    /// The bounds of its interval; `None` with fewer than [`MIN_STARTS`] values.
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
    let interval = (values.len() >= MIN_STARTS).then(|| {
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

/// Compares two samples of finite values; `None` with fewer than [`MIN_STARTS`] on a side.
///
/// If neither side varies at all, their difference is exact: equal samples give p = 1,
/// others p = 0, and the interval has no width. Quantities with few levels, such as memory
/// and small counts, are often equal by chance; callers must handle that with
/// [`by_permutation`].
pub fn welch(first: &[f64], second: &[f64]) -> Option<Welch> {
    if first.len().min(second.len()) < MIN_STARTS {
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

// Adjusts p-values for multiple comparisons.
//
// Of twenty quantities that did not change, one has a p-value below 0.05 in two of three
// comparisons. Holm 1979, "A simple sequentially rejective multiple test procedure",
// adjusts the p-values so that the chance of *any* false alarm is at most 5 %, however the
// quantities depend on each other: the smallest of m is multiplied by m, the next by m −
// 1, and so on, never below the previous one. It finds everything that Bonferroni's
// correction finds, and more.

/// The adjusted p-values, in the order of `p`.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        let times = (p.len() - rank) as f64;
        least = least.max((p[at] * times).min(1.0));
        adjusted[at] = least;
    }
    adjusted
}

// The difference of two geometric means, in their original unit.
//
// Logarithms give the interval of a ratio. Multiplying it by one of the means would not
// give the interval of the difference, because that mean is an estimate too: with a ratio
// of 0.2, the difference is nearly as large as the base. So the errors of both sides are
// combined (the method of variance estimates recovery, MOVER; Zou and Donner 2008): the
// lower bound of the difference follows from the lower bound of the second mean and the
// upper bound of the first. That preserves the skew of both sides.
//
// The bounds of each mean use Student's t with the degrees of freedom of the difference,
// not of a single sample, which would be too wide where both have similar errors. Where
// the means are nearly equal, this is the interval of the ratio times the mean.

/// The bounds of the 95 % interval of exp(mean of `second`) − exp(mean of `first`), for two
/// samples of logarithms; `None` with fewer than [`MIN_STARTS`] on a side.
pub fn geometric_difference(first: &[f64], second: &[f64]) -> Option<(f64, f64)> {
    if first.len().min(second.len()) < MIN_STARTS {
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

    #[test]
    fn values_agree_with_r() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
        let found = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{found}");
        }
        assert_eq!(holm(&[]), Vec::<f64>::new());
        assert_eq!(holm(&[0.9, 1.0]), [1.0, 1.0]);
        assert_eq!(holm(&[0.04]), [0.04]);
    }

    /// The share of intervals that contain the true value.
    fn coverage_of_difference(starts: (usize, usize), ratio: f64, noise: (f64, f64)) -> f64 {
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
                let share = coverage_of_difference(starts, ratio, noise);
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
