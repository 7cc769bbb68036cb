//! Whole numbers that add up.

/// Rounds parts to whole numbers that add up to `total`, which is about their sum.
pub(super) fn rounded(total: u64, parts: impl Iterator<Item = f64>) -> Vec<u64> {
    let mut exact = 0.0;
    let mut given = 0u64;
    let mut whole: Vec<u64> = parts
        .map(|part| {
            // Rounding the running sum, not each part, keeps the error below one.
            exact += part.max(0.0);
            let until = (exact.round() as u64).min(total);
            let part = until - given;
            given = until;
            part
        })
        .collect();
    if let Some(largest) = whole.iter_mut().max() {
        *largest += total - given;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        assert_eq!(rounded(10, [3.4, 3.4, 3.4].into_iter()), [3, 4, 3]);
        assert_eq!(rounded(3, [1.0, -0.5, 1.0].into_iter()), [1, 0, 2]);
        assert_eq!(rounded(1, [2.0, 2.0].into_iter()), [1, 0]);
        assert!(rounded(0, std::iter::empty()).is_empty());
    }
}
