//! Medians and quantiles.
//!
//! Values are ordered by `f64::total_cmp`, so that a NaN sorts last instead of making the
//! order undefined. Nothing here validates the values.

/// The middle value, or the mean of the two middle ones; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The quantile `q` (clamped to 0 to 1), interpolated linearly between the two neighbouring
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
/// is the centre of the intervals. `None` without lists, or if a median is not above zero.
pub fn geometric_mean(lists: &[Vec<f64>]) -> Option<f64> {
    let logs: Option<Vec<f64>> = lists
        .iter()
        .map(|list| median(list).filter(|m| *m > 0.0).map(f64::ln))
        .collect();
    let logs = logs.filter(|logs| !logs.is_empty())?;
    Some((logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

#[cfg(test)]
mod tests {
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
}
