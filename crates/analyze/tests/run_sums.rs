//! For arbitrary recordings, every instant has one cause, the causes add up to the time to
//! first, and nothing panics.

use preheat_analyze::run::analyze;
use preheat_model::run::Cause;
use preheat_model::run::trace::{Iteration, Span, SpanKind};
use preheat_model::stats::Rng;

#[path = "run_builder/mod.rs"]
mod run_builder;

use run_builder::*;

const NAMES: [&str; 9] = [
    "cuInit",
    "cuDevicePrimaryCtxRetain",
    "cublasCreate",
    "cuMemAlloc",
    "cuEventRecord",
    "cuStreamSynchronize",
    "cuMemcpyAsync",
    "nvrtcCompileProgram",
    "cuLaunchKernel",
];
const KINDS: [SpanKind; 17] = [
    SpanKind::Call,
    SpanKind::Heavy,
    SpanKind::Allocate,
    SpanKind::Free,
    SpanKind::Copy,
    SpanKind::Launch,
    SpanKind::Module,
    SpanKind::Lookup,
    SpanKind::Import,
    SpanKind::Load,
    SpanKind::Bytecode,
    SpanKind::Iteration(Iteration::OptimizerStep),
    SpanKind::Iteration(Iteration::ModelCall),
    SpanKind::Iteration(Iteration::TrainStep),
    SpanKind::Iteration(Iteration::PredictStep),
    SpanKind::Iteration(Iteration::TestStep),
    SpanKind::Range,
];

/// Fills an interval with nested spans.
fn grow(rng: &mut Rng, spans: &mut Vec<Span>, from: u64, to: u64, depth: u8) {
    let mut now = from;
    while now < to && spans.len() < 3000 {
        now += rng.below(((to - from) / 6 + 2) as usize) as u64;
        let end = (now + rng.below(((to - from) / 3 + 2) as usize) as u64).min(to);
        if now >= to {
            return;
        }
        spans.push(Span {
            begin: now,
            end,
            // Some indices are beyond every table.
            detail: rng.below(6) as u32,
            symbol: rng.below(NAMES.len() + 1) as u16,
            what: KINDS[rng.below(KINDS.len())],
            depth,
        });
        if depth < 5 && end > now && rng.below(2) == 0 {
            grow(rng, spans, now, end, depth + 1);
        }
        now = end;
    }
}

fn random_program(rng: &mut Rng, pid: u32, end: u64) -> Program {
    let mut p = if rng.below(2) == 0 {
        Program::python(pid)
    } else {
        Program::new(pid)
    };
    for name in NAMES {
        p.symbol(name);
    }
    for text in ["SGD", "Net", "step", "epoch"] {
        p.text(text);
    }
    for i in 0..rng.below(4) as u64 {
        p.function(&format!("kernel{i}"));
        p.process.allocations.push(Default::default());
        p.process.frees.push(i);
        p.process.copies.push(Default::default());
        p.process.modules.push(Default::default());
        p.process.usages.push(Default::default());
        p.process.loads.push(Default::default());
        p.process.imports.push(Default::default());
    }
    for _ in 0..rng.below(4) {
        p.thread("worker");
    }
    for thread in 0..p.process.threads.len() {
        let mut spans = Vec::new();
        let from = rng.below(end as usize) as u64;
        grow(rng, &mut spans, from, end, 0);
        p.process.threads[thread].spans = spans;
        if rng.below(3) > 0 {
            let some = rng.uniform() * end as f64 * 1e-6;
            p.busy(thread, &[(some * 0.3, some)], some);
        }
        if rng.below(2) == 0 {
            let mut waited = 0;
            for sample in &mut p.process.threads[thread].samples {
                waited += (rng.below(40_000_000) as u64).saturating_sub(30_000_000);
                sample.waited = waited;
            }
        }
    }
    let mut from = 0;
    for _ in 0..rng.below(4) {
        from += 1 + rng.below(end as usize / 4 + 1) as u64;
        let to = from + 1 + rng.below(end as usize / 8 + 1) as u64;
        p.process.sparse.push((from, to));
        from = to;
    }
    for i in 0..rng.below(5) as u64 {
        let time = i as f64 * end as f64 * 2e-7;
        p.device_memory(time, rng.next_u64() >> 30, "cuInit");
        p.resident(time, rng.next_u64() >> 30);
        if let Some(sample) = p.process.samples.last_mut() {
            sample.read = i * (rng.next_u64() >> 42);
            sample.major_faults = i * rng.below(3) as u64;
        }
    }
    p
}

#[test]
fn causes_add_up_in_arbitrary_recordings() {
    let mut rng = Rng::new(11);
    let settings = ["auto", "python", "kernels", "nvtx:step", "lines:x", "nvtx"];
    for round in 0..300 {
        let end = 1 + rng.below(2_000_000_000) as u64;
        let in_ms = end as f64 * 1e-6;
        let mut others = Vec::new();
        for pid in 0..rng.below(4) as u32 {
            let mut child = random_program(&mut rng, 101 + pid, end);
            child.process.parent = 100 + rng.below(3) as u32;
            if rng.below(3) == 0 {
                child.process.program = "/usr/bin/ptxas".to_owned();
            }
            let made = rng.uniform() * in_ms;
            let began = made + rng.uniform() * 20.0;
            others.push(child.started(made, began, began + rng.uniform() * in_ms));
        }
        let mut start = random_program(&mut rng, 100, end).beside(others, in_ms);
        let mut line = 0;
        for _ in 0..rng.below(6) {
            line += rng.below(end as usize / 6 + 1) as u64;
            start.lines.push(line);
        }
        let found = analyze(&recording(settings[round % settings.len()], vec![start]));
        check(&found);
        for part in &found.starts[0].path {
            assert!(part.begin < part.end || part.end == 0, "{part:?}");
            assert!(found.starts[0].names.len() > part.item as usize);
        }
    }
}

#[test]
fn the_path_and_the_sums_are_the_same() {
    let mut rng = Rng::new(12);
    for _ in 0..50 {
        let start = random_program(&mut rng, 100, 1_000_000_000).alone(1000.0);
        let found = analyze(&recording("nvtx:no such", vec![start]));
        let report = &found.report.starts[0];
        for cause in Cause::ALL {
            let parts = found.starts[0]
                .path
                .iter()
                .filter(|part| part.cause == cause);
            let path: u64 = parts.map(|part| part.end - part.begin).sum();
            let sum: f64 = (report.causes.iter())
                .filter(|sum| sum.cause == cause)
                .map(|sum| sum.seconds)
                .sum();
            assert!((path as f64 * 1e-9 - sum).abs() < 1e-9, "{cause:?}");
        }
    }
}
