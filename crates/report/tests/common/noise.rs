//! Made-up series with a first value, a steady value, and noise.

use preheat_model::lab::{FirstStart, SampleKind, Series};
use preheat_model::stats::{Class, Consistency, Estimate};

/// Repeatable numbers in 0..1 (xorshift).
pub struct Noise(u64);

impl Noise {
    fn new(name: &str, size: u64) -> Noise {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Noise(name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ size, mix) | 1)
    }

    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A repeated operation: `count` iterations in each of five starts. The first iteration of
/// the first start is `slowdown` times slower.
pub fn repeated(
    name: &str,
    variant: &str,
    (first, steady): (f64, f64),
    count: usize,
    slowdown: f64,
) -> Series {
    let mut noise = Noise::new(name, variant.len() as u64 + count as u64);
    let iterations: Vec<Vec<f64>> = (0..5)
        .map(|start| {
            (0..count)
                .map(|at| {
                    let unrest = 1.0 + 0.08 * noise.next();
                    let outlier = if noise.next() > 0.98 { 1.8 } else { 1.0 };
                    match at {
                        0 if start == 0 => first * slowdown,
                        0 => first * unrest,
                        1..=4 if first > 20.0 * steady => steady * (1.0 + 1.5 / at as f64) * unrest,
                        _ => steady * unrest * outlier,
                    }
                })
                .collect()
        })
        .collect();
    let ratio = first / steady;
    Series {
        name: name.to_owned(),
        variant: variant.to_owned(),
        kind: SampleKind::Iterations,
        size: None,
        first,
        steady: Some(steady),
        ratio: Some(Estimate {
            value: ratio,
            low: Some(ratio * 0.93),
            high: Some(ratio * 1.06),
        }),
        class: Some(match ratio {
            r if r > 20.0 => Class::Warmup,
            r if r > 1.2 => Class::ColdFirst,
            r if r > 0.9 => Class::Flat,
            _ => Class::Slowdown,
        }),
        consistency: Some(Consistency::Consistent),
        warmup: Some(if ratio > 20.0 { 5.0 } else { 1.0 }),
        excess: Some(first - steady),
        first_start: Some(FirstStart {
            first: first * slowdown,
            steady: Some(steady * 1.01),
        }),
        iterations,
    }
}

/// One size of a sweep.
pub fn swept(name: &str, size: u64, times: (f64, f64)) -> Series {
    Series {
        size: Some(size),
        ..repeated(name, "", times, 8, 1.1)
    }
}

/// An operation that happens once per start, `slowdown` times slower in the first start.
pub fn once(name: &str, variant: &str, seconds: f64, slowdown: f64) -> Series {
    let mut noise = Noise::new(name, variant.len() as u64);
    let mut iterations: Vec<Vec<f64>> = (0..5)
        .map(|_| vec![seconds * (0.97 + 0.06 * noise.next())])
        .collect();
    iterations[0][0] = seconds * slowdown;
    Series {
        first_start: Some(FirstStart {
            first: seconds * slowdown,
            steady: None,
        }),
        iterations,
        ..bare(name, variant, SampleKind::Stage, seconds)
    }
}

/// Memory in use before the first iteration and after each iteration.
pub fn memory(name: &str, variant: &str, before: u64, after_first: u64, count: usize) -> Series {
    let mut noise = Noise::new(name, variant.len() as u64);
    let iterations = (0..5)
        .map(|_| {
            (0..=count)
                .map(|at| match at {
                    0 => before as f64,
                    _ => (after_first + (noise.next() * 3e5) as u64) as f64,
                })
                .collect()
        })
        .collect();
    Series {
        iterations,
        ..bare(name, variant, SampleKind::Memory, before as f64)
    }
}

/// A count per iteration.
pub fn counted(name: &str, variant: &str, value: f64, count: usize) -> Series {
    let iterations = vec![vec![value; count]; 5];
    Series {
        iterations,
        ..bare(name, variant, SampleKind::Count, value)
    }
}

fn bare(name: &str, variant: &str, kind: SampleKind, first: f64) -> Series {
    Series {
        name: name.to_owned(),
        variant: variant.to_owned(),
        kind,
        size: None,
        first,
        steady: None,
        ratio: None,
        class: None,
        consistency: None,
        warmup: None,
        excess: None,
        first_start: None,
        iterations: vec![],
    }
}
