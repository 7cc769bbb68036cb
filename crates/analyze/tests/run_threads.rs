//! Several threads and processes: the path follows whichever does the work.

use preheat_model::run::Cause;
use preheat_model::run::trace::{Iteration, Process, SpanKind};

#[path = "run_builder/mod.rs"]
mod run_builder;

use run_builder::*;

#[test]
fn an_idle_thread_waits_for_another_thread() {
    let mut p = Program::new(100);
    let worker = p.thread("pt_autograd_0");
    // The main thread computes until 20 and waits until 100; the worker allocates from 30
    // to 50, computes until 70, and waits for the device until 90.
    p.call_on(worker, "cuMemAlloc", (30.0, 50.0));
    p.call_on(worker, "cuStreamSynchronize", (70.0, 90.0));
    p.busy(0, &[(0.0, 20.0)], 100.0);
    p.busy(worker, &[(30.0, 70.0)], 100.0);
    let report = findings("auto", p.alone(100.0)).report;
    close(of(&report, Cause::DeviceAllocation), 20.0);
    let worker = "thread pt_autograd_0, while the main thread waited";
    close(item(&report, Cause::OwnCpu, worker), 20.0);
    close(of(&report, Cause::WaitingForDevice), 20.0);
    close(item(&report, Cause::OwnCpu, "main thread"), 17.0);
    close(of(&report, Cause::Idle), 20.0);
}

#[test]
fn a_program_waits_for_its_compiler() {
    let mut p = Program::new(100);
    p.busy(0, &[(0.0, 20.0)], 200.0);
    let mut compiler = Program::new(101);
    compiler.process.program = "/usr/local/cuda/bin/ptxas".to_owned();
    compiler.process.parent = 100;
    let mut worker = Program::python(102);
    worker.process.parent = 100;
    worker.busy(0, &[(120.0, 150.0)], 180.0);
    let others: Vec<Process> = vec![
        compiler.started(50.0, 52.0, 90.0),
        worker.started(110.0, 112.0, 180.0),
    ];
    let report = findings("auto", p.beside(others, 200.0)).report;
    close(item(&report, Cause::KernelCompilation, "ptxas"), 40.0);
    close(item(&report, Cause::OwnCpu, "python3.11"), 30.0);
    close(of(&report, Cause::Idle), 200.0 - 20.0 - 70.0);
}

#[test]
fn a_wrapper_is_followed_to_the_program_that_it_starts() {
    let mut shell = Program::new(100);
    shell.process.program = "/bin/bash".to_owned();
    shell.busy(0, &[(0.0, 10.0)], 710.0);
    let mut p = Program::python(101);
    p.process.parent = 100;
    (p.process.main, p.process.python_ready) = (Some(ns(61.0)), Some(ns(80.0)));
    p.import("torch", ("__main__", "a.py:1"), (90.0, 190.0), 100.0);
    for i in 0..5 {
        let at = 200.0 + 10.0 * f64::from(i);
        p.frame(
            SpanKind::Iteration(Iteration::OptimizerStep),
            "Adam",
            (at, at + 5.0),
        );
    }
    p.busy(0, &[(50.0, 300.0)], 300.0);
    let child = p.started(50.0, 60.0, 300.0);
    let found = findings("auto", shell.beside(vec![child], 320.0));
    assert_eq!(found.starts[0].thread, Some((1, 0)));
    let report = &found.report;
    close(report.time_to_first.value, 0.205);
    // The start of the shell, and that of Python: 50 to 60 and 61 to 80.
    close(of(report, Cause::ProcessStart), 2.0 + 10.0 + 19.0);
    close(of(report, Cause::LibraryLoading), 2.0);
    close(of(report, Cause::PythonImports), 100.0);
    // The shell computes until 10 and then waits for a process that does not exist yet.
    close(of(report, Cause::Idle), 40.0);
    // Each process on the path is named.
    close(item(report, Cause::OwnCpu, "bash (100)"), 7.0);
    close(item(report, Cause::OwnCpu, "python3.11 (101)"), 15.0);
    // As much as a later iteration, from step to step.
    close(of(report, Cause::SteadyWork), 10.0);
}

#[test]
fn a_thread_that_iterates_is_preceded_by_the_one_that_made_it() {
    let mut p = Program::python(100);
    let worker = p.thread("server");
    p.import("torch", ("__main__", "serve.py:1"), (20.0, 120.0), 100.0);
    let name = p.text("Net");
    for i in 0..5 {
        let at = 150.0 + 10.0 * f64::from(i);
        p.span(
            worker,
            (at, at + 10.0),
            SpanKind::Iteration(Iteration::ModelCall),
            0,
            name,
        );
    }
    p.busy(0, &[(0.0, 130.0)], 200.0);
    p.busy(worker, &[(150.0, 200.0)], 200.0);
    // The worker did not exist before the main thread created it.
    let samples = &mut p.process.threads[worker].samples;
    samples.retain(|sample| sample.time > ns(140.0));
    let found = findings("auto", p.alone(200.0));
    assert_eq!(found.starts[0].thread, Some((0, worker)));
    let report = &found.report;
    close(report.time_to_first.value, 0.16);
    close(of(report, Cause::PythonImports), 100.0);
    close(of(report, Cause::ProcessStart), 9.0);
    close(item(report, Cause::OwnCpu, "main thread"), 20.0);
    close(of(report, Cause::Idle), 20.0);
    close(of(report, Cause::SteadyWork), 10.0);
}

#[test]
fn a_thread_that_is_half_busy_is_split_in_proportion() {
    let mut p = Program::new(100);
    let worker = p.thread("worker");
    p.call_on(worker, "cuMemAlloc", (100.0, 200.0));
    // One millisecond in two.
    let half: Vec<(f64, f64)> = (50..100)
        .map(|i| (2.0 * f64::from(i), 2.0 * f64::from(i) + 1.0))
        .collect();
    p.busy(0, &[&[(0.0, 100.0)], &half[..]].concat(), 200.0);
    let report = findings("auto", p.alone(200.0)).report;
    close(of(&report, Cause::OwnCpu), 97.0 + 50.0);
    close(of(&report, Cause::DeviceAllocation), 50.0);
    // One call, regardless of the number of pieces.
    let allocation = report
        .causes
        .iter()
        .find(|c| c.cause == Cause::DeviceAllocation);
    assert_eq!(allocation.unwrap().items[0].count, 1);
}

#[test]
fn a_forked_worker_that_iterates_has_no_start_phase() {
    let mut parent = Program::python(100);
    parent.import("torch", ("__main__", "a.py:1"), (20.0, 120.0), 100.0);
    parent.busy(0, &[(0.0, 125.0)], 300.0);
    let mut child = Program::new(101);
    (child.process.parent, child.process.main) = (100, None);
    for i in 0..5 {
        let at = 150.0 + 10.0 * f64::from(i);
        child.frame(
            SpanKind::Iteration(Iteration::OptimizerStep),
            "SGD",
            (at, at + 10.0),
        );
    }
    child.busy(0, &[(130.0, 250.0)], 250.0);
    let samples = &mut child.process.threads[0].samples;
    samples.retain(|sample| sample.time > ns(130.0));
    let child = child.started(130.0, 149.0, 250.0);
    let report = findings("auto", parent.beside(vec![child], 300.0)).report;
    close(of(&report, Cause::PythonImports), 100.0);
    close(of(&report, Cause::ProcessStart), 9.0);
    close(of(&report, Cause::OwnCpu), 10.0 + 5.0 + 20.0);
}
