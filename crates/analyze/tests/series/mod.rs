//! Generated series of iteration times with known answers, for tests and benches.

#![allow(dead_code, reason = "each test and bench uses its own part")]

use preheat_model::stats::Rng;

/// Levels with multiplicative Gaussian noise.
pub fn noisy(rng: &mut Rng, levels: impl IntoIterator<Item = f64>, sigma: f64) -> Vec<f64> {
    (levels.into_iter())
        .map(|level| level * (1.0 + sigma * rng.normal()).max(0.01))
        .collect()
}

/// `n` iterations of 10 ms, the first `slow` of which are `factor` times slower.
pub fn slow_prefix(rng: &mut Rng, n: usize, slow: usize, factor: f64, sigma: f64) -> Vec<f64> {
    let levels = (0..n).map(|i| if i < slow { 0.01 * factor } else { 0.01 });
    noisy(rng, levels, sigma)
}

/// A flat series with a heavier upper tail: log-normal, skewed, σ = `sigma`.
pub fn skewed(rng: &mut Rng, n: usize, sigma: f64) -> Vec<f64> {
    (0..n)
        .map(|_| 0.01 * (1.0 + sigma * (0.8 * rng.normal()).exp()))
        .collect()
}

/// A flat series in which each iteration is two to ten times slower with this probability.
pub fn spiked(rng: &mut Rng, n: usize, sigma: f64, chance: f64) -> Vec<f64> {
    let mut values = slow_prefix(rng, n, 0, 1.0, sigma);
    for value in &mut values {
        if rng.uniform() < chance {
            *value *= 2.0 + 8.0 * rng.uniform();
        }
    }
    values
}
