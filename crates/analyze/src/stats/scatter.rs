//! The variation of settled iterations, and values that stand out from it.
//!
//! A difference is ignored for three reasons: it is below 5 %, the smallest size that
//! matters according to Traini et al. 2022 ("Towards effective assessment of steady state
//! performance in Java software"); the clock could not have resolved it; or settled
//! iterations show the same now and then.

use std::cmp::Ordering;

use super::student::t_quantile;
use super::{median, quantile};

/// Levels within this fraction of each other are the same.
const SAME_WITHIN: f64 = 0.05;
/// A spread below this fraction of the level is not trusted, however short the list.
pub(super) const MIN_SPREAD: f64 = 1e-3;
/// The factor from the median absolute deviation of a Gaussian to its σ.
const MAD_TO_SIGMA: f64 = 1.4826;

/// Returns true if two levels are the same, on a clock with this tick.
pub(super) fn same_level(a: f64, b: f64, tick: f64) -> bool {
    (a - b).abs() <= tick.max(SAME_WITHIN * a.min(b))
}

/// The clock's resolution as visible in the values: the smallest step between successive
/// iterations; 0 if steps are too rare. A series that repeats one value and changes once
/// must not be mistaken for a clock with a huge tick.
pub(super) fn tick(values: &[f64]) -> f64 {
    let steps = values.windows(2).map(|w| (w[1] - w[0]).abs());
    let level = median(values).unwrap_or(0.0);
    // Rounding of decimal fractions makes equal times differ in the last digits.
    let steps: Vec<f64> = steps.filter(|s| *s > 1e-9 * level).collect();
    if values.len() < 8 || steps.len() * 10 < values.len() {
        return 0.0;
    }
    steps.into_iter().fold(f64::INFINITY, f64::min)
}

/// Settled iterations to compare with.
pub(super) struct Scatter {
    level: f64,
    /// The limits below which an iteration is fast, and above which it is slow.
    limits: (f64, f64),
}

impl Scatter {
    /// `None` for fewer than two values.
    pub(super) fn of(settled: &[f64], tick: f64) -> Option<Scatter> {
        let n = settled.len();
        if n < 2 {
            return None;
        }
        let level = median(settled)?;
        let logs: Vec<f64> = settled.iter().map(|v| (v / level).ln()).collect();
        let (sigma, freedom) = spread(&logs)?;
        let sigma = sigma.max(tick / level).max(MIN_SPREAD);
        // Few values give a poor estimate of the spread; Student's t accounts for it.
        let few = t_quantile(0.98, freedom) * (1.0 + 1.0 / n as f64).sqrt();
        let by_spread = sigma * few.max(3.0);
        let limit = |side: f64| -> Option<f64> {
            let logs: Vec<f64> = logs.iter().map(|v| side * v).collect();
            // One in twenty settled iterations is beyond this, so at most that many first
            // iterations are mistaken for slow. Where regular spikes reach beyond it, a
            // spike at the beginning must also clearly exceed them.
            let high = quantile(&logs, 0.95)?;
            let by_rank = if high > SAME_WITHIN {
                high + SAME_WITHIN
            } else {
                high
            };
            // Twice as far out as any of a few values is clear without knowing the spread.
            let by_all = logs.iter().copied().fold(0.0, f64::max) + 2f64.ln();
            let limit = by_spread.min(by_all).max(by_rank).max(SAME_WITHIN.ln_1p());
            Some(level * (side * limit).exp())
        };
        Some(Scatter {
            level,
            limits: (limit(-1.0)?, limit(1.0)?),
        })
    }

    pub(super) fn level(&self) -> f64 {
        self.level
    }

    /// Compares an iteration with settled ones: less is faster, greater is slower, equal is
    /// similar.
    pub(super) fn compare(&self, value: f64) -> Ordering {
        if value > self.limits.1 {
            Ordering::Greater
        } else if value < self.limits.0 {
            Ordering::Less
        } else {
            Ordering::Equal
        }
    }

    /// Returns true if this iteration is slower than settled ones.
    pub(super) fn is_slow(&self, value: f64) -> bool {
        self.compare(value).is_gt()
    }
}

/// The σ of distances from a median, and its degrees of freedom. The median absolute
/// deviation is robust against outliers but uses only 37 % of the information, too little
/// for a handful of values; these use the standard deviation.
fn spread(distances: &[f64]) -> Option<(f64, usize)> {
    let n = distances.len();
    if n < 10 {
        let mean = distances.iter().sum::<f64>() / n as f64;
        let squares: f64 = distances.iter().map(|v| (v - mean).powi(2)).sum();
        return Some(((squares / (n as f64 - 1.0)).sqrt(), n - 1));
    }
    let absolute: Vec<f64> = distances.iter().map(|v| v.abs()).collect();
    let freedom = (0.37 * (n as f64 - 1.0)) as usize;
    Some((MAD_TO_SIGMA * median(&absolute)?, freedom))
}

/// Returns true if an interval still gets faster or slower: its halves have significantly
/// different levels (rank-sum test of Mann & Whitney 1947, three sigma). Changepoints miss
/// a steady slope in a short series, where no cut is worth its penalty.
pub(super) fn drifts(values: &[f64], tick: f64) -> bool {
    let half = values.len() / 2;
    let (early, late) = (&values[..half], &values[values.len() - half..]);
    let (Some(a), Some(b)) = (median(early), median(late)) else {
        return false;
    };
    if same_level(a, b, tick) {
        return false;
    }
    if half == 1 {
        return a.max(b) > 1.5 * a.min(b);
    }
    let mut late = late.to_vec();
    late.sort_unstable_by(f64::total_cmp);
    let wins = |v: &f64| {
        let (below, to) = (
            late.partition_point(|w| w < v),
            late.partition_point(|w| w <= v),
        );
        0.5 * (below + to) as f64
    };
    let count = half as f64;
    let sum = early.iter().map(wins).sum::<f64>() - 0.5 * count * count;
    let sigma = (count * count * (2.0 * count + 1.0) / 12.0).sqrt();
    // Up to six against six cannot reach three sigma: there, the halves must not overlap
    // and must be far apart.
    let separated = sum.abs() == 0.5 * count * count && a.max(b) > 1.25 * a.min(b);
    sum.abs() > 3.0 * sigma || separated
}

// Finds iterations that stand out from their neighbors.
//
// A pause of the machine makes one or two iterations slow without any change in the
// program. As in Barrett et al. 2017, an outlier lies outside its window's median ± 3 ·
// (90th − 10th percentile), but the window here is short: in their window of 200, a
// warm-up of twenty iterations would vanish. Outliers are only replaced for finding
// segments; all other numbers use the measured values.

/// The number of iterations in a window. One or two of them can be outliers; three are a
/// change.
const WINDOW: usize = 21;
/// With fewer values than this, there are no outliers.
const MIN_VALUES: usize = 5;

/// The series with every outlier replaced by the median of the window around it. `least` is
/// the minimum spread, for series that hardly vary.
pub(super) fn replaced(values: &[f64], least: f64) -> Vec<f64> {
    let n = values.len();
    let width = WINDOW.min(n);
    if n < MIN_VALUES {
        return values.to_vec();
    }
    // Ranks are rounded inwards: in a short window, one outlier must not determine the
    // range it is compared with.
    let low = (width - 1).div_ceil(10);
    let high = width - 1 - low;
    let mut window = values[..width].to_vec();
    window.sort_unstable_by(f64::total_cmp);
    let mut from = 0;
    (0..n)
        .map(|i| {
            // The window is centred, but stays complete at both ends.
            if i > from + width / 2 && from + width < n {
                slide(&mut window, values[from], values[from + width]);
                from += 1;
            }
            let middle = window[width / 2];
            let range = (window[high] - window[low]).max(least);
            if (values[i] - middle).abs() > 3.0 * range {
                middle
            } else {
                values[i]
            }
        })
        .collect()
}

/// Replaces one value of a sorted list, keeping it sorted.
fn slide(sorted: &mut [f64], old: f64, new: f64) {
    let out = sorted.partition_point(|v| v.total_cmp(&old).is_lt());
    let at = sorted.partition_point(|v| v.total_cmp(&new).is_lt());
    if at > out {
        sorted[out..at].rotate_left(1);
        sorted[at - 1] = new;
    } else {
        sorted[at..=out].rotate_right(1);
        sorted[at] = new;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rng;
    use super::*;

    fn noise(rng: &mut Rng, n: usize, sigma: f64) -> Vec<f64> {
        (0..n).map(|_| (sigma * rng.normal()).exp()).collect()
    }

    #[test]
    fn a_tick_is_detected_where_values_step_often() {
        let mut rng = Rng::new(1);
        let ticked: Vec<f64> = (0..50).map(|_| 1e-6 * (3 + rng.below(2)) as f64).collect();
        assert!((tick(&ticked) - 1e-6).abs() < 1e-12);
        assert_eq!(tick(&[2.0; 50]), 0.0);
        let step: Vec<f64> = (0..50).map(|i| if i < 9 { 2.0 } else { 1.0 }).collect();
        assert_eq!(tick(&step), 0.0);
        assert!(tick(&noise(&mut rng, 100, 0.01)) < 1e-3);
        assert_eq!(tick(&[1.0, 2.0, 3.0]), 0.0);
    }

    #[test]
    fn slow_means_above_five_percent_noise_and_regular_spikes() {
        let mut rng = Rng::new(2);
        let quiet = Scatter::of(&noise(&mut rng, 100, 0.001), 0.0).unwrap();
        assert!(quiet.is_slow(1.06) && !quiet.is_slow(1.04));
        let loud = Scatter::of(&noise(&mut rng, 100, 0.1), 0.0).unwrap();
        assert!(loud.is_slow(1.6) && !loud.is_slow(1.2));
        assert_eq!(loud.compare(0.6), Ordering::Less);
        assert_eq!(loud.compare(0.85), Ordering::Equal);
        let spikes: Vec<f64> = (0..100)
            .map(|i| if i % 10 == 0 { 3.0 } else { 1.0 })
            .collect();
        let spiked = Scatter::of(&spikes, 0.0).unwrap();
        assert!(spiked.is_slow(3.5) && !spiked.is_slow(3.0));
        assert!(Scatter::of(&[1.0], 0.0).is_none());
        let ticked = Scatter::of(&[3.0; 20], 1.0).unwrap();
        assert!(!ticked.is_slow(4.0));
    }

    #[test]
    fn slopes_drift_and_noise_does_not() {
        let mut rng = Rng::new(3);
        for n in [2, 3, 4, 6, 10, 20, 40, 1000] {
            let slope: Vec<f64> = (0..n).map(|i| (-2.0 * i as f64 / n as f64).exp()).collect();
            assert!(drifts(&slope, 0.0), "{n} falling");
            let rising: Vec<f64> = slope.iter().map(|v| 1.0 / v).collect();
            assert!(drifts(&rising, 0.0), "{n} rising");
            let wrong = (0..500).filter(|_| drifts(&noise(&mut rng, n, 0.05), 0.0));
            assert!(wrong.count() <= 5, "{n} noise");
        }
        assert!(!drifts(&[], 0.0) && !drifts(&[1.0], 0.0) && !drifts(&[1.0; 9], 0.0));
    }

    #[test]
    fn lone_spikes_are_replaced_and_nothing_else() {
        let mut rng = Rng::new(4);
        let quiet: Vec<f64> = (0..200).map(|_| 0.01 * rng.normal()).collect();
        assert_eq!(replaced(&quiet, 1e-3), quiet);
        let mut spiked = quiet.clone();
        for i in [0, 1, 50, 120, 199] {
            spiked[i] = 1.0;
        }
        let found = replaced(&spiked, 1e-3);
        for i in 0..200 {
            assert!(found[i].abs() < 0.05, "{i}: {}", found[i]);
            assert!(spiked[i] == 1.0 || spiked[i] == found[i]);
        }
    }

    #[test]
    fn a_change_is_not_an_outlier() {
        for slow in 3..58 {
            let step: Vec<f64> = (0..60).map(|i| f64::from(i < slow)).collect();
            assert_eq!(replaced(&step, 1e-3), step, "{slow} slow ones");
        }
    }

    #[test]
    fn one_outlier_is_replaced_unless_the_series_is_too_short() {
        let least = 1e-3;
        for n in 5..30 {
            let mut values = vec![0.0; n];
            values[0] = 9.0;
            assert_eq!(replaced(&values, least), vec![0.0; n]);
        }
        assert_eq!(replaced(&[9.0, 0.0, 0.0, 0.0], least)[0], 9.0);
        assert!(replaced(&[], least).is_empty());
    }

    #[test]
    fn the_window_stays_sorted() {
        let mut rng = Rng::new(6);
        let mut list: Vec<f64> = (0..9).map(f64::from).collect();
        for _ in 0..500 {
            let (old, new) = (list[rng.below(9)], rng.below(12) as f64);
            slide(&mut list, old, new);
            assert!(list.is_sorted(), "{list:?}");
            assert!(list.contains(&new));
        }
    }
}
