//! Benchmarks the statistics of a long series: ten starts of 3000 iterations.
//!
//! Absolute times mean little on a busy machine, so each row also has its ratio to textbook
//! PELT (which evaluates every start that is not pruned) on the same data, measured in the
//! same run. Run with `cargo bench`.

use std::hint::black_box;
use std::time::Instant;

use preheat_analyze::stats::{interval, pelt, summarize, summarize_start};
use preheat_model::stats::Rng;

#[path = "../tests/series/mod.rs"]
mod series;

const STARTS: usize = 10;
const ITERATIONS: usize = 3000;

fn main() {
    println!("{STARTS} starts of {ITERATIONS} iterations, best of 5, ms (× textbook PELT)");
    println!("series      textbook  pelt           classify       summarize      bootstrap");
    for (name, generate) in KINDS {
        let mut rng = Rng::new(1);
        let starts: Vec<Vec<f64>> = (0..STARTS).map(|_| generate(&mut rng)).collect();
        let logs: Vec<Vec<f64>> = (starts.iter())
            .map(|s| s[1..].iter().map(|v| v.ln()).collect())
            .collect();
        let penalty = 15.0 * (ITERATIONS as f64).ln();

        let textbook = milliseconds(1, || logs.iter().map(|l| plain(l, penalty).len()).sum());
        let pelt = milliseconds(5, || {
            let cuts = logs.iter().map(|l| pelt::breakpoints(l, penalty, 2).len());
            cuts.sum()
        });
        let classify = milliseconds(5, || {
            let classes = starts.iter().filter_map(|s| summarize_start(s));
            classes.filter(|s| s.steady.is_some()).count()
        });
        let all = milliseconds(5, || {
            summarize(black_box(&starts), 1).map_or(0, |s| s.starts.len())
        });
        let bootstrap = milliseconds(5, || interval(&starts, 1).map_or(0, |_| 1));

        print!("{name:<10} {textbook:>9.1}");
        for time in [pelt, classify, all, bootstrap] {
            print!("  {time:>6.2} {:<6}", format!("({:.3})", time / textbook));
        }
        println!();
    }
}

type Generate = fn(&mut Rng) -> Vec<f64>;

const KINDS: [(&str, Generate); 6] = [
    ("flat", |rng| {
        series::slow_prefix(rng, ITERATIONS, 0, 1.0, 0.01)
    }),
    ("cold-first", |rng| {
        series::slow_prefix(rng, ITERATIONS, 1, 2000.0, 0.01)
    }),
    ("warmup", |rng| {
        series::slow_prefix(rng, ITERATIONS, 200, 3.0, 0.01)
    }),
    ("spiked", |rng| series::spiked(rng, ITERATIONS, 0.01, 0.02)),
    ("changing", |rng| {
        let levels = (0..ITERATIONS).map(|i| 0.01 + 0.002 * ((i / 150) % 3) as f64);
        series::noisy(rng, levels, 0.02)
    }),
    ("wandering", |rng| {
        let mut level = 0.01;
        let steps: Vec<f64> = (0..ITERATIONS).map(|_| 0.01 * rng.normal()).collect();
        let levels = steps.into_iter().map(|step| {
            level *= step.exp();
            level
        });
        series::noisy(rng, levels, 0.01)
    }),
];

/// The best time of `runs` runs.
fn milliseconds(runs: usize, mut work: impl FnMut() -> usize) -> f64 {
    let times = (0..runs).map(|_| {
        let begin = Instant::now();
        black_box(work());
        begin.elapsed().as_secs_f64() * 1e3
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Textbook PELT with the Gaussian cost and segments of at least two.
fn plain(values: &[f64], penalty: f64) -> Vec<usize> {
    let mut sums = vec![(0.0, 0.0)];
    for v in values {
        let (plain, squared) = sums[sums.len() - 1];
        sums.push((plain + v, squared + v * v));
    }
    let cost = |from: usize, to: usize| {
        let len = (to - from) as f64;
        let mean = (sums[to].0 - sums[from].0) / len;
        let variance = (sums[to].1 - sums[from].1) / len - mean * mean;
        len * variance.max(1e-12).ln()
    };
    let mut best = vec![(f64::INFINITY, 0); values.len() + 1];
    best[0].0 = 0.0;
    let mut starts = Vec::new();
    for end in 2..=values.len() {
        starts.push(end - 2);
        let totals: Vec<f64> = (starts.iter())
            .map(|s: &usize| best[*s].0 + cost(*s, end) + penalty)
            .collect();
        for (start, total) in starts.iter().zip(&totals) {
            if *total < best[end].0 {
                best[end] = (*total, *start);
            }
        }
        let limit = best[end].0 + penalty;
        let mut totals = totals.into_iter();
        starts.retain(|_| totals.next().is_some_and(|t| t <= limit));
    }
    let mut ends = vec![values.len()];
    while best[ends[ends.len() - 1]].1 > 0 {
        ends.push(best[ends[ends.len() - 1]].1);
    }
    ends
}
