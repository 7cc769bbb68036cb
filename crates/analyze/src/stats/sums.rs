//! Sums over any interval of a series, in constant time.
//!
//! Values are relative to their mean, and each running sum keeps its rounding error
//! separately (Neumaier 1974), so that a quiet interval next to a noisy one keeps its
//! digits: a first iteration of 20 s must not hide microseconds of noise.

/// Running sums of the values and of their squares.
pub(super) struct Sums {
    /// Cumulative values before each index: sum, sum of squares, and the errors of both.
    before: Vec<[f64; 4]>,
}

impl Sums {
    pub(super) fn new(values: &[f64]) -> Sums {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let mut before = Vec::with_capacity(values.len() + 1);
        let (mut plain, mut squared) = ((0.0, 0.0), (0.0, 0.0));
        before.push([0.0; 4]);
        for value in values {
            let value = value - mean;
            plain = add(plain, value);
            squared = add(squared, value * value);
            before.push([plain.0, squared.0, plain.1, squared.1]);
        }
        Sums { before }
    }

    /// The sum of squared deviations from their mean of the values `start..end`, of which
    /// there must be at least one.
    pub(super) fn squares(&self, start: usize, end: usize) -> f64 {
        let (a, b) = (&self.before[start], &self.before[end]);
        let plain = (b[0] - a[0]) + (b[2] - a[2]);
        let squared = (b[1] - a[1]) + (b[3] - a[3]);
        (squared - plain * plain / (end - start) as f64).max(0.0)
    }
}

/// Adds to a sum that tracks its rounding error.
fn add((sum, error): (f64, f64), value: f64) -> (f64, f64) {
    let total = sum + value;
    let lost = if sum.abs() >= value.abs() {
        (sum - total) + value
    } else {
        (value - total) + sum
    };
    (total, error + lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_interval_after_a_noisy_one_keeps_its_digits() {
        let mut values = vec![1e6; 500];
        values.extend((0..500).map(|i| if i % 2 == 0 { 1.0 } else { 1.001 }));
        let sums = Sums::new(&values);
        // The mean of 500 000 limits the precision of a square to about 1e-16 · 2.5e11.
        let variance = sums.squares(500, 1000) / 500.0;
        assert!((variance - 0.25e-6).abs() < 1e-4, "{variance}");

        let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
        let sums = Sums::new(&logs);
        let variance = sums.squares(500, 1000) / 500.0;
        assert!((variance / 0.249_75e-6 - 1.0).abs() < 1e-3, "{variance}");
    }

    #[test]
    fn constant_values_have_no_squares() {
        let sums = Sums::new(&[0.1; 9]);
        assert_eq!(sums.squares(3, 9), 0.0);
        assert_eq!(sums.squares(3, 4), 0.0);
    }
}
