//! The normal distribution and Student's t distribution, as needed for intervals.
//!
//! For whole degrees of freedom (starts minus one), the t distribution has a closed form
//! (Abramowitz & Stegun 26.7.3 and 26.7.4); otherwise (Welch), its tails are incomplete
//! beta functions (26.7.1). Written here because these few functions are all that is needed; the
//! tests compare them with published tables.

use std::f64::consts::{FRAC_PI_2, PI};

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
    incomplete(df / (df + t * t), 0.5 * df, 0.5)
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

// The regularized incomplete beta function, used for the tails of Student's t.
//
// Computed by its continued fraction (DLMF 8.17.22), evaluated as by Lentz and Thompson &
// Barnett; the gamma function uses Lanczos' approximation (g = 7, nine coefficients). The
// relative error is below 1e-12, even far out in the tails, where p-values are.

/// I_x(a, b) for a, b > 0; `x` is clamped to 0 to 1.
pub(super) fn incomplete(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast only on this side; use symmetry for the other.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_of(1.0 - x, b, a);
    }
    incomplete_of(x, a, b)
}

fn incomplete_of(x: f64, a: f64, b: f64) -> f64 {
    let factor = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    (factor.exp() / a) * fraction(x, a, b)
}

/// The continued fraction, by the modified method of Lentz.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    for m in 1..500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for term in [even, odd] {
            d = 1.0 / nonzero(1.0 + term * d);
            c = nonzero(1.0 + term / c);
            step = c * d;
            result *= step;
        }
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    result
}

/// ln Γ(x) for x > 0.
fn ln_gamma(x: f64) -> f64 {
    const G: f64 = 7.0;
    const COEFFICIENTS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        // Euler's reflection formula.
        let pi = PI;
        return (pi / (pi * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let sum: f64 = (COEFFICIENTS.iter().enumerate().skip(1))
        .map(|(at, coefficient)| coefficient / (x + at as f64))
        .sum();
    let t = x + G + 0.5;
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + (COEFFICIENTS[0] + sum).ln()
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

    #[test]
    fn gamma_is_the_factorial() {
        for (x, value) in [(1.0, 1.0f64), (2.0, 1.0), (5.0, 24.0), (11.0, 3_628_800.0)] {
            assert!((ln_gamma(x) - value.ln()).abs() < 1e-12, "{x}");
        }
        let half = PI.sqrt().ln();
        assert!((ln_gamma(0.5) - half).abs() < 1e-13);
    }

    #[test]
    fn values_agree_with_closed_forms() {
        for x in [0.001, 0.1, 0.37, 0.5, 0.9, 0.9999] {
            // I_x(1, b) = 1 − (1 − x)^b, I_x(a, 1) = x^a.
            assert!((incomplete(x, 1.0, 3.5) - (1.0 - (1.0 - x).powf(3.5))).abs() < 1e-13);
            assert!((incomplete(x, 2.5, 1.0) - x.powf(2.5)).abs() < 1e-13);
            let both = incomplete(x, 0.7, 4.2) + incomplete(1.0 - x, 4.2, 0.7);
            assert!((both - 1.0).abs() < 1e-13);
        }
        assert_eq!(incomplete(-1.0, 2.0, 2.0), 0.0);
        assert_eq!(incomplete(2.0, 2.0, 2.0), 1.0);
    }
}
