//! Explains recordings with planted costs, cause by cause, within 1 %.

use preheat_analyze::run::analyze;
use preheat_model::run::trace::{Iteration, SpanKind};
use preheat_model::run::{Cause, IterationsBy, Temperature};
use preheat_model::stats::Class;

#[path = "run_builder/mod.rs"]
mod run_builder;

use run_builder::*;

/// A training program: imports, driver, context, a cold first step, then steady ones.
fn training() -> Program {
    let mut p = Program::python(100);
    p.import(
        "torch",
        ("__main__", "/home/me/train.py:1"),
        (12.0, 112.0),
        80.0,
    );
    p.load("/usr/lib/libtorch.so", (20.0, 50.0), 10.0);
    p.import(
        "torch._dynamo",
        ("torch._compile", "/home/me/train.py:12"),
        (130.0, 330.0),
        200.0,
    );
    p.heavy("cuInit", (340.0, 380.0), 5.0);
    p.heavy("cuDevicePrimaryCtxRetain", (380.0, 430.0), 50.0);
    p.allocate("cuMemAlloc", 2 << 20, 0x7000_0000, (430.0, 431.0));
    p.copy(
        "cuMemcpyHtoDAsync",
        1 << 20,
        (0x1000, 0x7000_0000),
        (431.0, 433.0),
    );
    // The first step: 440 to 500. A model call, kernels used for the first time.
    p.frame(
        SpanKind::Iteration(Iteration::ModelCall),
        "Net",
        (440.0, 470.0),
    );
    p.module(1 << 20, &[90], &[], (441.0, 456.0));
    p.launch("_ZN2at6native3addEv", (456.0, 460.0));
    p.frame(
        SpanKind::Iteration(Iteration::OptimizerStep),
        "SGD",
        (490.0, 500.0),
    );
    p.call("cuStreamSynchronize", (495.0, 499.0));
    for i in 0..20 {
        let at = 500.0 + 10.0 * f64::from(i);
        p.frame(
            SpanKind::Iteration(Iteration::ModelCall),
            "Net",
            (at + 1.0, at + 3.0),
        );
        p.launch("_ZN2at6native3addEv", (at + 1.5, at + 1.6));
        p.frame(
            SpanKind::Iteration(Iteration::OptimizerStep),
            "SGD",
            (at + 5.0, at + 10.0),
        );
        p.call("cuStreamSynchronize", (at + 6.0, at + 10.0));
    }
    p.busy(0, &[(0.0, 340.0), (380.0, 710.0)], 710.0);
    p
}

#[test]
fn a_training_program_is_explained() {
    let findings = findings("auto", training().alone(710.0));
    let report = &findings.report;
    assert_eq!(report.iterations_by, IterationsBy::Python);
    assert_eq!(report.iteration, "steps of SGD");
    close(report.time_to_first.value, 0.5);
    close(report.first.unwrap(), 0.06);
    close(report.steady.unwrap(), 0.01);
    assert_eq!(report.class, Some(Class::ColdFirst));
    assert_eq!(findings.starts[0].iterations.len(), 21);
    close(of(report, Cause::ProcessStart), 9.0);
    close(of(report, Cause::LibraryLoading), 31.0);
    close(of(report, Cause::PythonImports), 270.0);
    close(of(report, Cause::DriverInit), 40.0);
    close(of(report, Cause::ContextCreation), 50.0);
    close(of(report, Cause::DeviceAllocation), 1.0);
    close(of(report, Cause::HostToDevice), 2.0);
    close(of(report, Cause::KernelLoading), 19.0);
    // A steady step waits 4 ms and computes 6 ms.
    close(of(report, Cause::SteadyWork), 10.0);
    assert_eq!(of(report, Cause::WaitingForDevice), 0.0);
    assert_eq!(of(report, Cause::Unexplained), 0.0);
    close(item(report, Cause::PythonImports, "torch._dynamo"), 200.0);
    close(item(report, Cause::PythonImports, "torch"), 70.0);
    close(item(report, Cause::LibraryLoading, "libtorch.so"), 30.0);
    close(item(report, Cause::KernelLoading, "at::native::add"), 4.0);
    close(
        item(report, Cause::KernelLoading, "cuLibraryLoadData"),
        15.0,
    );
    let imports = report
        .causes
        .iter()
        .find(|c| c.cause == Cause::PythonImports);
    let dynamo = &imports.unwrap().items[0];
    assert_eq!(
        dynamo.detail,
        "imported by torch._compile:7, from train.py:12"
    );
    assert_eq!(report.causes[0].cause, Cause::PythonImports);
    let excess: f64 = report.first_excess.iter().map(|c| c.seconds).sum();
    close(excess, 0.05);
}

#[test]
fn waiting_within_an_import_is_reported_with_it() {
    let report = findings("auto", training().alone(710.0)).report;
    let loading = report
        .causes
        .iter()
        .find(|c| c.cause == Cause::LibraryLoading);
    let item = &loading.unwrap().items[0];
    close(item.waiting.unwrap(), 0.020);
    let imports = report
        .causes
        .iter()
        .find(|c| c.cause == Cause::PythonImports);
    for item in &imports.unwrap().items {
        assert!(item.waiting.unwrap() < 1e-6, "{item:?}");
    }
}

#[test]
fn nvtx_ranges_of_the_program_take_precedence() {
    let mut p = training();
    p.frame(SpanKind::Range, "epoch", (435.0, 710.0));
    for i in 0..20 {
        let at = 500.0 + 10.0 * f64::from(i);
        p.frame(SpanKind::Range, "step", (at + 0.5, at + 9.5));
        p.frame(SpanKind::Range, "forward", (at + 0.6, at + 3.0));
    }
    let report = findings("auto", p.alone(710.0)).report;
    assert_eq!(report.iterations_by, IterationsBy::Nvtx);
    assert_eq!(report.iteration, "NVTX ranges named step");
    close(report.time_to_first.value, 0.5095);
}

#[test]
fn a_requested_range_counts_even_once() {
    let mut p = training();
    p.frame(SpanKind::Range, "epoch", (435.0, 709.0));
    let report = findings("nvtx:epoch", p.alone(710.0)).report;
    assert_eq!(report.starts[0].iterations.len(), 1);
    close(report.time_to_first.value, 0.709);
    let none = findings("nvtx:nothing", training().alone(710.0)).report;
    assert_eq!(none.iterations_by, IterationsBy::None);
    assert!(none.notes.iter().any(|note| note.contains("nvtx:nothing")));
}

#[test]
fn model_calls_last_until_the_synchronization() {
    let mut p = Program::python(100);
    for i in 0..6 {
        let at = 20.0 + 20.0 * f64::from(i);
        p.frame(
            SpanKind::Iteration(Iteration::ModelCall),
            "Net",
            (at, at + 5.0),
        );
        p.call("cuStreamSynchronize", (at + 6.0, at + 9.0));
        p.copy("cuMemcpyDtoHAsync", 4096, (1, 2), (at + 10.0, at + 12.0));
    }
    p.call("cuCtxSynchronize", (150.0, 160.0));
    p.busy(0, &[(0.0, 170.0)], 170.0);
    let found = findings("auto", p.alone(170.0));
    assert_eq!(found.report.iteration, "calls of Net");
    let iterations = &found.starts[0].iterations;
    assert_eq!(iterations.len(), 6);
    assert_eq!(iterations[0], (ns(20.0), ns(32.0)));
    assert_eq!(iterations[5], (ns(120.0), ns(129.0)));
}

#[test]
fn steps_of_keras_are_iterations() {
    let mut p = Program::python(100);
    for i in 0..5 {
        let at = 20.0 + 20.0 * f64::from(i);
        p.frame(
            SpanKind::Iteration(Iteration::TrainStep),
            "fit",
            (at, at + 5.0),
        );
    }
    p.busy(0, &[(0.0, 130.0)], 130.0);
    let report = findings("auto", p.alone(130.0)).report;
    assert_eq!(report.iteration, "Keras training steps");
    close(report.time_to_first.value, 0.025);
}

#[test]
fn kernels_alone_show_their_period() {
    let mut p = Program::new(100);
    p.heavy("cuInit", (5.0, 25.0), 20.0);
    p.launch("fill", (26.0, 27.0));
    for i in 0..10 {
        let at = 30.0 + 10.0 * f64::from(i);
        p.launch("forward", (at, at + 0.5));
        p.launch("backward", (at + 1.0, at + 1.5));
        p.launch("update", (at + 2.0, at + 2.5));
        p.launch("update", (at + 3.0, at + 3.5));
        p.call("cuCtxSynchronize", (at + 4.0, at + 10.0));
    }
    p.launch("sum", (135.0, 136.0));
    p.busy(0, &[(0.0, 140.0)], 140.0);
    let found = findings("auto", p.alone(140.0));
    assert_eq!(found.report.iterations_by, IterationsBy::Kernels);
    assert_eq!(
        found.report.iteration,
        "the period of 4 kernel launches; each begins after the last synchronization or copy \
         before its launches"
    );
    let iterations = &found.starts[0].iterations;
    assert_eq!(iterations.len(), 10);
    // After the launch of the set-up.
    assert_eq!(iterations[0], (ns(27.0), ns(40.0)));
    assert_eq!(iterations[9], (ns(120.0), ns(130.0)));
    close(of(&found.report, Cause::KernelLoading), 2.5);
}

#[test]
fn lines_end_iterations() {
    let mut p = Program::python(100);
    p.import("torch", ("__main__", "a.py:1"), (20.0, 60.0), 40.0);
    p.busy(0, &[(0.0, 200.0)], 200.0);
    let mut start = p.alone(200.0);
    start.lines = vec![ns(100.0), ns(120.0), ns(140.0), ns(160.0)];
    let found = findings("lines:^step", start);
    assert_eq!(found.report.iterations_by, IterationsBy::Lines);
    assert!(found.report.iteration.contains("^step"));
    assert_eq!(found.starts[0].iterations[0], (ns(60.0), ns(100.0)));
    assert_eq!(found.starts[0].iterations.len(), 4);
}

#[test]
fn a_program_without_repetition_is_explained_to_its_end() {
    let mut p = Program::python(100);
    p.import("json", ("__main__", "a.py:1"), (20.0, 60.0), 40.0);
    p.busy(0, &[(0.0, 100.0)], 200.0);
    let report = findings("auto", p.alone(200.0)).report;
    assert_eq!(report.iterations_by, IterationsBy::None);
    close(report.time_to_first.value, 0.2);
    close(of(&report, Cause::PythonImports), 40.0);
    close(of(&report, Cause::OwnCpu), 50.0);
    close(of(&report, Cause::Idle), 100.0);
    assert_eq!((report.first, report.class), (None, None));
}

#[test]
fn unsampled_time_is_unexplained() {
    let mut p = Program::new(100);
    p.call("cuInit", (10.0, 30.0));
    let report = findings("auto", p.alone(100.0)).report;
    close(of(&report, Cause::DriverInit), 20.0);
    close(of(&report, Cause::Unexplained), 77.0);
}

#[test]
fn code_without_machine_code_is_compiled() {
    let mut p = Program::new(100);
    p.module(5000, &[], &[70], (10.0, 50.0));
    p.module(5000, &[80, 90], &[90], (50.0, 60.0));
    p.heavy("nvrtcCompileProgram", (60.0, 80.0), 20.0);
    p.busy(0, &[(0.0, 100.0)], 100.0);
    let report = findings("auto", p.alone(100.0)).report;
    close(of(&report, Cause::KernelCompilation), 60.0);
    close(of(&report, Cause::KernelLoading), 10.0);
}

#[test]
fn the_innermost_call_decides_and_cheap_ones_belong_to_their_caller() {
    let mut p = Program::new(100);
    p.heavy("cublasCreate", (10.0, 50.0), 40.0);
    p.allocate("cuMemAlloc", 1 << 25, 0x7000, (20.0, 25.0));
    p.call("cuEventCreate", (30.0, 33.0));
    p.call("cuEventCreate", (60.0, 63.0));
    p.busy(0, &[(0.0, 100.0)], 100.0);
    let report = findings("auto", p.alone(100.0)).report;
    close(of(&report, Cause::LibrarySetUp), 35.0);
    close(of(&report, Cause::DeviceAllocation), 5.0);
    close(item(&report, Cause::OwnCpu, "cuEventCreate"), 3.0);
}

#[test]
fn addresses_decide_the_direction_of_a_copy() {
    let mut p = Program::new(100);
    p.allocate("cuMemAlloc", 1 << 20, 0x70_0000_0000, (10.0, 11.0));
    p.copy(
        "cuMemcpyAsync",
        4096,
        (0x1000, 0x70_0000_0800),
        (20.0, 30.0),
    );
    p.copy("cuMemcpy", 4096, (0x70_0000_0000, 0x1000), (30.0, 50.0));
    p.copy(
        "cuMemcpyAsync",
        4096,
        (0x70_0000_0000, 0x70_0000_0800),
        (50.0, 53.0),
    );
    p.busy(0, &[(0.0, 100.0)], 100.0);
    let report = findings("auto", p.alone(100.0)).report;
    close(of(&report, Cause::HostToDevice), 10.0);
    close(of(&report, Cause::DeviceToHost), 20.0);
    close(item(&report, Cause::OwnCpu, "cuMemcpyAsync"), 3.0);
}

#[test]
fn the_first_start_is_separate_and_failed_ones_do_not_count() {
    let starts = (0..5).map(|_| training().alone(710.0)).collect();
    let mut recording = recording("auto", starts);
    recording.manifest.starts[3].exit_code = 1;
    recording.starts[3] = Program::new(100).alone(50.0);
    let found = analyze(&recording);
    check(&found);
    let report = &found.report;
    assert_eq!(report.counted_starts, 3);
    assert!(report.time_to_first.low.is_some());
    assert!(report.starts[0].first_start && !report.starts[1].first_start);
    assert_eq!(report.starts[3].time_to_first, None);
    assert!(report.notes.iter().any(|note| note.contains("exit code 1")));
}

#[test]
fn several_temperatures_make_a_ladder() {
    let starts = (0..4).map(|_| training().alone(710.0)).collect();
    let mut recording = recording("auto", starts);
    recording.manifest.starts[2].temperature = Temperature::Disk;
    recording.manifest.starts[3].temperature = Temperature::Disk;
    let report = analyze(&recording).report;
    let levels: Vec<_> = (report.ladder.iter())
        .map(|level| (level.temperature, level.starts))
        .collect();
    assert_eq!(levels, [(Temperature::Disk, 2), (Temperature::Process, 1)]);
    assert_eq!(report.counted_starts, 1);
}

#[test]
fn an_empty_recording_is_analyzed() {
    let mut empty = recording("auto", vec![Program::new(100).alone(50.0)]);
    empty.starts[0].processes.clear();
    empty.manifest.starts[0].unrecorded = Some("It is linked statically.".to_owned());
    let found = analyze(&empty);
    check(&found);
    close(found.report.time_to_first.value, 0.05);
    close(of(&found.report, Cause::Unexplained), 50.0);
    assert!(found.report.notes[0].contains("statically"));
    let nothing = analyze(&recording("auto", Vec::new()));
    assert!(nothing.report.starts.is_empty());
}
