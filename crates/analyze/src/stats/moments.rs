//! The number of values, their mean and their variance.

/// The mean and the variance of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moments {
    /// The number of values.
    pub count: f64,
    /// Their mean.
    pub mean: f64,
    /// Their unbiased variance: 0 for a single value.
    pub variance: f64,
}

impl Moments {
    /// The moments of finite values; `None` for an empty list.
    pub(super) fn of(values: &[f64]) -> Option<Moments> {
        let first = *values.first()?;
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let count = values.len() as f64;
        // Relative to the first value, so that equal values have exactly zero variance.
        let shift = values.iter().map(|value| value - first).sum::<f64>() / count;
        let mean = first + shift;
        let squares = values.iter().map(|value| (value - mean).powi(2));
        let same = values.iter().all(|value| *value == first);
        let variance = match same || values.len() < 2 {
            true => 0.0,
            false => squares.sum::<f64>() / (count - 1.0),
        };
        Some(Moments {
            count,
            mean,
            variance,
        })
    }

    /// The square of the mean's standard error.
    pub(super) fn squared_error(&self) -> f64 {
        self.variance / self.count
    }
}

/// The degrees of freedom of a sum of two variances, estimated from these numbers of values
/// (Welch and Satterthwaite); at least one of the variances is above zero.
pub(super) fn freedom(of_a: f64, count_a: f64, of_b: f64, count_b: f64) -> f64 {
    // Shares of the total, so that small variances do not underflow when squared.
    let (share_a, share_b) = (of_a / (of_a + of_b), of_b / (of_a + of_b));
    1.0 / (share_a.powi(2) / (count_a - 1.0) + share_b.powi(2) / (count_b - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_zero_variance_and_others_the_unbiased_one() {
        let third = 1.0 / 3.0;
        let same = Moments::of(&[third; 7]).unwrap();
        assert_eq!((same.mean, same.variance), (third, 0.0));
        let found = Moments::of(&[1.0, 2.0, 6.0]).unwrap();
        assert_eq!((found.mean, found.variance), (3.0, 7.0));
        assert!((found.squared_error() - 7.0 / 3.0).abs() < 1e-12);
        assert_eq!(Moments::of(&[5.0]).unwrap().variance, 0.0);
        assert_eq!(Moments::of(&[]), None);
        assert_eq!(Moments::of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn freedom_lies_between_the_smaller_sample_and_both() {
        assert!((freedom(1.0, 10.0, 1.0, 10.0) - 18.0).abs() < 1e-12);
        assert_eq!(freedom(0.0, 10.0, 1e-300, 4.0), 3.0);
    }
}
