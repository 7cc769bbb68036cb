//! Classes of generated series with known answers.

use std::collections::BTreeMap;

use preheat_analyze::stats::{StartSummary, summarize_start};
use preheat_model::stats::{Class, Rng};

mod series;

fn summary(values: &[f64]) -> StartSummary {
    summarize_start(values).unwrap()
}

/// Counts the classes of a thousand series.
fn tally(seed: u64, mut generate: impl FnMut(&mut Rng) -> Vec<f64>) -> BTreeMap<Class, usize> {
    let mut rng = Rng::new(seed);
    let mut counts = BTreeMap::new();
    for _ in 0..1000 {
        *counts
            .entry(summary(&generate(&mut rng)).class)
            .or_default() += 1;
    }
    counts
}

fn count(tally: &BTreeMap<Class, usize>, class: Class) -> usize {
    tally.get(&class).copied().unwrap_or(0)
}

#[test]
fn a_cold_first_iteration_is_never_flat() {
    let mut rng = Rng::new(1);
    let (mut all, mut cold) = (0, 0);
    for n in (3..40).chain([50, 100, 300, 1000, 3000]) {
        for sigma in [0.001, 0.01, 0.05] {
            for _ in 0..if n <= 100 { 20 } else { 2 } {
                let values = series::slow_prefix(&mut rng, n, 1, 2000.0, sigma);
                let found = summary(&values);
                assert_ne!(found.class, Class::Flat, "{values:?}");
                all += 1;
                if found.class == Class::ColdFirst {
                    cold += 1;
                    assert_eq!(found.steady_start, Some(1));
                    assert!((found.steady.unwrap() / 0.01 - 1.0).abs() < 0.15);
                    assert_eq!(found.excess, Some(values[0] - found.steady.unwrap()));
                }
            }
        }
    }
    println!("cold-first in {cold} of {all}");
    assert!(cold * 100 >= all * 99, "cold-first in {cold} of {all}");
}

#[test]
fn a_first_iteration_ten_percent_slower_is_found() {
    let found = tally(2, |rng| series::slow_prefix(rng, 50, 1, 1.1, 0.01));
    println!("{found:?}");
    assert!(count(&found, Class::ColdFirst) >= 950, "{found:?}");
}

#[test]
fn series_without_warm_up_rarely_raise_an_alarm() {
    for n in [4, 8, 15, 50, 200] {
        let gaussian = tally(3, |rng| series::slow_prefix(rng, n, 0, 1.0, 0.01));
        let loud = tally(3, |rng| series::slow_prefix(rng, n, 0, 1.0, 0.05));
        let skewed = tally(3, |rng| series::skewed(rng, n, 0.05));
        let spiked = tally(3, |rng| series::spiked(rng, n, 0.01, 0.02));
        println!("{n}: 1 % {gaussian:?}, 5 % {loud:?}, skewed {skewed:?}, spiked {spiked:?}");
        assert!(count(&gaussian, Class::Flat) >= 950, "{gaussian:?}");
        assert!(count(&loud, Class::Flat) >= 950, "{loud:?}");
        // One in fifty iterations is a spike, and so is one in fifty first iterations.
        for noise in [&skewed, &spiked] {
            assert!(count(noise, Class::ColdFirst) <= 60, "{n}: {noise:?}");
            assert!(count(noise, Class::Flat) >= 880, "{n}: {noise:?}");
        }
    }
}

#[test]
fn warm_up_of_any_length_is_found() {
    let mut rng = Rng::new(4);
    for (n, slow) in [(10, 3), (20, 2), (50, 2), (50, 5), (50, 20), (3000, 400)] {
        for _ in 0..20 {
            let values = series::slow_prefix(&mut rng, n, slow, 3.0, 0.02);
            let found = summary(&values);
            assert_eq!(found.class, Class::Warmup, "{n} {slow}");
            assert_eq!(found.steady_start, Some(slow), "{n} {slow}");
            let excess = 0.02 * slow as f64;
            assert!((found.excess.unwrap() / excess - 1.0).abs() < 0.1);
        }
    }
}

#[test]
fn a_second_slow_iteration_is_warm_up() {
    for n in 5..60 {
        let mut values = vec![0.01; n];
        values[0] = 20.0;
        values[1] = 1.0;
        let found = summary(&values);
        assert_eq!(found.class, Class::Warmup, "{n}");
        assert_eq!(found.steady_start, Some(2), "{n}");
        assert_eq!(found.steady, Some(0.01));
    }
    // Each iteration is three times as fast as the one before, then settled.
    let falling = (0..40).map(|i| 0.01 * 3f64.powi(4 - i.min(4)));
    let found = summary(&series::noisy(&mut Rng::new(5), falling, 0.01));
    assert_eq!((found.class, found.steady_start), (Class::Warmup, Some(4)));
}

#[test]
fn slower_than_before_is_a_slowdown() {
    let mut rng = Rng::new(6);
    for (n, fast) in [(20, 8), (50, 4), (50, 20), (3000, 700)] {
        let values = series::slow_prefix(&mut rng, n, fast, 0.7, 0.02);
        assert_eq!(summary(&values).class, Class::Slowdown, "{n} {fast}");
    }
    // Cold first, then fast, then throttled.
    let mut values = series::slow_prefix(&mut rng, 200, 50, 0.5, 0.02);
    values[0] = 3.0;
    assert_eq!(summary(&values).class, Class::Slowdown);
    // A fast first iteration alone is not a slowdown.
    let values = series::slow_prefix(&mut rng, 50, 1, 0.5, 0.02);
    assert_eq!(summary(&values).class, Class::Flat);
}

#[test]
fn series_that_do_not_settle_have_no_steady_state() {
    let mut rng = Rng::new(7);
    for n in [20, 50, 300, 3000] {
        let falling = (0..n).map(|i| (-2.0 * f64::from(i) / f64::from(n)).exp());
        let rising = (0..n).map(|i| (2.0 * f64::from(i) / f64::from(n)).exp());
        for values in [
            series::noisy(&mut rng, falling, 0.01),
            series::noisy(&mut rng, rising, 0.01),
            series::slow_prefix(&mut rng, n as usize, n as usize * 17 / 20, 2.0, 0.01),
        ] {
            let found = summary(&values);
            assert_eq!(found.class, Class::NoSteadyState, "{n}");
            assert_eq!((found.steady, found.steady_start), (None, None));
            assert_eq!(found.excess, None);
        }
    }
}

#[test]
fn an_interruption_does_not_end_the_steady_state() {
    let mut rng = Rng::new(8);
    let mut values = series::slow_prefix(&mut rng, 200, 1, 50.0, 0.01);
    for value in &mut values[100..106] {
        *value *= 4.0;
    }
    let found = summary(&values);
    assert_eq!(
        (found.class, found.steady_start),
        (Class::ColdFirst, Some(1))
    );
}

#[test]
fn short_series() {
    let class = |values: &[f64]| summary(values).class;
    assert_eq!(summarize_start(&[]), None);
    assert_eq!(class(&[1.0]), Class::NoSteadyState);
    assert_eq!(class(&[1.0, 1.0]), Class::NoSteadyState);
    assert_eq!(class(&[9.0, 1.0]), Class::NoSteadyState);
    assert_eq!(class(&[1.0, 1.0, 1.0]), Class::Flat);
    assert_eq!(class(&[9.0, 1.0, 1.0]), Class::ColdFirst);
    assert_eq!(class(&[9.0, 3.0, 1.0]), Class::NoSteadyState);
    assert_eq!(class(&[9.0, 3.0, 1.0, 1.0]), Class::NoSteadyState);
    assert_eq!(class(&[9.0, 3.0, 1.0, 1.0, 1.0]), Class::Warmup);
    assert_eq!(
        class(&[32.0, 16.0, 8.0, 4.0, 2.0, 1.0]),
        Class::NoSteadyState
    );
}

#[test]
fn only_times_are_summarized() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(summarize_start(&[bad]), None);
        assert_eq!(summarize_start(&[1.0, 1.0, bad, 1.0]), None);
    }
    for extreme in [f64::MIN_POSITIVE, f64::MAX, 5e-324] {
        assert!(summarize_start(&[extreme; 12]).is_some());
        assert!(summarize_start(&[extreme, 1.0, extreme, 1.0, 1.0, 1.0]).is_some());
    }
}

#[test]
fn the_scale_does_not_matter() {
    let mut rng = Rng::new(9);
    for slow in [0, 1, 2, 30] {
        let values = series::slow_prefix(&mut rng, 100, slow, 1.5, 0.01);
        let found = summary(&values);
        for scale in [1e-5, 1e-9, 1e9] {
            let scaled: Vec<f64> = values.iter().map(|v| v * scale).collect();
            let scaled = summary(&scaled);
            assert_eq!(scaled.class, found.class);
            assert_eq!(scaled.steady_start, found.steady_start);
            let ratio = scaled.steady.unwrap() / found.steady.unwrap();
            assert!((ratio / scale - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn constant_and_ticking_clocks() {
    for n in [3, 10, 100, 3000] {
        assert_eq!(summary(&vec![1e-7; n]).class, Class::Flat);
    }
    // Decimal fractions that differ in their last digits are constant too.
    let almost: Vec<f64> = (0..60).map(|i| 0.1 + f64::from(i % 3) * 1e-17).collect();
    assert_eq!(summary(&almost).class, Class::Flat);
    // About 3.5 ticks of 100 ns.
    let ticks = |rng: &mut Rng, first: f64| -> Vec<f64> {
        let mut values: Vec<f64> = (0..80)
            .map(|_| (3.5 + 0.4 * rng.normal()).round() * 1e-7)
            .collect();
        values[0] = first;
        values
    };
    let mut rng = Rng::new(10);
    let flat = (0..200).filter(|_| summary(&ticks(&mut rng, 4e-7)).class == Class::Flat);
    assert!(flat.count() >= 190);
    for _ in 0..20 {
        assert_eq!(summary(&ticks(&mut rng, 9e-6)).class, Class::ColdFirst);
    }
}
