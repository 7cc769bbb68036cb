//! Remedies and items: their counts, and that no part exceeds the whole.

use preheat_analyze::run::analyze;
use preheat_model::run::trace::{SpanKind, StartTrace};
use preheat_model::run::{Cause, Item, Recording, Remedy, RemedyGroup, RunReport, Temperature};

#[path = "run_builder/mod.rs"]
mod run_builder;

use run_builder::*;

/// Adds a steady loop that begins at `at` to a program.
fn with_loop(mut p: Program, at: f64) -> StartTrace {
    for i in 0..10 {
        let at = at + 10.0 * f64::from(i);
        p.frame(SpanKind::Range, "step", (at, at + 10.0));
    }
    p.busy(0, &[(0.0, at + 100.0)], at + 100.0);
    p.alone(at + 100.0)
}

fn report(p: Program) -> RunReport {
    findings("auto", with_loop(p, 500.0)).report
}

fn remedy<'a>(report: &'a RunReport, id: &str) -> Option<&'a Remedy> {
    report
        .remedies
        .iter()
        .find(|remedy| remedy.id.as_str() == id)
}

fn found<'a>(report: &'a RunReport, cause: Cause, name: &str) -> &'a Item {
    let cause = report.causes.iter().find(|c| c.cause == cause).unwrap();
    cause.items.iter().find(|item| item.name == name).unwrap()
}

#[test]
fn no_part_is_larger_than_the_whole() {
    // In one start, the import is all loading; in the others, it is all Python.
    let start = |loading: f64, at: f64| {
        let mut p = Program::python(100);
        p.import("torch", ("__main__", "a.py:1"), (12.0, 412.0), 400.0);
        p.load("libtorch.so", (12.5, 12.5 + loading), loading);
        with_loop(p, at)
    };
    let starts = vec![
        start(10.0, 500.0),
        start(10.0, 450.0),
        start(395.0, 500.0),
        start(10.0, 550.0),
    ];
    let report = analyze(&recording("auto", starts)).report;
    let total = report.time_to_first.value;
    let items = report.causes.iter().flat_map(|cause| &cause.items);
    for item in items {
        assert!(
            item.inclusive <= total && item.seconds <= item.inclusive,
            "{item:?}"
        );
    }
    close(found(&report, Cause::PythonImports, "torch").inclusive, 0.4);
    for remedy in &report.remedies {
        let causes = report.causes.iter();
        let causes = causes.filter(|cause| remedy.causes.contains(&cause.cause));
        let most: f64 = causes.map(|cause| cause.seconds).sum();
        assert!(remedy.saving <= most.min(total) + 1e-9, "{remedy:?}");
    }
}

#[test]
fn other_modules_of_a_package_are_not_the_package() {
    let mut p = Program::python(100);
    p.import("torch", ("__main__", "a.py:1"), (12.0, 212.0), 200.0);
    p.import("torch.nn", ("torch", "a.py:1"), (20.0, 22.0), 2.0);
    for i in 0..10 {
        let at = 220.0 + 5.0 * f64::from(i);
        p.import(
            &format!("torch.x{i}"),
            ("__main__", "a.py:2"),
            (at, at + 4.0),
            4.0,
        );
    }
    let report = report(p);
    let torch = found(&report, Cause::PythonImports, "torch");
    close(torch.inclusive, 0.2);
    assert_eq!(torch.count, 2);
    let others = found(&report, Cause::PythonImports, "other modules of torch");
    close(others.seconds, 0.04);
    close(others.inclusive, 0.04);
    assert_eq!(others.count, 10);
}

#[test]
fn an_import_counts_until_the_first_iteration_has_ended() {
    let mut p = Program::python(100);
    p.import("slow", ("__main__", "a.py:1"), (60.0, 300.0), 240.0);
    p.busy(0, &[(0.0, 300.0)], 300.0);
    let mut start = p.alone(300.0);
    start.lines = vec![ns(100.0)];
    let report = findings("lines:x", start).report;
    close(found(&report, Cause::PythonImports, "slow").inclusive, 0.04);
}

#[test]
fn compilations_are_counted_and_meaningful_bytes_reported() {
    let mut p = Program::new(100);
    p.frame(
        SpanKind::Range,
        "XlaCompile:#module=jit_step#",
        (10.0, 110.0),
    );
    p.frame(SpanKind::Range, "XlaPass:#name=fusion#", (20.0, 30.0));
    p.frame(SpanKind::Range, "XlaPass:#name=layout#", (40.0, 50.0));
    p.heavy("cublasCreate", (120.0, 140.0), 20.0);
    p.allocate("cuMemAlloc", 1 << 20, 0x7000_0000, (125.0, 126.0));
    let inner = (0x7000_0000, 0x7000_8000);
    p.copy("cuMemcpyAsync", 4096, inner, (130.0, 131.0));
    let report = report(p);
    let compiled = found(&report, Cause::KernelCompilation, "jit_step");
    assert_eq!(compiled.count, 1);
    let set_up = found(&report, Cause::LibrarySetUp, "cublasCreate");
    assert_eq!(set_up.bytes, None);
    let made = found(&report, Cause::DeviceAllocation, "cuMemAlloc");
    assert_eq!(made.bytes, Some(1 << 20));
}

#[test]
fn kernels_that_a_library_compiles_for_itself_cannot_be_kept() {
    let advice = |library: &str| {
        let mut p = Program::new(100);
        p.heavy(library, (10.0, 400.0), 1.0);
        p.heavy("nvrtcCompileProgram", (20.0, 380.0), 360.0);
        let report = analyze(&recording("auto", vec![with_loop(p, 490.0)])).report;
        let found = remedy(&report, "kept-caches").cloned();
        found.map(|remedy| (remedy.helps, remedy.what))
    };
    let (helps, what) = advice("cudnnBackendFinalize").unwrap();
    assert!(!helps && what.contains("360 ms"), "{what}");
    let (helps, what) = advice("clFlush").unwrap();
    assert!(helps && what.contains("nvrtcGetCUBIN"), "{what}");
}

/// Starts of 500 and 700 ms, two of each, the longer ones at this temperature.
fn ladder(temperature: Temperature, compiled: f64, count: usize) -> RunReport {
    let start = |at: f64, compiled: f64| {
        let mut p = Program::new(100);
        p.heavy("nvrtcCompileProgram", (10.0, 11.0 + compiled), 1.0);
        with_loop(p, at)
    };
    let mut starts = vec![start(490.0, 0.0)];
    starts.extend((0..count).map(|_| start(490.0, 0.0)));
    starts.extend((0..count).map(|_| start(690.0, compiled)));
    let mut recording = recording("auto", starts);
    for info in &mut recording.manifest.starts[count + 1..] {
        info.temperature = temperature;
    }
    analyze(&recording).report
}

#[test]
fn temperatures_suggest_caches_only_if_compilation_differs() {
    let by_ladder = |compiled: f64| {
        let report = ladder(Temperature::Caches, compiled, 2);
        let suggested = remedy(&report, "kept-caches").cloned();
        suggested.filter(|remedy| remedy.assumption.contains("`caches`"))
    };
    assert_eq!(by_ladder(10.0), None);
    assert_eq!(by_ladder(90.0), None);
    let suggested = by_ladder(190.0).unwrap();
    close(suggested.saving, 0.2);
    assert!(
        suggested
            .what
            .contains("at temperature caches: 700 ms → 500 ms"),
        "{suggested:?}"
    );
}

#[test]
fn compilers_without_a_cache_count_if_empty_caches_cost_less() {
    let start = |compiled: f64| {
        let mut p = Program::new(100);
        p.frame(
            SpanKind::Range,
            "XlaCompile:#module=jit_step#",
            (10.0, 410.0 + compiled),
        );
        with_loop(p, 490.0 + compiled)
    };
    let starts = [0.0, 0.0, 0.0, 30.0, 30.0].map(start);
    let mut recording = recording("auto", starts.to_vec());
    for info in &mut recording.manifest.starts[3..] {
        info.temperature = Temperature::Caches;
    }
    let report = analyze(&recording).report;
    let suggested = remedy(&report, "kept-caches").unwrap();
    close(suggested.saving, 0.36);
    assert!(
        suggested.what.contains("JAX_COMPILATION_CACHE_DIR"),
        "{suggested:?}"
    );
}

#[test]
fn reading_ahead_states_its_base_and_needs_two_starts() {
    assert!(remedy(&ladder(Temperature::Disk, 0.0, 1), "prefetch").is_none());
    let report = ladder(Temperature::Disk, 0.0, 2);
    let suggested = remedy(&report, "prefetch").unwrap();
    close(suggested.saving, 0.2);
    assert!(
        suggested
            .what
            .contains("at temperature disk: 700 ms → 500 ms"),
        "{suggested:?}"
    );
}

#[test]
fn the_standard_library_and_short_imports_are_not_avoidable() {
    let importing = |name: &str, end: f64| {
        let mut p = Program::python(100);
        p.import(name, ("helper", "a.py:1"), (30.0, end), end - 30.0);
        let mut recording = recording("auto", vec![with_loop(p, 500.0)]);
        recording.manifest.optional_imports = vec![name.to_owned()];
        analyze(&recording).report
    };
    let id = "avoidable-imports";
    assert!(remedy(&importing("pandas", 180.0), id).is_some());
    assert!(remedy(&importing("pandas", 110.0), id).is_none());
    assert!(remedy(&importing("multiprocessing.connection", 180.0), id).is_none());
}

#[test]
fn modules_that_others_import_too_are_not_saved() {
    let mut p = Program::python(100);
    p.import("pandas", ("seaborn", "a.py:1"), (30.0, 340.0), 110.0);
    p.import("numpy", ("pandas", "a.py:1"), (50.0, 150.0), 60.0);
    p.import("numpy.rec", ("numpy", "a.py:1"), (60.0, 100.0), 40.0);
    p.import("pandas.core", ("pandas", "a.py:1"), (200.0, 300.0), 100.0);
    let mut recording = recording("auto", vec![with_loop(p, 500.0)]);
    recording.manifest.optional_imports = vec!["pandas".to_owned()];
    let saving = |recording: &Recording| {
        let report = analyze(recording).report;
        remedy(&report, "avoidable-imports").map(|remedy| remedy.saving)
    };
    // Without recording, an import takes 92 % of its recorded time.
    close(saving(&recording).unwrap(), 0.92 * 0.31);
    recording.manifest.shared_imports = vec!["numpy".to_owned()];
    // numpy.rec is imported only because of pandas.
    close(saving(&recording).unwrap(), 0.92 * 0.25);
    recording.manifest.shared_imports = vec!["numpy".to_owned(), "numpy.rec".to_owned()];
    close(saving(&recording).unwrap(), 0.92 * 0.21);
    recording
        .manifest
        .shared_imports
        .push("pandas.core".to_owned());
    close(saving(&recording).unwrap(), 0.92 * 0.11);
}

#[test]
fn concurrent_compilation_saves_at_most_its_time_on_the_path() {
    let mut p = Program::new(100);
    let worker = p.thread("worker");
    p.module(5000, &[], &[70], (10.0, 110.0));
    p.module(5000, &[], &[70], (10.0, 110.0));
    let moved = p.process.threads[0].spans.pop().unwrap();
    p.process.threads[worker].spans.push(moved);
    let start = with_loop(p, 500.0);
    let report = findings("auto", start.clone()).report;
    let missing = remedy(&report, "machine-code-missing").unwrap();
    close(missing.saving, 0.09);
    let mut disabled = recording("auto", vec![start]);
    let variable = ("CUDA_CACHE_DISABLE".to_owned(), "1".to_owned());
    disabled.manifest.environment.push(variable);
    let report = analyze(&disabled).report;
    close(remedy(&report, "kept-caches").unwrap().saving, 0.09);
    assert!(remedy(&report, "machine-code-missing").is_none());
}

#[test]
fn a_warm_parent_shows_its_sum() {
    let importing = |until: f64, driver: bool| {
        let mut p = Program::python(100);
        p.import("numpy", ("__main__", "a.py:1"), (12.0, until), until - 12.0);
        p.load("libblas.so", (13.0, 15.0), 2.0);
        if driver {
            p.heavy("cuInit", (300.0, 320.0), 20.0);
        }
        report(p)
    };
    let report = importing(212.0, true);
    let suggested = remedy(&report, "warm-parent").unwrap();
    let sum = "imports 198 ms + libraries that they load 2 ms + Python's own start 9 ms − a \
               fork 10 ms";
    assert!(suggested.what.contains(sum), "{}", suggested.what);
    assert!(suggested.what.contains("does not touch the GPU"));
    let report = importing(212.0, false);
    let suggested = remedy(&report, "warm-parent").unwrap();
    assert!(!suggested.what.contains("GPU"), "{}", suggested.what);
    assert!(remedy(&importing(30.0, false), "warm-parent").is_none());
    // For a command that already uses `preheat start`, the remedy states that this start
    // was plain.
    let mut p = Program::python(100);
    p.import("numpy", ("__main__", "a.py:1"), (12.0, 212.0), 200.0);
    let mut started = recording("auto", vec![with_loop(p, 500.0)]);
    started.manifest.command = ["bin/preheat", "start", "--", "python", "a.py"]
        .map(str::to_owned)
        .to_vec();
    let report = analyze(&started).report;
    let suggested = remedy(&report, "warm-parent").unwrap();
    assert!(
        suggested.what.contains("was a plain one"),
        "{}",
        suggested.what
    );
}

#[test]
fn source_that_every_start_compiles_is_a_cause_and_has_a_remedy() {
    let mut p = Program::python(100);
    p.import("numpy", ("__main__", "a.py:1"), (12.0, 212.0), 200.0);
    p.bytecode("/lib/numpy/__init__.py", (13.0, 33.0));
    p.import("numpy.core", ("numpy", "a.py:1"), (40.0, 150.0), 110.0);
    p.bytecode("/lib/numpy/core/__init__.py", (41.0, 121.0));
    p.bytecode("/srv/main.py", (220.0, 230.0));
    let mut recording = recording("auto", vec![with_loop(p, 500.0)]);
    recording.manifest.environment = vec![("PYTHONDONTWRITEBYTECODE".into(), "1".into())];
    let report = analyze(&recording).report;
    let cause = |of| {
        report
            .causes
            .iter()
            .find(|c| c.cause == of)
            .unwrap()
            .seconds
    };
    close(cause(Cause::BytecodeCompilation), 0.11);
    close(cause(Cause::PythonImports), 0.1);
    let all: f64 = report.causes.iter().map(|cause| cause.seconds).sum();
    close(all, report.time_to_first.value);
    let numpy = found(&report, Cause::BytecodeCompilation, "numpy");
    close(numpy.seconds, 0.1);
    assert_eq!(numpy.count, 2);
    assert_eq!(numpy.detail, "no .pyc, writing turned off");
    // Without an import, the item is named after the file.
    close(
        found(&report, Cause::BytecodeCompilation, "main").seconds,
        0.01,
    );
    let suggested = remedy(&report, "kept-bytecode").unwrap();
    close(suggested.saving, 0.11 * 0.95);
    for part in ["3 modules", "unset PYTHONDONTWRITEBYTECODE", "compileall"] {
        assert!(suggested.what.contains(part), "{}", suggested.what);
    }
    let parent = remedy(&report, "warm-parent").unwrap();
    assert!(parent.causes.contains(&Cause::BytecodeCompilation));
}

#[test]
fn caches_of_torch_compile_are_kept() {
    let compiling = |until: f64| {
        let mut p = Program::python(100);
        p.frame(SpanKind::Range, "torch.compile", (100.0, until));
        with_loop(p, 500.0)
    };
    let report = findings("auto", compiling(300.0)).report;
    let suggested = remedy(&report, "kept-caches").unwrap();
    close(suggested.saving, 0.1);
    assert!(
        suggested
            .what
            .contains("TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR")
    );
    assert!(suggested.assumption.contains("halve"));
    let report = findings("auto", compiling(120.0)).report;
    assert!(remedy(&report, "kept-caches").is_none());
    let mut kept = recording("auto", vec![compiling(300.0)]);
    for name in ["TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"] {
        let variable = (name.to_owned(), "/cache".to_owned());
        kept.manifest.environment.push(variable);
    }
    assert!(remedy(&analyze(&kept).report, "kept-caches").is_none());
    // A second start finds what the first one compiled.
    let twice = recording("auto", vec![compiling(300.0), compiling(300.0)]);
    assert!(remedy(&analyze(&twice).report, "kept-caches").is_none());
    let mut filled = compiling(300.0);
    let entry = "/tmp/torchinductor_me/fxgraph/ab/entry".to_owned();
    filled.processes[0].files.push(entry);
    assert!(remedy(&findings("auto", filled).report, "kept-caches").is_none());
}

#[test]
fn a_warm_parent_counts_only_the_served_process() {
    let importing = || {
        let mut p = Program::python(100);
        p.import("numpy", ("__main__", "a.py:1"), (12.0, 212.0), 200.0);
        recording("auto", vec![with_loop(p, 500.0)])
    };
    let mut plainly = importing();
    plainly.manifest.started_plainly = Some("it is not a Python program".to_owned());
    let report = analyze(&plainly).report;
    let suggested = remedy(&report, "warm-parent").unwrap();
    assert!(!suggested.helps && suggested.saving == 0.0);
    assert!(
        suggested.what.contains("not a Python program"),
        "{}",
        suggested.what
    );
    // A worker started by a launcher is not served.
    for (program, serves) in [("/bin/sh", false), ("/usr/bin/timeout", true)] {
        let mut child = importing();
        let start = &mut child.starts[0];
        start.processes[0].parent = 99;
        start.pid = 99;
        child.manifest.starts[0].pid = 99;
        child.manifest.command = vec![program.to_owned()];
        let report = analyze(&child).report;
        assert_eq!(
            remedy(&report, "warm-parent").is_some(),
            serves,
            "{program}"
        );
    }
}

const MIB: u64 = 1 << 20;

/// A loop of 60 steps of 10 ms from 500 ms on, each with a copy of this many bytes.
fn with_copies(mut p: Program, bytes: u64, took: f64) -> RunReport {
    p.allocate("cuMemAlloc", 1 << 30, 0x7_0000_0000, (5.0, 5.1));
    for i in 0..60 {
        let at = 500.0 + 10.0 * f64::from(i);
        p.frame(SpanKind::Range, "step", (at, at + 10.0));
        // The batch has a different address every time.
        let source = 0x1000_0000 + 0x1000 * i as u64;
        let to = 0x7_0000_0000;
        p.copy(
            "cuMemcpyHtoDAsync",
            bytes,
            (source, to),
            (at + 1.0, at + 1.0 + took),
        );
    }
    p.busy(0, &[(0.0, 1100.0)], 1100.0);
    findings("auto", p.alone(1100.0)).report
}

#[test]
fn page_locked_memory_pays_off_if_a_buffer_is_reused() {
    let report = with_copies(Program::new(100), 16 * MIB, 1.5);
    let suggested = remedy(&report, "pinned-buffers").unwrap();
    assert_eq!(
        (suggested.group(), suggested.saving),
        (RemedyGroup::Later, 0.0)
    );
    let later = suggested.later.as_ref().unwrap();
    // 16 MiB take 315 µs from page-locked memory, and 9.2 ms to lock.
    close(later.seconds * 1e3, 1.185);
    assert_eq!(later.after, 8);
    assert!(
        suggested
            .what
            .contains("60 copies of 16 MiB go to the device from pageable memory, 1.5 ms each"),
        "{}",
        suggested.what
    );
    assert!(
        suggested.what.contains("pays off after 8 copies"),
        "{}",
        suggested.what
    );
    // Labels are small and are not copied faster.
    let report = with_copies(Program::new(100), 64, 0.011);
    let suggested = remedy(&report, "pinned-buffers").unwrap();
    assert_eq!(suggested.group(), RemedyGroup::None);
    // 1 MiB saves 70 µs per copy, and locking it takes 1.3 ms.
    let report = with_copies(Program::new(100), MIB, 0.1);
    let suggested = remedy(&report, "pinned-buffers").unwrap();
    assert_eq!(suggested.later.as_ref().unwrap().after, 19);
    // At 67 GB/s the memory was page-locked, although the lock was not recorded.
    assert!(
        remedy(
            &with_copies(Program::new(100), 16 * MIB, 0.25),
            "pinned-buffers"
        )
        .is_none()
    );
    let mut p = Program::new(100);
    p.allocate("cuMemHostAlloc", 1 << 28, 0x1000_0000, (6.0, 7.0));
    assert!(remedy(&with_copies(p, 16 * MIB, 1.5), "pinned-buffers").is_none());
}

#[test]
fn one_copy_does_not_pay_for_locking() {
    let copying = |sources: &[u64], bytes: u64, took: f64| {
        let mut p = Program::new(100);
        p.allocate("cuMemAlloc", 1 << 34, 0x7_0000_0000, (5.0, 5.1));
        for (i, source) in sources.iter().enumerate() {
            let at = 10.0 + took * i as f64;
            let way = (*source, 0x7_0000_0000);
            p.copy("cuMemcpyHtoD", bytes, way, (at, at + took));
        }
        report(p)
    };
    // Weights: every buffer is copied once.
    let report = copying(&[0x1000, 0x2000, 0x3000, 0x4000], 25_000_000, 2.5);
    let suggested = remedy(&report, "pinned-buffers").unwrap();
    assert_eq!(
        (suggested.group(), suggested.saving),
        (RemedyGroup::None, 0.0)
    );
    let sentence = "4 copies move 95.4 MiB to the device from pageable memory in 10 ms; from \
                    page-locked memory that takes about 1.86 ms. Locking 95.4 MiB in one piece \
                    takes about 50.8 ms, and saves 8.14 ms here; it pays off after 7 copies of \
                    the same memory.";
    assert_eq!(suggested.what, sentence);
    // Copying the same buffer twenty times before the first iteration shortens the time to
    // first.
    let report = copying(&[0x1000; 20], 100_000_000, 10.0);
    let suggested = remedy(&report, "pinned-buffers").unwrap();
    assert_eq!(suggested.group(), RemedyGroup::Start);
    close(
        suggested.saving * 1e3,
        20.0 * (10.0 - 0.01 - 100.0 / 55.0) - 50.8,
    );
    // A few bytes are not reported.
    assert!(remedy(&copying(&[0x1000], 4, 0.02), "pinned-buffers").is_none());
}

/// A program that imports this module and makes these allocations (bytes, from, to) until
/// 600 ms; its first iteration is from 500 ms to 600 ms, and others take 10 ms.
fn allocating(module: &str, calls: &[(u64, f64, f64)]) -> RunReport {
    let mut p = Program::python(100);
    p.import(module, ("__main__", "a.py:1"), (12.0, 20.0), 8.0);
    for (i, (bytes, from, to)) in calls.iter().enumerate() {
        let pointer = 0x7_0000_0000 + 0x1_0000_0000 * i as u64;
        p.allocate("cuMemAlloc", *bytes, pointer, (*from, *to));
    }
    p.device_memory(600.0, 1 << 30, "cuMemAlloc");
    p.frame(SpanKind::Range, "step", (500.0, 600.0));
    for i in 0..20 {
        let at = 600.0 + 10.0 * f64::from(i);
        p.frame(SpanKind::Range, "step", (at, at + 10.0));
    }
    p.busy(0, &[(0.0, 800.0)], 800.0);
    findings("auto", p.alone(800.0)).report
}

#[test]
fn a_few_allocations_get_a_remedy() {
    // Three calls in the first iteration take 6 of its 100 ms.
    let three: Vec<(u64, f64, f64)> = [510.0, 520.0, 530.0]
        .map(|at| (20 * MIB, at, at + 2.0))
        .to_vec();
    let report = allocating("torch", &three);
    let suggested = remedy(&report, "allocator").unwrap();
    assert_eq!(suggested.group(), RemedyGroup::Later);
    close(suggested.later.as_ref().unwrap().seconds * 1e3, 6.0);
    let sentence = "3 calls allocate 60 MiB of device memory, 6 ms in all, 3 of them (6 ms) in \
                    the first iteration; one allocation of that size takes about 136 µs.";
    assert!(suggested.what.starts_with(sentence), "{}", suggested.what);
    assert!(
        suggested.what.contains("torch.empty(62914560"),
        "{}",
        suggested.what
    );
    assert!(suggested.what.contains("expandable_segments:True"));
    // A block in the pool does not serve small tensors.
    let small = allocating("torch", &[(2 * MIB, 510.0, 514.0)]);
    assert!(remedy(&small, "allocator").is_none());
    let own = allocating("cupy", &[(2 * MIB, 510.0, 514.0)]);
    assert!(remedy(&own, "allocator").is_some());
    // One call of 200 µs is reported, but nothing is gained.
    let one = allocating("torch", &[(20 * MIB, 100.0, 100.2)]);
    let suggested = remedy(&one, "allocator").unwrap();
    assert_eq!(suggested.group(), RemedyGroup::None);
    let end = "That saves less than 0.1 % of the time to first.";
    assert!(suggested.what.ends_with(end), "{}", suggested.what);
    let none = allocating("torch", &[(20 * MIB, 100.0, 100.05)]);
    assert!(remedy(&none, "allocator").is_none());
}

#[test]
fn one_remedy_covers_preallocation_both_ways() {
    // 96 of 128 GiB in 40 ms, and 300 ms until the next call: allocating as needed helps.
    let calls = [
        (96 << 30, 100.0, 140.0),
        (MIB, 440.0, 440.01),
        (MIB, 510.0, 511.0),
    ];
    let report = allocating("jax", &calls);
    let suggested = remedy(&report, "allocator").unwrap();
    assert_eq!(suggested.group(), RemedyGroup::Start);
    close(suggested.saving * 1e3, 339.87);
    let table = "then needs 300 ms of CPU time to set up a table for it, 3 GiB of host memory";
    assert!(suggested.what.contains(table), "{}", suggested.what);
    // PyTorch does not keep such a table.
    let report = allocating("torch", &calls);
    let suggested = remedy(&report, "allocator").unwrap();
    close(suggested.saving * 1e3, 39.87);
    // Calls in close succession leave no time for a table.
    let calls = [(96 << 30, 100.0, 140.0), (MIB, 140.0, 140.01)];
    let report = allocating("jax", &calls);
    let suggested = remedy(&report, "allocator").unwrap();
    close(suggested.saving * 1e3, 39.87);
    assert!(
        suggested
            .what
            .contains("One allocation takes 96 GiB of the device's 128 GiB, in 40 ms")
    );
    assert!(
        suggested
            .what
            .contains("XLA_PYTHON_CLIENT_PREALLOCATE=false")
    );
    // 2 ms are too little.
    let calls = [(96 << 30, 100.0, 102.0), (MIB, 102.0, 102.01)];
    let report = allocating("tensorflow", &calls);
    let suggested = remedy(&report, "allocator").unwrap();
    assert_eq!(suggested.group(), RemedyGroup::None);
    assert!(suggested.what.contains("TF_FORCE_GPU_ALLOW_GROWTH=true"));
    // With preallocation turned off, the remedy reports the saving of turning it on.
    let pieces: Vec<(u64, f64, f64)> = (0..8)
        .map(|i| {
            (
                MIB << i,
                510.0 + 5.0 * f64::from(i),
                513.0 + 5.0 * f64::from(i),
            )
        })
        .collect();
    let report = allocating("jax", &pieces);
    let suggested = remedy(&report, "allocator").unwrap();
    assert_eq!(suggested.group(), RemedyGroup::Start);
    assert!(
        suggested
            .what
            .contains("unless XLA_PYTHON_CLIENT_PREALLOCATE=false"),
        "{}",
        suggested.what
    );
}

/// Steps of these milliseconds from 100 ms on.
fn with_steps(steps: &[f64]) -> RunReport {
    let mut p = Program::python(100);
    let mut at = 100.0;
    for step in steps {
        p.frame(SpanKind::Range, "step", (at, at + step));
        at += step;
    }
    p.busy(0, &[(0.0, at)], at);
    findings("auto", p.alone(at)).report
}

#[test]
fn a_warm_up_takes_the_excess_off_the_first_real_iteration() {
    // With two iterations, only the second is known.
    let report = with_steps(&[190.0, 2.0]);
    let suggested = remedy(&report, "warm-up").unwrap();
    assert_eq!(
        (suggested.group(), suggested.saving),
        (RemedyGroup::Later, 0.0)
    );
    let later = suggested.later.as_ref().unwrap();
    close(later.seconds * 1e3, 188.0);
    assert_eq!(later.after, 1);
    let sentence = "1 warm-up iteration takes 188 ms off the first real iteration (190 ms → 2 ms).";
    assert!(suggested.what.starts_with(sentence), "{}", suggested.what);
    assert_eq!(suggested.causes, [Cause::OwnCpu]);
    // Three slow ones before the steady state.
    let mut steps = vec![100.0, 40.0, 40.0];
    steps.extend([10.0; 40]);
    let report = with_steps(&steps);
    let suggested = remedy(&report, "warm-up").unwrap();
    let later = suggested.later.as_ref().unwrap();
    close(later.seconds * 1e3, 90.0);
    assert_eq!(later.after, 3);
    let sentence = "3 warm-up iterations take 90 ms off the first real iteration (100 ms → 10 ms); \
                    a single one takes 60 ms off.";
    assert!(suggested.what.starts_with(sentence), "{}", suggested.what);
    // It comes after those that shorten the time to first, and adds nothing to it.
    let total: f64 = report.remedies.iter().map(|remedy| remedy.saving).sum();
    assert!(total <= report.time_to_first.value);
}

#[test]
fn a_first_iteration_that_only_waited_for_a_processor_needs_no_warm_up() {
    // The first step takes 190 ms instead of 10 ms: for 180 ms it does not run.
    let report = |waited: f64| {
        let mut p = Program::python(100);
        let mut at = 100.0;
        for step in 0..20 {
            let length = if step == 0 { 190.0 } else { 10.0 };
            p.frame(SpanKind::Range, "step", (at, at + length));
            at += length;
        }
        p.busy(0, &[(0.0, 105.0), (285.0, at)], at);
        for sample in &mut p.process.threads[0].samples {
            let part = (sample.time as f64 - ns(105.0) as f64) / ns(180.0) as f64;
            sample.waited = (part.clamp(0.0, 1.0) * ns(waited) as f64) as u64;
        }
        findings("auto", p.alone(at)).report
    };
    assert!(remedy(&report(0.0), "warm-up").is_some());
    assert!(remedy(&report(180.0), "warm-up").is_none());
}

#[test]
fn a_warm_up_that_gains_next_to_nothing_is_omitted() {
    let id = "warm-up";
    assert!(remedy(&with_steps(&[10.0, 10.0]), id).is_none());
    assert!(remedy(&with_steps(&[10.5, 10.0]), id).is_none());
    assert!(remedy(&with_steps(&[0.06, 0.01, 0.01]), id).is_none());
    assert!(remedy(&with_steps(&[2.0, 190.0]), id).is_none());
    assert!(remedy(&with_steps(&[10.0]), id).is_none());
    // The starts disagree on which of the two is slower.
    let start = |first: f64, second: f64| {
        let mut p = Program::python(100);
        p.frame(SpanKind::Range, "step", (100.0, 100.0 + first));
        p.frame(
            SpanKind::Range,
            "step",
            (100.0 + first, 100.0 + first + second),
        );
        p.busy(0, &[(0.0, 300.0)], 300.0);
        p.alone(300.0)
    };
    let starts = vec![
        start(40.0, 10.0),
        start(40.0, 10.0),
        start(10.0, 20.0),
        start(60.0, 10.0),
        start(10.0, 30.0),
    ];
    assert!(remedy(&analyze(&recording("auto", starts)).report, id).is_none());
}
