//! Adjusts p-values for multiple comparisons.
//!
//! Of twenty quantities that did not change, one has a p-value below 0.05 in two of three
//! comparisons. Holm 1979, "A simple sequentially rejective multiple test procedure",
//! adjusts the p-values so that the chance of *any* false alarm is at most 5 %, however the
//! quantities depend on each other: the smallest of m is multiplied by m, the next by m −
//! 1, and so on, never below the previous one. It finds everything that Bonferroni's
//! correction finds, and more.

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
