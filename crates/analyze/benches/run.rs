//! Benchmarks the analysis of a large recording: events per second on one core.
//!
//! Four programs: a training loop with steps in Python, one with kernels only, one that
//! never repeats, whose whole path must be partitioned, and the same with a main thread
//! that mostly waits, so that the other thread explains every gap. The first column is a
//! plain pass over the same spans, for comparison on a busy machine. Run with `cargo bench
//! --bench run [MILLIONS]`.

use std::hint::black_box;
use std::time::Instant;

use preheat_analyze::run::analyze;
use preheat_model::run::Recording;
use preheat_model::run::trace::{Iteration, Span, SpanKind, StartTrace};
use preheat_model::stats::Rng;

#[path = "../tests/run_builder/mod.rs"]
mod run_builder;

use run_builder::{Program, recording};

/// Launches and other calls in a step.
const A_STEP: u64 = 500;

fn main() {
    let mut millions = std::env::args().filter_map(|argument| argument.parse().ok());
    let millions: u64 = millions.next_back().unwrap_or(3);
    println!("{millions} million spans, best of 3");
    println!("program       plain pass    analyze    events/s   iterations");
    for (name, steps, repeats, busy) in [
        ("steps", true, true, true),
        ("kernels", false, true, true),
        ("no loop", false, false, true),
        ("waiting", false, false, false),
    ] {
        let recording = generate(millions * 1_000_000, steps, repeats, busy);
        let spans = || recording.starts[0].processes[0].threads.iter();
        let count: usize = spans().map(|thread| thread.spans.len()).sum();
        let plain = best(|| {
            let spans = spans().flat_map(|thread| &thread.spans);
            spans.map(|span| span.end - span.begin).sum::<u64>() as usize
        });
        let mut iterations = 0;
        let all = best(|| {
            let found = analyze(black_box(&recording));
            iterations = found.report.starts[0].iterations.len();
            found.starts[0].path.len()
        });
        println!(
            "{name:<12} {:>8.1} ms {:>7.1} ms {:>8.1} M  {iterations:>8}",
            plain * 1e3,
            all * 1e3,
            count as f64 / all * 1e-6,
        );
    }
    println!("peak resident: {}", peak());
}

/// A program with about this many spans, half of them in a second thread.
fn generate(spans: u64, steps: bool, repeats: bool, busy: bool) -> Recording {
    let mut rng = Rng::new(1);
    let mut p = Program::python(100);
    p.import("torch", ("__main__", "train.py:1"), (12.0, 112.0), 100.0);
    let autograd = p.thread("pt_autograd_0");
    let symbols: Vec<u16> = ["cuLaunchKernel", "cuEventRecord", "cuMemAllocAsync"]
        .iter()
        .map(|name| p.symbol(name))
        .collect();
    for kernel in 0..150 {
        p.function(&format!("_ZN2at6native6kernelILi{kernel}EEvv"));
    }
    let name = p.text("SGD");
    p.process.allocations.push(Default::default());
    let mut now = 200_000_000u64;
    let call = |begin: u64, at: u64, rng: &mut Rng| {
        let launch = !at.is_multiple_of(3);
        let function = if repeats {
            at % 150
        } else {
            rng.below(150) as u64
        };
        Span {
            begin,
            end: begin + 900 + rng.below(200) as u64,
            detail: if launch { function as u32 } else { 0 },
            symbol: symbols[if launch { 0 } else { 1 }],
            what: if launch {
                SpanKind::Launch
            } else {
                SpanKind::Call
            },
            depth: 0,
        }
    };
    for _ in 0..spans / A_STEP {
        // Forward on this thread, backward on the other while this one waits, then the step.
        for at in 0..A_STEP / 2 {
            let span = call(now, at, &mut rng);
            p.process.threads[0].spans.push(span);
            now = span.end + 500;
        }
        for at in 0..A_STEP / 2 {
            let span = call(now, A_STEP + at, &mut rng);
            p.process.threads[autograd].spans.push(span);
            now = span.end + 500;
        }
        if steps {
            p.process.threads[0].spans.push(Span {
                begin: now,
                end: now + 10_000,
                detail: name,
                symbol: 0,
                what: SpanKind::Iteration(Iteration::OptimizerStep),
                depth: 0,
            });
            now += 20_000;
        }
    }
    let end = now as f64 * 1e-6;
    let until = if busy { end } else { 200.0 };
    p.busy(0, &[(0.0, until)], end);
    p.busy(autograd, &[(200.0, end)], end);
    let start: StartTrace = p.alone(end);
    recording("auto", vec![start])
}

/// The shortest of three runs, in seconds.
fn best(mut run: impl FnMut() -> usize) -> f64 {
    let mut time = || {
        let begin = Instant::now();
        black_box(run());
        begin.elapsed().as_secs_f64()
    };
    (0..3).map(|_| time()).fold(f64::INFINITY, f64::min)
}

/// The peak resident memory, as reported by the kernel.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.map_or("unknown", |line| line.trim_start_matches("VmHWM:").trim())
        .to_owned()
}
