//! Memory, remedies and charts of recordings with planted costs.

use preheat_analyze::run::analyze;
use preheat_model::run::trace::SpanKind;
use preheat_model::run::{Cause, Remedy, RunReport, Temperature};

#[path = "run_builder/mod.rs"]
mod run_builder;

use run_builder::*;

const MIB: u64 = 1 << 20;

/// Adds a steady loop that begins at 500 ms to a program.
fn with_loop(mut p: Program) -> Program {
    for i in 0..10 {
        let at = 500.0 + 10.0 * f64::from(i);
        p.frame(SpanKind::Range, "step", (at, at + 10.0));
    }
    p.busy(0, &[(0.0, 600.0)], 600.0);
    p
}

fn remedy<'a>(report: &'a RunReport, id: &str) -> Option<&'a Remedy> {
    report
        .remedies
        .iter()
        .find(|remedy| remedy.id.as_str() == id)
}

#[test]
fn device_memory_is_divided_by_use() {
    let mut p = Program::new(100);
    p.heavy("cuDevicePrimaryCtxRetain", (10.0, 50.0), 40.0);
    p.device_memory(50.0, 500 * MIB, "cuDevicePrimaryCtxRetain");
    p.module(MIB, &[90], &[], (60.0, 70.0));
    p.device_memory(70.0, 520 * MIB, "cuLibraryLoadData");
    p.heavy("cublasCreate", (80.0, 100.0), 20.0);
    p.allocate("cuMemAlloc", 32 * MIB, 0x7000_0000, (85.0, 86.0));
    p.device_memory(100.0, 560 * MIB, "cublasCreate");
    p.allocate("cuMemAlloc", 100 * MIB, 0x9000_0000, (110.0, 111.0));
    p.allocate("cuMemAlloc", 50 * MIB, 0xA000_0000, (111.0, 112.0));
    p.free("cuMemFree", 0xA000_0000, (113.0, 114.0));
    p.device_memory(120.0, 663 * MIB, "cuMemAlloc");
    p.launch("kernel", (130.0, 131.0));
    p.device_memory(131.0, 665 * MIB, "cuLaunchKernel");
    p.allocate("cuMemHostAlloc", 16 * MIB, 0x5000_0000, (140.0, 150.0));
    p.allocator(510.2, 60 * MIB, 90 * MIB, 80 * MIB);
    p.resident(100.0, 300 * MIB);
    p.resident(505.0, 600 * MIB);
    p.resident(512.0, 700 * MIB);
    p.resident(590.0, 900 * MIB);
    let report = findings("auto", with_loop(p).alone(600.0)).report;
    let memory = &report.memory;
    assert_eq!(memory.pinned, 16 * MIB);
    // The iteration ended at 510: the sample at 505 is older.
    assert_eq!(memory.resident_first, Some(700 * MIB));
    assert_eq!(memory.resident_peak, 1 << 30);
    let device = memory.device.as_ref().unwrap();
    assert_eq!(device.context, 500 * MIB);
    assert_eq!(device.kernels, 22 * MIB);
    // 8 MiB used by the set-up, 32 that it allocated, and 10 that the program allocated
    // outside of the framework.
    assert_eq!(device.workspaces, 50 * MIB);
    assert_eq!((device.used, device.reserved), (60 * MIB, 30 * MIB));
    assert_eq!((device.total, device.other), (665 * MIB, 3 * MIB));
    // 560 at the last sample before, and 150 more temporarily.
    assert_eq!(device.first_peak, 710 * MIB);
    assert_eq!(device.steady_peak, Some(665 * MIB));
    let loading = report
        .causes
        .iter()
        .find(|c| c.cause == Cause::KernelLoading);
    assert_eq!(loading.unwrap().device_bytes, Some(22 * MIB));
}

#[test]
fn without_a_device_there_is_no_device_memory() {
    let report = findings("auto", with_loop(Program::new(100)).alone(600.0)).report;
    assert_eq!(report.memory.device, None);
    // Allocations are known even if the driver's memory usage was never queried.
    let mut p = Program::new(100);
    p.allocate("clCreateBuffer", 5 * MIB, 0x7000, (10.0, 11.0));
    let report = findings("auto", with_loop(p).alone(600.0)).report;
    let device = report.memory.device.unwrap();
    assert_eq!((device.total, device.used), (5 * MIB, 5 * MIB));
}

#[test]
fn imports_call_for_a_warm_parent_and_hide_the_driver() {
    let mut p = Program::python(100);
    p.import("torch", ("__main__", "train.py:1"), (12.0, 212.0), 200.0);
    p.load("libtorch.so", (50.0, 80.0), 30.0);
    p.heavy("cuInit", (300.0, 350.0), 50.0);
    p.heavy("cuDevicePrimaryCtxRetain", (350.0, 400.0), 50.0);
    let report = findings("auto", with_loop(p).alone(600.0)).report;
    // Imports 170, nested loads 30, start 9; a fork costs 10.
    close(remedy(&report, "warm-parent").unwrap().saving * 1e3, 199.0);
    close(
        remedy(&report, "overlapped-init").unwrap().saving * 1e3,
        100.0,
    );
    assert_eq!(report.remedies[0].id.as_str(), "warm-parent");
    assert!(remedy(&report, "prefetch").is_none());
    assert!(remedy(&report, "avoidable-imports").is_none());
}

#[test]
fn an_optional_import_is_avoidable() {
    let mut p = Program::python(100);
    p.import("torch", ("__main__", "train.py:1"), (12.0, 112.0), 100.0);
    p.import(
        "torch._dynamo",
        ("torch._compile", "train.py:12"),
        (130.0, 330.0),
        200.0,
    );
    p.import(
        "sympy",
        ("torch._dynamo.utils", "train.py:12"),
        (150.0, 250.0),
        100.0,
    );
    p.process.imports[1].function = "inner".to_owned();
    let mut recording = recording("auto", vec![with_loop(p).alone(600.0)]);
    let report = analyze(&recording).report;
    assert!(remedy(&report, "avoidable-imports").is_none());
    recording.manifest.optional_imports = vec!["torch._dynamo".to_owned()];
    let report = analyze(&recording).report;
    let avoidable = remedy(&report, "avoidable-imports").unwrap();
    // Without recording, an import takes 92 % of that.
    close(avoidable.saving * 1e3, 184.0);
    assert_eq!(avoidable.title, "Avoid importing torch._dynamo");
    assert!(
        avoidable
            .what
            .contains("torch._compile inner:7, from train.py:12")
    );
}

#[test]
fn files_that_waited_for_a_disk_are_read_ahead() {
    let mut p = Program::python(100);
    p.import("torch", ("__main__", "train.py:1"), (12.0, 212.0), 80.0);
    p.process.imports[0].usage.bytes_read = 50_000_000;
    let report = findings("auto", with_loop(p).alone(600.0)).report;
    close(remedy(&report, "prefetch").unwrap().saving * 1e3, 120.0);
    // The disk is not to blame if hardly anything was read.
    let mut p = Program::python(100);
    p.import("torch", ("__main__", "train.py:1"), (12.0, 212.0), 80.0);
    p.process.imports[0].usage.bytes_read = 50_000;
    let report = findings("auto", with_loop(p).alone(600.0)).report;
    assert!(remedy(&report, "prefetch").is_none());
}

#[test]
fn kernels_that_are_compiled_call_for_machine_code_or_a_cache() {
    let mut p = Program::new(100);
    p.module(5000, &[], &[70], (10.0, 110.0));
    let start = with_loop(p).alone(600.0);
    let report = findings("auto", start.clone()).report;
    let missing = remedy(&report, "machine-code-missing").unwrap();
    close(missing.saving * 1e3, 90.0);
    assert!(missing.what.contains("compute_70"));
    assert!(remedy(&report, "kept-caches").is_none());
    let mut disabled = recording("auto", vec![start.clone()]);
    let variable = ("CUDA_CACHE_DISABLE".to_owned(), "1".to_owned());
    disabled.manifest.environment.push(variable);
    let report = analyze(&disabled).report;
    close(remedy(&report, "kept-caches").unwrap().saving * 1e3, 90.0);
    // Two temperatures show the cost of empty caches.
    let mut ladder = recording(
        "auto",
        vec![start.clone(), with_loop(Program::new(100)).alone(600.0)],
    );
    ladder.manifest.starts[0].temperature = Temperature::Caches;
    ladder.starts[1].processes[0].threads[0]
        .spans
        .iter_mut()
        .for_each(|span| {
            span.begin -= ns(90.0);
            span.end -= ns(90.0);
        });
    let report = analyze(&ladder).report;
    close(remedy(&report, "kept-caches").unwrap().saving * 1e3, 90.0);

    let mut p = Program::new(100);
    p.heavy("nvrtcCompileProgram", (10.0, 110.0), 100.0);
    let report = findings("auto", with_loop(p).alone(600.0)).report;
    close(remedy(&report, "kept-caches").unwrap().saving * 1e3, 90.0);
}

#[test]
fn eager_loading_autotuning_and_allocation_are_reported() {
    let mut p = Program::new(100);
    p.module(5000, &[90], &[], (10.0, 110.0));
    p.heavy("cudnnFindConvolutionForwardAlgorithm", (120.0, 180.0), 60.0);
    for i in 0..40 {
        let at = 200.0 + f64::from(i);
        p.allocate(
            "cuMemAlloc",
            MIB,
            0x7000_0000 + u64::from(i as u32) * MIB,
            (at, at + 0.5),
        );
    }
    let start = with_loop(p).alone(600.0);
    let report = findings("auto", start.clone()).report;
    assert!(remedy(&report, "lazy-loading").is_none());
    close(remedy(&report, "autotuning").unwrap().saving * 1e3, 60.0);
    // Forty calls take 20 ms; one takes 130 µs, and 4 µs for its 40 MiB.
    close(remedy(&report, "allocator").unwrap().saving * 1e3, 19.866);
    let mut eager = recording("auto", vec![start]);
    let variable = ("CUDA_MODULE_LOADING".to_owned(), "EAGER".to_owned());
    eager.manifest.environment.push(variable);
    let report = analyze(&eager).report;
    close(remedy(&report, "lazy-loading").unwrap().saving * 1e3, 95.0);
}

/// Eager loading also loads kernels while the context is created.
#[test]
fn lazy_loading_shortens_context_creation() {
    let mut p = Program::new(100);
    p.heavy("cuDevicePrimaryCtxRetain", (10.0, 260.0), 250.0);
    p.module(5000, &[90], &[], (300.0, 400.0));
    let mut eager = recording("auto", vec![with_loop(p).alone(600.0)]);
    let variable = ("CUDA_MODULE_LOADING".to_owned(), "EAGER".to_owned());
    eager.manifest.environment.push(variable);
    let report = analyze(&eager).report;
    // 95 of 100 ms of loading, and 250 ms less the 150 ms of an empty context.
    close(remedy(&report, "lazy-loading").unwrap().saving * 1e3, 195.0);
}

#[test]
fn charts_show_the_start_and_stay_small() {
    let mut p = Program::python(100);
    let worker = p.thread("pt_autograd_0");
    p.import("torch", ("__main__", "train.py:1"), (12.0, 212.0), 200.0);
    p.import("torch.nn", ("torch", "train.py:1"), (20.0, 60.0), 40.0);
    p.import("torch.tiny", ("torch", "train.py:1"), (60.0, 60.1), 0.1);
    for i in 0..100_000u32 {
        let at = 220.0 + f64::from(i) * 0.002;
        let names = ["cuMemAlloc", "cuEventRecord", "cuMemcpyDtoH"];
        p.call(names[i as usize % 3], (at, at + 0.001));
        p.call_on(worker, names[i as usize % 3], (at, at + 0.001));
    }
    for i in 0..2000u32 {
        p.resident(f64::from(i) * 0.25, u64::from(i) * MIB);
    }
    let mut start = with_loop(p).alone(600.0);
    start.processes[0].arguments = vec!["python3".to_owned(), "/home/me/train.py".to_owned()];
    let view = findings("auto", start).view;
    close(view.until, 0.53);
    assert_eq!(view.iterations.len(), 3);
    assert_eq!(view.rows[0].name, "main thread");
    assert_eq!(view.rows[0].process, "python3.11 train.py (100)");
    assert_eq!(view.rows[1].name, "pt_autograd_0");
    let spans: u64 = view.rows[0].bars.iter().map(|bar| bar.spans).sum();
    assert_eq!(spans, 100_000 + 3 + 3);
    let torch = &view.imports[0];
    assert_eq!((torch.name.as_str(), torch.children.len()), ("torch", 1));
    close(torch.own * 1e3, 159.9);
    assert_eq!(torch.detail, "from train.py:1");
    close(view.path.last().unwrap().end, view.until);
    assert!(
        view.path
            .windows(2)
            .all(|pair| pair[0].end == pair[1].begin)
    );
    let resident = view.memory.iter().filter_map(|point| point.resident).max();
    assert_eq!(resident, Some(1999 * MIB));
}

#[test]
fn memory_of_several_devices_is_reported_as_far_as_known() {
    let mut p = Program::new(100);
    p.heavy("cuDevicePrimaryCtxRetain", (10.0, 50.0), 40.0);
    p.device_memory(50.0, 500 * MIB, "cuDevicePrimaryCtxRetain");
    p.device_memory(60.0, 400 * MIB, "cuDevicePrimaryCtxRetain");
    p.allocate("cuMemAlloc", 100 * MIB, 0x9000_0000, (70.0, 71.0));
    p.allocate("cuMemAlloc", 300 * MIB, 0xA000_0000, (72.0, 73.0));
    p.device_memory(80.0, 600 * MIB, "cuMemAlloc");
    p.device_memory(90.0, 600 * MIB, "cuMemAlloc");
    p.device_memory(95.0, 700 * MIB, "cuMemAlloc");
    p.process.memory[1].device = 1;
    p.process.memory[4].device = 1;
    let report = findings("auto", with_loop(p).alone(600.0)).report;
    let device = report.memory.device.as_ref().unwrap();
    assert_eq!((device.total, device.context), (600 * MIB, 500 * MIB));
    assert_eq!((device.used, device.other), (0, 100 * MIB));
    assert_eq!(device.first_peak, 600 * MIB);
    let note = report.notes.iter().find(|note| note.contains("2 devices"));
    assert!(note.unwrap().contains("device 0"));
}
