//! The normal distribution and Student's t distribution, as needed for intervals.
//!
//! For whole degrees of freedom (starts minus one), the t distribution has a closed form
//! (Abramowitz & Stegun 26.7.3 and 26.7.4); otherwise (Welch), its tails are incomplete
//! beta functions (26.7.1).

use std::f64::consts::{FRAC_PI_2, PI};

use super::beta;

/// Φ(x), the share of a standard normal distribution below `x`. The absolute error is below
/// 1e-15, so tails are accurate down to about 1e-12.
pub(super) fn normal_cdf(x: f64) -> f64 {
    if x.abs() > 8.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    // Φ(x) = 1/2 + φ(x)·(x + x³/3 + x⁵/(3·5) + …): all terms have the same sign.
    let (mut term, mut sum, mut k) = (x, x, 3.0);
    while term.abs() > 1e-17 * sum.abs() {
        term *= x * x / k;
        sum += term;
        k += 2.0;
    }
    (0.5 + sum * (-0.5 * x * x).exp() / (2.0 * PI).sqrt()).clamp(0.0, 1.0)
}

/// P(|T| ≤ t) for `df` ≥ 1 degrees of freedom and t ≥ 0.
fn t_within(t: f64, df: usize) -> f64 {
    let theta = (t / (df as f64).sqrt()).atan();
    let cos2 = theta.cos().powi(2);
    let odd = df % 2 == 1;
    let (mut k, mut term) = if odd { (2.0, theta.cos()) } else { (1.0, 1.0) };
    let mut sum = if df == 1 { 0.0 } else { term };
    // The last power of the cosine is df − 2 in both cases.
    for _ in 0..(df / 2).saturating_sub(1) {
        term *= cos2 * k / (k + 1.0);
        sum += term;
        k += 2.0;
    }
    if odd {
        (theta + theta.sin() * sum) / FRAC_PI_2
    } else {
        theta.sin() * sum
    }
}

/// The t with P(|T| ≤ t) = `within`: 0.95 gives the factor of a 95 % interval. `df` 0
/// counts as 1; beyond 10 000 degrees the distribution no longer changes.
pub(super) fn t_quantile(within: f64, df: usize) -> f64 {
    let df = df.clamp(1, 10_000);
    let (mut low, mut high) = (0.0, 1.0);
    while t_within(high, df) < within && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if t_within(middle, df) < within {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// P(|T| > t) for any `df` > 0 degrees of freedom: the two-sided p-value.
pub(super) fn t_beyond(t: f64, df: f64) -> f64 {
    beta::incomplete(df / (df + t * t), 0.5 * df, 0.5)
}

/// The t with P(|T| ≤ t) = `within`, for any `df` > 0.
pub(super) fn t_factor(within: f64, df: f64) -> f64 {
    let beyond = 1.0 - within;
    let (mut low, mut high) = (0.0, 1.0);
    while t_beyond(high, df) > beyond && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if t_beyond(middle, df) > beyond {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_shares_agree_with_tables() {
        for (x, share) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746),
            (-1.959_963_985, 0.025),
            (-3.0, 0.001_349_898),
        ] {
            assert!((normal_cdf(x) - share).abs() < 1e-9, "{x}");
        }
        assert!((normal_cdf(-5.0) / 2.866_515_7e-7 - 1.0).abs() < 1e-6);
        assert_eq!(normal_cdf(-40.0), 0.0);
        assert_eq!(normal_cdf(40.0), 1.0);
    }

    #[test]
    fn t_factors_agree_with_tables() {
        for (df, t) in [
            (1, 12.7062),
            (2, 4.3027),
            (3, 3.1824),
            (4, 2.7764),
            (5, 2.5706),
            (9, 2.2622),
            (10, 2.2281),
            (30, 2.0423),
            (120, 1.9799),
            (1_000_000, 1.9602),
        ] {
            let found = t_quantile(0.95, df);
            assert!((found - t).abs() < 1e-4, "df {df}: {found} is not {t}");
        }
        assert!((t_quantile(0.99, 7) - 3.4995).abs() < 1e-4);
    }

    #[test]
    fn degrees_of_freedom_need_not_be_whole() {
        for df in [1, 2, 3, 7, 20, 300] {
            for t in [0.3, 1.0, 2.5, 6.0] {
                let exact = 1.0 - t_within(t, df);
                assert!((t_beyond(t, df as f64) - exact).abs() < 1e-12, "{df} {t}");
            }
            let whole = t_quantile(0.95, df);
            assert!((t_factor(0.95, df as f64) - whole).abs() < 1e-9, "{df}");
        }
        let between = t_factor(0.95, 4.5);
        assert!(t_factor(0.95, 5.0) < between && between < t_factor(0.95, 4.0));
        // Accurate far out in the tail: scipy.stats.t.sf(30, 8.5) * 2.
        let far = t_beyond(30.0, 8.5);
        assert!(
            (far / 6.357_509_021_620_188e-10 - 1.0).abs() < 1e-9,
            "{far}"
        );
        assert_eq!(t_beyond(0.0, 3.3), 1.0);
    }
}
