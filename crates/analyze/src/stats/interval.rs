//! Estimates with 95 % intervals, replicated by start.
//!
//! Iterations of one start share its conditions (clocks, placement, caches), so the start
//! is the unit of replication: the bootstrap resamples starts, then iterations within each.
//! A start's value is the median of its iterations; the estimate is the geometric mean over
//! starts, because times and ratios have multiplicative errors.
//!
//! A percentile bootstrap of n starts is too narrow when n is small. Hesterberg 2015, "What
//! teachers should know about the bootstrap", widens it to match Student's t: the
//! percentile α/2 becomes Φ(−√(n/(n−1)) · t(α/2, n−1)). With three or four starts, that
//! percentile is beyond all resamples, so their range is used; and since no resample can
//! lie outside the range of the starts, even that misses the true value one time in four
//! with three starts. So while the percentile rests on fewer than ten resamples (up to
//! seven starts), the interval is the wider of the bootstrap interval and the t interval of
//! the logarithms.

use super::student::{normal_cdf, t_quantile};
use super::{Estimate, MIN_STARTS, Rng, quantile_of_sorted};

/// The number of resamples.
pub(super) const RESAMPLES: usize = 2000;
/// A percentile with fewer resamples than this beyond it is not trusted alone.
const FEW_BEYOND: f64 = 10.0;

/// The number of starts whose interval would be clear of the threshold, if they vary like
/// the `starts` behind this one; `None` if more than `most`. Without an interval, the
/// variation is unknown, and this is the minimum that has one.
pub fn starts_to_clear(
    value: &Estimate,
    threshold: f64,
    starts: usize,
    most: usize,
) -> Option<usize> {
    let (Some(low), Some(high)) = (value.low, value.high) else {
        return Some(MIN_STARTS);
    };
    let distance = (value.value / threshold).ln().abs();
    let reach = if value.value > threshold {
        (value.value / low).ln()
    } else {
        (high / value.value).ln()
    };
    let width = |starts: usize| t_quantile(0.95, starts - 1) / (starts as f64).sqrt();
    let scatter = reach / width(starts.max(2));
    (starts + 1..=most).find(|&more| scatter * width(more.max(2)) < distance)
}

/// The ratio of two quantities from the same starts: `(numerator, denominator)` for each.
/// `None` without starts, or if a list is empty or has a value that is not finite and above
/// zero.
pub fn paired_ratio(pairs: &[(Vec<f64>, Vec<f64>)], seed: u64) -> Option<Estimate> {
    let pairs: Vec<(&[f64], &[f64])> = pairs.iter().map(|(a, b)| (&a[..], &b[..])).collect();
    paired_ratio_of(&pairs, seed)
}

/// [`paired_ratio`] of borrowed lists.
pub(super) fn paired_ratio_of(pairs: &[(&[f64], &[f64])], seed: u64) -> Option<Estimate> {
    let unit = |(over, under): &(&[f64], &[f64])| Unit::new(over, Some(under));
    let units: Option<Vec<Unit>> = pairs.iter().map(unit).collect();
    estimate(&[&units?], seed)
}

/// The ratio of two quantities from different starts. `None` as for [`paired_ratio`]; the
/// smaller group determines how much the interval is widened.
pub fn unpaired_ratio(
    numerator: &[Vec<f64>],
    denominator: &[Vec<f64>],
    seed: u64,
) -> Option<Estimate> {
    estimate(&[&group(numerator)?, &group(denominator)?], seed)
}

/// One quantity over starts. `None` as for [`paired_ratio`].
pub fn interval(values: &[Vec<f64>], seed: u64) -> Option<Estimate> {
    estimate(&[&group(values)?], seed)
}

fn group(lists: &[Vec<f64>]) -> Option<Vec<Unit>> {
    lists.iter().map(|list| Unit::new(list, None)).collect()
}

/// The contribution of one start.
struct Unit {
    over: Sample,
    under: Option<Sample>,
}

impl Unit {
    fn new(over: &[f64], under: Option<&[f64]>) -> Option<Unit> {
        Some(Unit {
            over: Sample::new(over)?,
            under: match under {
                Some(values) => Some(Sample::new(values)?),
                None => None,
            },
        })
    }

    /// The logarithm of this start's value, with the medians computed by `median`.
    fn log(&self, mut median: impl FnMut(&Sample) -> f64) -> f64 {
        let under = self.under.as_ref().map_or(0.0, |s| median(s).ln());
        median(&self.over).ln() - under
    }
}

/// The mean logarithm of the first group minus that of the second, if there is one.
fn estimate(groups: &[&[Unit]], seed: u64) -> Option<Estimate> {
    let starts = groups.iter().map(|g| g.len()).min().filter(|n| *n > 0)?;
    let (mut center, mut variance) = (0.0, 0.0);
    for (group, sign) in groups.iter().zip([1.0, -1.0]) {
        let logs: Vec<f64> = group.iter().map(|u| u.log(Sample::median)).collect();
        let (mean, squared_error) = mean_and_squared_error(&logs);
        center += sign * mean;
        variance += squared_error;
    }
    let mut result = Estimate {
        value: center.exp(),
        low: None,
        high: None,
    };
    if starts >= MIN_STARTS {
        let (low, high) = bounds(groups, starts, center, variance.sqrt(), seed);
        result.low = Some(low.exp().min(result.value));
        result.high = Some(high.exp().max(result.value));
    }
    Some(result)
}

/// The bounds of the 95 % interval of logarithms.
fn bounds(groups: &[&[Unit]], starts: usize, center: f64, error: f64, seed: u64) -> (f64, f64) {
    let mut rng = Rng::new(seed);
    let mut draws: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let mut means = [0.0; 2];
            for (mean, group) in means.iter_mut().zip(groups) {
                *mean = resampled_mean(group, &mut rng);
            }
            means[0] - means[1]
        })
        .collect();
    ends(&mut draws, starts, center, error)
}

/// The bounds of the 95 % interval of a mean over `starts` (at least two), from its
/// resamples and its standard error.
pub(super) fn ends(draws: &mut [f64], starts: usize, center: f64, error: f64) -> (f64, f64) {
    draws.sort_unstable_by(f64::total_cmp);
    let n = starts as f64;
    let t = t_quantile(0.95, starts - 1);
    let tail = normal_cdf(-(n / (n - 1.0)).sqrt() * t);
    let low = quantile_of_sorted(draws, tail);
    let high = quantile_of_sorted(draws, 1.0 - tail);
    if tail * (draws.len() as f64) < FEW_BEYOND {
        (low.min(center - t * error), high.max(center + t * error))
    } else {
        (low, high)
    }
}

fn resampled_mean(group: &[Unit], rng: &mut Rng) -> f64 {
    let sum: f64 = (0..group.len())
        .map(|_| {
            let unit = &group[rng.below(group.len())];
            unit.log(|sample| sample.resampled_median(rng))
        })
        .sum();
    sum / group.len() as f64
}

/// The mean, and the square of its standard error (0 for one value).
pub(super) fn mean_and_squared_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, squares / (n * (n - 1.0).max(1.0)))
}

// Medians of resampled lists, without drawing the resamples.
//
// A bootstrap draws as many values from a list as it has, with replacement, and computes
// their median. With draws by position, the k-th smallest drawn value is the list's value
// at the k-th smallest of as many uniform positions, and that position has a beta
// distribution. So one beta variate replaces thousands of draws and a sort, with exactly
// the same distribution of results; long lists need no thinning.

/// Interchangeable values of one start, sorted.
pub(super) struct Sample {
    sorted: Vec<f64>,
}

impl Sample {
    /// `None` unless there are values and all of them are finite and above zero.
    pub(super) fn new(values: &[f64]) -> Option<Sample> {
        if !super::series::are_times(values) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Sample { sorted })
    }

    pub(super) fn median(&self) -> f64 {
        quantile_of_sorted(&self.sorted, 0.5)
    }

    /// The median of one resample.
    pub(super) fn resampled_median(&self, rng: &mut Rng) -> f64 {
        let n = self.sorted.len();
        if n == 1 {
            return self.sorted[0];
        }
        // The k-th smallest of n uniform numbers has a beta distribution (k, n + 1 − k).
        let k = n.div_ceil(2);
        let below = rng.gamma(k as f64);
        let above = rng.gamma((n + 1 - k) as f64);
        let position = below / (below + above);
        let value = self.at(position);
        if n % 2 == 1 {
            return value;
        }
        // The next one is the smallest of the remaining n − k, all above it.
        let gap = 1.0 - (1.0 - rng.uniform()).powf(1.0 / (n - k) as f64);
        0.5 * value + 0.5 * self.at(position + (1.0 - position) * gap)
    }

    fn at(&self, position: f64) -> f64 {
        let n = self.sorted.len();
        self.sorted[((position * n as f64) as usize).min(n - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts of five iterations, each with its own level and noise within.
    fn starts(rng: &mut Rng, count: usize, level: f64, between: f64) -> Vec<Vec<f64>> {
        (0..count)
            .map(|_| {
                let own = level * (between * rng.normal()).exp();
                let noise = |_| own * (0.02 * rng.normal()).exp();
                (0..5).map(noise).collect()
            })
            .collect()
    }

    /// The share of intervals that contain the true value 5.
    fn coverage(count: usize, paired: bool) -> f64 {
        let mut rng = Rng::new(21);
        let trials = 400;
        let mut covered = 0;
        for trial in 0..trials {
            let over = starts(&mut rng, count, 5.0, 0.2);
            let under = starts(&mut rng, count, 1.0, 0.1);
            let found = if paired {
                let pairs: Vec<_> = over.into_iter().zip(under).collect();
                paired_ratio(&pairs, trial)
            } else {
                unpaired_ratio(&over, &under, trial)
            };
            let found = found.unwrap();
            covered += u64::from(!found.is_above(5.0) && !found.is_below(5.0));
        }
        covered as f64 / trials as f64
    }

    #[test]
    fn intervals_have_their_nominal_coverage() {
        for count in [3, 5, 10] {
            for paired in [true, false] {
                let share = coverage(count, paired);
                println!("{count} starts, paired {paired}: {share:.3}");
                assert!(share >= 0.90, "{count} starts, paired {paired}: {share}");
            }
        }
    }

    #[test]
    fn too_few_starts_have_an_estimate_and_no_interval() {
        let one = interval(&[vec![1.0, 2.0, 9.0]], 1).unwrap();
        assert!((one.value - 2.0).abs() < 1e-12);
        assert_eq!((one.low, one.high), (None, None));
        assert!(!one.is_above(0.0) && !one.is_below(1e9));
        let two = paired_ratio(&[(vec![8.0], vec![2.0]), (vec![2.0], vec![2.0])], 1).unwrap();
        assert!((two.value - 2.0).abs() < 1e-12 && two.low.is_none());
        let three = vec![vec![1.0], vec![1.0], vec![1.0]];
        assert!(interval(&three, 1).unwrap().low.is_some());
        let against_two = unpaired_ratio(&three, &three[..2], 1).unwrap();
        assert_eq!(against_two.high, None);
    }

    #[test]
    fn equal_starts_have_an_interval_without_width() {
        let found = interval(&vec![vec![4.0; 7]; 5], 1).unwrap();
        assert!((found.low.unwrap() - 4.0).abs() < 1e-12);
        assert!((found.high.unwrap() - 4.0).abs() < 1e-12);
        assert!(found.is_above(3.9) && found.is_below(4.1) && !found.is_above(4.1));
    }

    #[test]
    fn results_depend_on_the_seed_and_not_on_the_scale() {
        let values = starts(&mut Rng::new(3), 6, 1.0, 0.2);
        let found = interval(&values, 9).unwrap();
        assert_eq!(interval(&values, 9), Some(found));
        assert_ne!(interval(&values, 10), Some(found));
        let tiny: Vec<Vec<f64>> = (values.iter())
            .map(|list| list.iter().map(|v| v * 1e-7).collect())
            .collect();
        let scaled = interval(&tiny, 9).unwrap();
        assert!((scaled.low.unwrap() / found.low.unwrap() / 1e-7 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn invalid_times_have_no_interval() {
        assert_eq!(interval(&[], 1), None);
        assert_eq!(paired_ratio(&[], 1), None);
        assert_eq!(unpaired_ratio(&[], &[vec![1.0]], 1), None);
        for bad in [
            vec![],
            vec![0.0],
            vec![-1.0],
            vec![f64::NAN],
            vec![f64::INFINITY],
        ] {
            assert_eq!(interval(&[vec![1.0], bad.clone()], 1), None);
            assert_eq!(paired_ratio(&[(vec![1.0], bad)], 1), None);
        }
    }

    #[test]
    fn the_distribution_equals_that_of_drawing_and_sorting() {
        let mut rng = Rng::new(5);
        for n in [2, 3, 4, 7, 10, 101] {
            let values: Vec<f64> = (0..n).map(|_| rng.normal().exp()).collect();
            let sample = Sample::new(&values).unwrap();
            let mut fast: Vec<f64> = Vec::new();
            let mut slow: Vec<f64> = Vec::new();
            for _ in 0..20_000 {
                fast.push(sample.resampled_median(&mut rng));
                let drawn: Vec<f64> = values.iter().map(|_| values[rng.below(n)]).collect();
                slow.push(preheat_model::stats::median(&drawn).unwrap());
            }
            // Kolmogorov–Smirnov distance; 0.0195 is the 99.9 % limit for 20 000.
            fast.sort_unstable_by(f64::total_cmp);
            slow.sort_unstable_by(f64::total_cmp);
            let share = |list: &[f64], x: f64| list.partition_point(|v| *v <= x + 1e-12) as f64;
            let distance = (fast.iter())
                .map(|x| (share(&fast, *x) - share(&slow, *x)).abs() / 20_000.0)
                .fold(0.0, f64::max);
            assert!(distance < 0.0195, "{n} values: {distance}");
        }
    }

    #[test]
    fn only_valid_times_are_accepted() {
        for bad in [&[][..], &[0.0], &[1.0, f64::NAN], &[-1.0], &[f64::INFINITY]] {
            assert!(Sample::new(bad).is_none(), "{bad:?}");
        }
        let sample = Sample::new(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!(sample.median(), 2.0);
    }
}
