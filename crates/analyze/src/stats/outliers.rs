//! Finds iterations that stand out from their neighbours.
//!
//! A pause of the machine makes one or two iterations slow without any change in the
//! program. As in Barrett et al. 2017, an outlier lies outside its window's median ± 3 ·
//! (90th − 10th percentile), but the window here is short: in their window of 200, a
//! warm-up of twenty iterations would vanish. Outliers are only replaced for finding
//! segments; all other numbers use the measured values.

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
