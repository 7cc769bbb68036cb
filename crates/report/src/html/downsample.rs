//! Downsamples a series for plotting.
//!
//! Iterations are plotted on a logarithmic axis, so buckets grow with the index: the first
//! iterations, which matter most, are all kept. Each bucket keeps its minimum and maximum,
//! so no outlier is lost.

/// Returns about `limit` points of `values` at most, as (index, value), in order. NaN and
/// infinite values are omitted.
pub(crate) fn downsample(values: &[f64], limit: usize) -> Vec<(usize, f64)> {
    if values.len() <= limit {
        let all = values.iter().copied().enumerate();
        return all.filter(|(_, value)| value.is_finite()).collect();
    }
    let buckets = (limit / 2).max(1);
    let mut points = Vec::with_capacity(limit);
    let mut from = 0;
    for bucket in 1..=buckets {
        let edge = (values.len() as f64)
            .powf(bucket as f64 / buckets as f64)
            .round() as usize;
        // Each bucket has at least one value: the first buckets hold one iteration each.
        let to = if bucket == buckets {
            values.len()
        } else {
            edge.max(from + 1)
        };
        let to = to.min(values.len());
        let numbers = |at: &usize| values[*at].is_finite();
        let inside = || (from..to).filter(numbers).map(|at| (at, values[at]));
        let least = inside().min_by(|a, b| a.1.total_cmp(&b.1));
        let greatest = inside().max_by(|a, b| a.1.total_cmp(&b.1));
        match (least, greatest) {
            (Some(a), Some(b)) if a.0 == b.0 => points.push(a),
            (Some(a), Some(b)) => points.extend(if a.0 < b.0 { [a, b] } else { [b, a] }),
            _ => {}
        }
        from = to;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_all_of_few_points() {
        assert_eq!(downsample(&[3.0, f64::NAN, 1.0], 10), [(0, 3.0), (2, 1.0)]);
        assert_eq!(downsample(&[], 10), []);
    }

    #[test]
    fn keeps_the_first_and_all_extremes() {
        let mut values: Vec<f64> = (0..5000)
            .map(|at| 1.0 + f64::from(at % 7) / 100.0)
            .collect();
        values[0] = 250.0;
        values[3333] = 9.0;
        values[4999] = 0.1;
        let points = downsample(&values, 100);
        assert!(points.len() <= 100);
        for kept in [(0, 250.0), (3333, 9.0), (4999, 0.1)] {
            assert!(points.contains(&kept), "{kept:?}");
        }
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn omits_values_that_are_not_finite() {
        assert_eq!(downsample(&[f64::NAN; 50], 10), []);
        let mut values = vec![f64::NAN; 50];
        values[20] = 2.0;
        assert_eq!(downsample(&values, 10), [(20, 2.0)]);
    }
}
