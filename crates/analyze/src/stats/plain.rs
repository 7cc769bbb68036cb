//! Intervals of quantities that may be zero or below: counts, and sums of differences.
//!
//! Times err by factors, which is why [`interval`](super::interval) works with
//! logarithms. A number of warm-up iterations, an excess or a cause that some starts do
//! not have are none of that: here it is Student's t on the values as they are.

use super::Interval;
use super::order::median;
use super::student::t_quantile;

/// From how many values on there is an interval.
const MIN_VALUES: usize = 3;

/// The median of one value for each start, and the 95 % interval of their mean, which is
/// made to reach the median. `None` without values, or if one is not finite.
pub fn plain_interval(values: &[f64]) -> Option<Interval> {
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let middle = median(values)?;
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let ends = (values.len() >= MIN_VALUES).then(|| {
        let error = (squares / (n * (n - 1.0))).sqrt() * t_quantile(0.95, values.len() - 1);
        ((mean - error).min(middle), (mean + error).max(middle))
    });
    Some(Interval {
        median: middle,
        low: ends.map(|(low, _)| low),
        high: ends.map(|(_, high)| high),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Rng;
    use super::*;

    #[test]
    fn it_holds_the_truth_about_as_often_as_it_says() {
        for count in [3, 4, 10] {
            let mut rng = Rng::new(5);
            let mut held = 0;
            for _ in 0..1000 {
                let values: Vec<f64> = (0..count).map(|_| 2.0 + rng.normal()).collect();
                let found = plain_interval(&values).unwrap();
                held += usize::from(!found.is_above(2.0) && !found.is_below(2.0));
            }
            assert!(held >= 930, "{count} values: {held} of 1000");
        }
    }

    #[test]
    fn few_values_have_no_interval_and_equal_ones_no_doubt() {
        assert_eq!(plain_interval(&[]), None);
        assert_eq!(plain_interval(&[1.0, f64::NAN]), None);
        let two = plain_interval(&[1.0, 2.0]).unwrap();
        assert_eq!((two.median, two.low, two.high), (1.5, None, None));
        let zeros = plain_interval(&[0.0; 4]).unwrap();
        assert_eq!((zeros.low, zeros.high), (Some(0.0), Some(0.0)));
    }
}
