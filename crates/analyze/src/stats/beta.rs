//! The regularized incomplete beta function, used for the tails of Student's t.
//!
//! Computed by its continued fraction (DLMF 8.17.22), evaluated as by Lentz and Thompson &
//! Barnett; the gamma function uses Lanczos' approximation (g = 7, nine coefficients). The
//! relative error is below 1e-12, even far out in the tails, where p-values are.

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
        let pi = std::f64::consts::PI;
        return (pi / (pi * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let sum: f64 = (COEFFICIENTS.iter().enumerate().skip(1))
        .map(|(at, coefficient)| coefficient / (x + at as f64))
        .sum();
    let t = x + G + 0.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + (COEFFICIENTS[0] + sum).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_is_the_factorial() {
        for (x, value) in [(1.0, 1.0f64), (2.0, 1.0), (5.0, 24.0), (11.0, 3_628_800.0)] {
            assert!((ln_gamma(x) - value.ln()).abs() < 1e-12, "{x}");
        }
        let half = std::f64::consts::PI.sqrt().ln();
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
