//! Partial loads account for a share of the time: of a processor, of a disk, of a process
//! that follows another.

use preheat_model::run::Cause;
use preheat_model::run::trace::{Process, ProcessSample};

#[path = "run_builder/mod.rs"]
mod run_builder;

use run_builder::*;

/// This many milliseconds out of every five, within an interval.
fn partly(each: f64, from: f64, to: f64) -> Vec<(f64, f64)> {
    let mut intervals = Vec::new();
    let mut now = from;
    while now < to {
        intervals.push((now, now + each));
        now += 5.0;
    }
    intervals
}

#[test]
fn another_thread_counts_by_its_share() {
    let mut p = Program::new(100);
    let first = p.thread("first");
    let second = p.thread("second");
    p.busy(0, &[(0.0, 100.0)], 300.0);
    // Three fifths, and half of the remainder; later one fifth alone.
    p.busy(first, &partly(3.0, 100.0, 200.0), 300.0);
    let of_second = [partly(2.5, 100.0, 200.0), partly(1.0, 200.0, 300.0)].concat();
    p.busy(second, &of_second, 300.0);
    let report = findings("auto", p.alone(300.0)).report;
    let named = |name: &str| {
        let name = format!("thread {name}, while the main thread waited");
        item(&report, Cause::OwnCpu, &name)
    };
    close(named("first"), 60.0);
    close(named("second"), 20.0 + 20.0);
    close(of(&report, Cause::Idle), 20.0 + 80.0);
}

#[test]
fn waiting_within_calls_does_not_count_as_busy() {
    let mut p = Program::new(100);
    let worker = p.thread("worker");
    p.busy(0, &[(0.0, 100.0)], 200.0);
    for i in 0..20 {
        let at = 100.0 + 5.0 * f64::from(i);
        p.call_on(worker, "cuStreamSynchronize", (at, at + 2.5));
    }
    let intervals: Vec<(f64, f64)> = partly(2.5, 102.5, 200.0);
    p.busy(worker, &intervals, 200.0);
    let report = findings("auto", p.alone(200.0)).report;
    close(of(&report, Cause::WaitingForDevice), 50.0);
    close(of(&report, Cause::OwnCpu), 97.0 + 50.0);
}

#[test]
fn a_child_counts_by_its_share_as_it_changes() {
    let mut p = Program::new(100);
    p.busy(0, &[(0.0, 20.0)], 220.0);
    // One sample of the parent for the whole time that it waits.
    let samples = &mut p.process.threads[0].samples;
    samples.retain(|sample| sample.time <= ns(20.0) || sample.time >= ns(220.0));
    let mut child = Program::python(101);
    child.process.parent = 100;
    let load = [vec![(50.0, 100.0)], partly(2.0, 100.0, 150.0)].concat();
    child.busy(0, &load, 200.0);
    let others: Vec<Process> = vec![child.started(40.0, 45.0, 200.0)];
    let found = findings("auto", p.beside(others, 220.0));
    let report = &found.report;
    assert_eq!(found.starts[0].thread, Some((0, 0)));
    close(item(report, Cause::OwnCpu, "python3.11"), 50.0 + 20.0);
    close(of(report, Cause::Idle), 200.0 - 70.0);
}

#[test]
fn the_start_of_a_child_is_not_its_work() {
    let mut p = Program::new(100);
    p.busy(0, &[(0.0, 40.0)], 220.0);
    let mut child = Program::new(101);
    (child.process.parent, child.process.main) = (100, Some(ns(90.0)));
    child.process.program = "/usr/bin/tool".to_owned();
    child.busy(0, &[(40.0, 200.0)], 200.0);
    let others = vec![child.started(40.0, 70.0, 200.0)];
    let report = findings("auto", p.beside(others, 220.0)).report;
    // The program itself was loaded in 2 ms, and its libraries initialized in 1 ms.
    close(of(&report, Cause::ProcessStart), 2.0 + 30.0);
    close(of(&report, Cause::LibraryLoading), 1.0 + 20.0);
    close(item(&report, Cause::OwnCpu, "tool"), 110.0);
}

#[test]
fn a_child_known_only_from_samples_counts() {
    let mut p = Program::new(100);
    p.busy(0, &[(0.0, 50.0)], 200.0);
    let mut child = Program::new(4711);
    child.process.parent = 100;
    (child.process.program, child.process.main) = ("a child process".to_owned(), None);
    child.busy(0, &[(60.0, 160.0)], 160.0);
    let samples = &mut child.process.threads[0].samples;
    samples.retain(|sample| sample.time > ns(60.0));
    let others = vec![child.started(60.0, 60.0, 160.0)];
    let report = findings("auto", p.beside(others, 200.0)).report;
    close(
        item(&report, Cause::OwnCpu, "a child process (4711)"),
        100.0,
    );
    close(of(&report, Cause::Idle), 50.0);
}

#[test]
fn waiting_for_a_disk_is_bounded_by_the_bytes_read() {
    let mut p = Program::new(100);
    p.busy(0, &[(0.0, 20.0)], 420.0);
    // A megabyte, which takes 20 ms, within 100 ms; nothing later.
    for (time, read) in [(20.0, 0), (120.0, 1_000_000), (420.0, 1_000_000)] {
        p.process.samples.push(ProcessSample {
            time: ns(time),
            read,
            ..ProcessSample::default()
        });
    }
    let report = findings("auto", p.alone(420.0)).report;
    close(item(&report, Cause::Idle, "waiting for a disk"), 20.0);
    close(item(&report, Cause::Idle, "waiting"), 380.0);
}

#[test]
fn waiting_for_a_processor_is_reported() {
    let mut p = Program::new(100);
    p.import("torch", ("__main__", "a.py:1"), (100.0, 200.0), 50.0);
    p.busy(0, &[(0.0, 40.0), (80.0, 200.0)], 200.0);
    // From 40 to 80, others used the processor; the kernel reports that when it runs again,
    // at 85.
    for sample in &mut p.process.threads[0].samples {
        if sample.time > ns(80.0) {
            sample.waited = ns(40.0);
        }
    }
    let report = findings("auto", p.alone(200.0)).report;
    close(item(&report, Cause::Idle, "waiting for a processor"), 40.0);
    close(of(&report, Cause::OwnCpu), 37.0 + 20.0);
    let note = "The machine was busy: 40 ms were spent waiting for a processor; repeat this on a \
                quiet machine.";
    assert!(report.notes.iter().any(|n| n == note), "{:?}", report.notes);
}

#[test]
fn the_last_command_of_a_shell_is_explained() {
    let mut shell = Program::new(100);
    shell.process.program = "/bin/bash".to_owned();
    shell.busy(0, &[(0.0, 10.0)], 300.0);
    let mut p = Program::new(101);
    p.process.parent = 100;
    p.process.main = Some(ns(23.0));
    p.busy(0, &[(20.0, 290.0)], 290.0);
    let worker = p.started(20.0, 22.0, 290.0);
    // The shell is replaced by its last command.
    let mut last = Program::new(100);
    last.process.program = "/bin/sleep".to_owned();
    last.process.main = Some(ns(303.0));
    last.busy(0, &[(0.0, 11.0)], 1000.0);
    let samples = &mut last.process.threads[0].samples;
    samples.retain(|sample| sample.time >= ns(300.0));
    let last = last.started(300.0, 302.0, 1000.0);
    let mut start = shell.beside(vec![worker, last], 1000.0);
    start.processes[0].ended = ns(300.0);
    let report = findings("auto", start).report;
    assert!(of(&report, Cause::Unexplained) < 1.0, "{:?}", report.causes);
    assert!(of(&report, Cause::Idle) > 690.0, "{:?}", report.causes);
}
