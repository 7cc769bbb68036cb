//! Recordings whose steady iterations are detailed only in windows give the same results as
//! fully detailed ones.

use preheat_analyze::run::analyze;
use preheat_model::run::trace::{Iteration, SpanKind, StartTrace};
use preheat_model::run::{Cause, IterationsBy, RunReport};

#[path = "run_builder/mod.rs"]
mod run_builder;

use run_builder::*;

const ITERATIONS: usize = 300;
/// The begin and duration of the first iteration; each other one takes 10 ms.
const FIRST: (f64, f64) = (100.0, 160.0);

fn begin_of(iteration: usize) -> f64 {
    match iteration {
        0 => FIRST.0,
        later => FIRST.1 + 10.0 * (later - 1) as f64,
    }
}

/// Calls of a model: a copy to the device, launches, and a synchronization.
fn whole() -> Program {
    let mut p = Program::python(100);
    p.heavy("cuInit", (20.0, 60.0), 40.0);
    for iteration in 0..ITERATIONS {
        let begin = begin_of(iteration);
        let end = begin_of(iteration + 1);
        p.frame(
            SpanKind::Iteration(Iteration::ModelCall),
            "Net",
            (begin, begin + 5.0),
        );
        p.copy("cuMemcpyHtoDAsync", 64, (1, 2), (begin, begin + 1.0));
        for launch in 0..4 {
            let at = begin + 1.0 + 0.5 * f64::from(launch);
            let kernel = format!("kernel{launch}");
            p.launch(&kernel, (at, at + 0.25));
        }
        if iteration == 0 {
            p.module(1 << 20, &[90], &[], (begin + 5.0, begin + 50.0));
        }
        p.call("cuStreamSynchronize", (end - 4.0, end));
    }
    let end = begin_of(ITERATIONS);
    p.busy(0, &[(0.0, end)], end);
    p
}

/// The same program as the recorder sees it: 64 iterations in detail, then 8 at a time.
fn in_windows() -> Program {
    let mut p = whole();
    let borders = [(64, 88), (96, 152), (160, 280), (288, 300)];
    let intervals = borders.map(|(from, to)| (ns(begin_of(from)), ns(begin_of(to))));
    p.process.sparse = intervals.to_vec();
    without_often(&mut p);
    p
}

/// Removes the calls that the recorder omits in intervals without detail.
fn without_often(p: &mut Program) {
    let process = &mut p.process;
    let sparse = process.sparse.clone();
    process.threads[0].spans.retain(|span| {
        let often = matches!(span.what, SpanKind::Launch | SpanKind::Copy);
        let inside = |interval: &(u64, u64)| interval.0 <= span.begin && span.begin < interval.1;
        !(often && sparse.iter().any(inside))
    });
}

fn report(p: Program) -> RunReport {
    findings("auto", p.alone(begin_of(ITERATIONS))).report
}

/// Returns true if two reports agree in everything that must not depend on the omitted
/// calls.
fn same(a: &RunReport, b: &RunReport) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
    let causes = a.causes.len() == b.causes.len()
        && a.causes.iter().zip(&b.causes).all(|(a, b)| {
            let items = a.items.iter().zip(&b.items);
            a.cause == b.cause
                && close(a.seconds, b.seconds)
                && items.clone().count() == a.items.len().max(b.items.len())
                && items.into_iter().all(|(a, b)| {
                    a.name == b.name && close(a.seconds, b.seconds) && a.count == b.count
                })
        });
    let excess = a.first_excess.len() == b.first_excess.len()
        && (a.first_excess.iter().zip(&b.first_excess))
            .all(|(a, b)| a.cause == b.cause && close(a.seconds, b.seconds));
    causes && excess
}

#[test]
fn steady_by_cause_is_the_same_as_in_full_detail() {
    let (full, windows) = (report(whole()), report(in_windows()));
    assert_eq!(full.iterations_by, IterationsBy::Python);
    assert!(same(&full, &windows), "{full:#?}\n{windows:#?}");
    // Durations are those of all iterations.
    assert_eq!(full.starts[0].iterations, windows.starts[0].iterations);
    assert_eq!(full.starts[0].iterations.len(), ITERATIONS);
    assert_eq!((full.steady, full.ratio), (windows.steady, windows.ratio));
    assert_eq!((full.warmup, full.excess), (windows.warmup, windows.excess));
    // A steady iteration has at most this CPU time: 3 ms in Python and 1 ms in launches out
    // of 10; 1 ms is a copy, and 4 ms are spent waiting for the device.
    let excess = |report: &RunReport, cause| {
        let all = report.first_excess.iter();
        all.filter(|part| part.cause == cause)
            .map(|part| part.seconds * 1e3)
            .sum::<f64>()
    };
    close(excess(&windows, Cause::KernelLoading), 45.0 + 1.0);
    assert!(excess(&windows, Cause::HostToDevice).abs() < 1e-6);
    let note = |report: &RunReport| {
        let notes = report.notes.iter();
        notes.filter(|note| note.contains("call by call")).count()
    };
    assert_eq!((note(&full), note(&windows)), (0, 1));
    assert!(
        windows
            .notes
            .iter()
            .any(|note| note.contains("All 300") && note.contains("and 88"))
    );
    // Without correcting for the windows, the result would differ.
    let mut blind = in_windows();
    blind.process.sparse.clear();
    assert!(!same(&full, &report(blind)));
}

#[test]
fn time_without_detail_is_not_own_cpu_time() {
    let mut p = Program::python(100);
    // Another model runs long before the first step, and is not recorded in detail.
    p.process.sparse = vec![(ns(40.0), ns(80.0))];
    p.call("cuCtxSynchronize", (50.0, 55.0));
    for step in 0..5 {
        let at = 100.0 + 10.0 * f64::from(step);
        p.frame(
            SpanKind::Iteration(Iteration::OptimizerStep),
            "SGD",
            (at, at + 10.0),
        );
    }
    p.busy(0, &[(0.0, 50.0), (55.0, 150.0)], 150.0);
    let found = findings("auto", p.alone(150.0));
    let report = &found.report;
    let name = "iterations not recorded in detail";
    close(item(report, Cause::Unexplained, name), 35.0);
    close(of(report, Cause::WaitingForDevice), 5.0);
    close(of(report, Cause::OwnCpu), 30.0 + 20.0);
    // The chart shows where.
    let parts = found.view.path.iter().filter(|part| part.label == name);
    let shown: Vec<(f64, f64)> = parts.map(|part| (part.begin, part.end)).collect();
    assert_eq!(shown.len(), 2, "{shown:?}");
    close(shown[0].0 * 1e3, 40.0);
    close(shown[1].1 * 1e3, 80.0);
}

#[test]
fn the_kernel_period_comes_from_detailed_iterations() {
    let start = |sparse: bool| -> StartTrace {
        let mut p = Program::new(100);
        for iteration in 0..60 {
            let begin = 10.0 + 10.0 * f64::from(iteration);
            for launch in 0..5 {
                let at = begin + f64::from(launch);
                p.launch(&format!("kernel{launch}"), (at, at + 0.5));
            }
        }
        if sparse {
            // In windows of two launches, which is a different period.
            p.process.sparse = vec![(ns(210.0), ns(600.0))];
            let spans = &mut p.process.threads[0].spans;
            spans.retain(|span| span.begin < ns(210.0) || span.detail < 2);
        }
        p.alone(610.0)
    };
    let report = |sparse| analyze(&recording("kernels", vec![start(sparse)])).report;
    assert_eq!(report(false).starts[0].iterations.len(), 60);
    let found = report(true);
    assert_eq!(
        found.iteration,
        "the period of 5 kernel launches; each begins with its first launch"
    );
    assert_eq!(found.starts[0].iterations.len(), 20);
}
