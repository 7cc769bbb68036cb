//! `preheat run` on a CUDA program, with a scripted driver whose costs are known. A real
//! driver is not available in tests; recordings of a real one are tested separately (run_h200).

use std::fs;
use std::path::Path;
use std::process::Command;

use preheat_model::run::trace::Clock;
use preheat_model::run::{Cause, IterationsBy, RunReport};

mod support;
use support::{Directory, require};

/// Finds the driver as cudart does: `dlopen`, `dlsym`, `cuGetProcAddress`.
const PROGRAM: &str = r#"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
typedef int (*ask)(const char *, void **, int, uint64_t, int *);
static ask get;
static void *function(const char *name) {
    void *found = NULL; int how;
    if (get(name, &found, 12000, 0, &how) || !found) { fprintf(stderr, "no %s\n", name); exit(9); }
    return found;
}
#define F(name) (*(int (*)())function(#name))
/* What each call took, as the program sees it: on a busy machine more than was planted. */
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static FILE *planted;
static double began;
static int timed(const char *name, int status) {
    fprintf(planted, "%s %.9f\n", name, now() - began);
    return status;
}
#define TIMED(name, call) (began = now(), timed(name, call))
int main(void) {
    planted = fopen("planted", "w");
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver || !(get = (ask)dlsym(driver, "cuGetProcAddress_v2"))) return 8;
    int (*launch)() = function("cuLaunchKernel"), (*wait)() = function("cuCtxSynchronize");
    void *context, *library, *kernel, *one, *two; uint64_t memory, pinned; static char image[64] = "no image at all";
    if (TIMED("init", F(cuInit)(0))) return 1;
    if (TIMED("context", F(cuDevicePrimaryCtxRetain)(&context, 0)) || F(cuCtxSetCurrent)(context)) return 2;
    if (TIMED("load", F(cuLibraryLoadData)(&library, image, NULL, NULL, 0, NULL, NULL, 0))) return 3;
    if (F(cuLibraryGetKernel)(&kernel, library, "forward") || F(cuKernelGetFunction)(&one, kernel)) return 4;
    if (F(cuLibraryGetKernel)(&kernel, library, "backward") || F(cuKernelGetFunction)(&two, kernel)) return 4;
    if (TIMED("allocation", F(cuMemAlloc)(&memory, (size_t)(64 << 20)))) return 5;
    if (TIMED("pinning", F(cuMemHostAlloc)(&pinned, (size_t)(1 << 20), 0))) return 6;
    wait();
    for (int i = 0; i < 30; i++) {
        began = now();
        if (launch(one, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL)) return 7;
        if (launch(two, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL)) return 7;
        wait();
        timed("iteration", 0);
    }
    fclose(planted);
    return 0;
}
"#;

/// Memory of other processes on the scripted device, in bytes.
const OTHERS: u64 = 300 << 20;

/// The cost of each call in milliseconds, by the variable that sets it.
const COSTS: [(&str, f64); 7] = [
    ("FAKE_INIT_MS", 80.0),
    ("FAKE_CONTEXT_MS", 120.0),
    ("FAKE_LOAD_MS", 60.0),
    ("FAKE_FIRST_LAUNCH_MS", 50.0),
    ("FAKE_LAUNCH_MS", 2.0),
    ("FAKE_ALLOC_MS", 70.0),
    ("FAKE_PIN_MS", 90.0),
];

fn compile(source: &Path, to: &Path, flags: &[&str]) {
    let status = Command::new("gcc")
        .args(["-O1", "-w", "-o"])
        .arg(to)
        .arg(source)
        .args(flags)
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "gcc compiles {}",
        source.display()
    );
}

/// Builds the scripted driver; nothing without a compiler.
fn driver(directory: &Directory) -> Option<()> {
    let gcc = Command::new("gcc").arg("--version").output().is_ok();
    require("gcc", gcc.then_some(()))?;
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shim/tests/libcuda/libcuda.c");
    compile(
        &driver,
        &directory.join("libcuda.so.1"),
        &["-shared", "-fPIC", "-pthread"],
    );
    Some(())
}

fn recorded(directory: &Directory) -> Option<RunReport> {
    driver(directory)?;
    fs::write(directory.join("program.c"), PROGRAM).unwrap();
    compile(
        &directory.join("program.c"),
        &directory.join("program"),
        &["-ldl"],
    );
    let mut environment: Vec<(&str, String)> = COSTS
        .iter()
        .map(|(name, cost)| (*name, cost.to_string()))
        .collect();
    let libraries = directory.path().display().to_string();
    environment.push(("LD_LIBRARY_PATH", libraries));
    let command = ["./program".as_ref()];
    Some(support::recorded(
        directory,
        &["--starts", "1"],
        command,
        &environment,
    ))
}

/// The times of the calls as the program measured them, in seconds.
fn planted(directory: &Directory, name: &str) -> Vec<f64> {
    let text = fs::read_to_string(directory.join("planted")).expect("the program writes it");
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let named = lines.filter(|(call, _)| *call == name);
    named.map(|(_, seconds)| seconds.parse().unwrap()).collect()
}

/// Within a tenth of what was planted.
fn near(report: &RunReport, cause: Cause, planted: f64) {
    let found = report.causes.iter().find(|found| found.cause == cause);
    let seconds = found.map_or(0.0, |found| found.seconds);
    assert!(
        (seconds - planted).abs() <= planted / 10.0,
        "{}: {seconds} s, planted {planted} s",
        cause.as_str()
    );
}

#[test]
fn planted_costs_and_memory_are_found_at_their_causes() {
    let directory = Directory::new();
    let Some(report) = recorded(&directory) else {
        return;
    };
    assert_eq!(
        report.iterations_by,
        IterationsBy::Kernels,
        "{:?}",
        report.notes
    );
    let once = |name| planted(&directory, name)[0];
    let mut iterations = planted(&directory, "iteration");
    assert_eq!(report.starts[0].iterations.len(), iterations.len());
    let first = iterations.remove(0);
    iterations.sort_by(f64::total_cmp);
    let steady = iterations[iterations.len() / 2];
    near(&report, Cause::DriverInit, once("init"));
    near(&report, Cause::ContextCreation, once("context"));
    // One image and two first launches; what a launch takes anyway is steady work.
    near(&report, Cause::KernelLoading, once("load") + first - steady);
    near(&report, Cause::DeviceAllocation, once("allocation"));
    near(&report, Cause::PinnedAllocation, once("pinning"));
    // The first iteration begins as later ones do: not where the driver was initialized.
    let rule = "each begins after the last synchronization or copy before its launches";
    assert!(report.iteration.ends_with(rule), "{}", report.iteration);
    assert!((report.first.unwrap() / first - 1.0).abs() < 0.1);
    let sum: f64 = report.causes.iter().map(|cause| cause.seconds).sum();
    assert!((sum / report.time_to_first.value - 1.0).abs() < 0.01);

    let device = report.memory.device.expect("a device was used");
    // Memory of other processes cannot be distinguished from the context.
    assert_eq!(device.context, OTHERS + (256 << 20));
    assert_eq!(device.kernels, (8 + 2 * 2) << 20);
    assert_eq!(device.used, 64 << 20);
    assert_eq!(report.memory.pinned, 1 << 20);
    assert_eq!(device.total, OTHERS + ((256 + 12 + 64) << 20));
}

/// A runtime above the driver, as cudart is one.
const RUNTIME: &str = r#"
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
static void *driver(const char *name) {
    static void *library;
    if (!library) library = dlopen("libcuda.so.1", RTLD_NOW);
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) exit(9);
    return found;
}
#define F(name) (*(int (*)())driver(#name))
void rt_begin(void) {
    uint64_t context;
    if (F(cuInit)(0) || F(cuDevicePrimaryCtxRetain)(&context, 0) || F(cuCtxSetCurrent)(context)) exit(8);
}
void *rt_event(void) { void *event; return F(cuEventCreate)(&event, 0) ? NULL : event; }
int rt_record(void *event) { int status = F(cuEventRecord)(event, NULL); return status ? 7 : 0; }
int rt_launch(void) { int status = F(cuLaunchKernel)((void *)0x2000, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL); return status ? 7 : 0; }
float rt_elapsed(void *from, void *to) {
    float milliseconds = 0;
    F(cuEventSynchronize)(to);
    return F(cuEventElapsedTime)(&milliseconds, from, to) ? -1 : milliseconds;
}
"#;

const WITH_EVENTS: &str = r#"#include <stdio.h>
void rt_begin(void), *rt_event(void);
int rt_record(void *), rt_launch(void);
float rt_elapsed(void *, void *);
int main(void) {
    rt_begin();
    void *begin = rt_event(), *end = rt_event();
    for (int i = 0; i < 2; i++) {
        rt_record(begin);
        if (rt_launch()) return 1;
        rt_record(end);
        printf("%f\n", rt_elapsed(begin, end));
    }
    return 0;
}
"#;

#[test]
fn events_are_regions_of_the_lines_that_record_them() {
    let directory = Directory::new();
    if driver(&directory).is_none() {
        return;
    }
    fs::write(directory.join("runtime.c"), RUNTIME).unwrap();
    fs::write(directory.join("timed.c"), WITH_EVENTS).unwrap();
    let at = |name: &str| directory.join(name).display().to_string();
    // The runtime is a library, or part of the executable and without lines.
    let shared = ["-shared", "-fPIC", "-ldl"];
    compile(
        &directory.join("runtime.c"),
        &directory.join("librt0.so"),
        &shared,
    );
    compile(
        &directory.join("runtime.c"),
        &directory.join("runtime.o"),
        &["-c"],
    );
    for runtime in ["librt0.so", "runtime.o"] {
        let program = directory.join("timed");
        compile(
            &directory.join("timed.c"),
            &program,
            &["-g", &at(runtime), "-ldl"],
        );
        let report = support::recorded(
            &directory,
            &["--starts", "1"],
            ["./timed".as_ref()],
            &[("LD_LIBRARY_PATH", directory.path().display().to_string())],
        );
        let [region] = &report.regions[..] else {
            panic!("{runtime}: {:?}", report.regions);
        };
        assert_eq!(region.name, "timed.c:9–11", "{runtime}");
        assert_eq!((region.count, region.clock), (2, Some(Clock::CudaEvent)));
        assert!((region.first.value - 0.004).abs() < 1e-6, "{region:?}");
        assert!((region.second.unwrap().value - 0.001).abs() < 1e-6);
        assert_eq!(region.unfinished, None);
        fs::remove_dir_all(directory.join("recording")).unwrap();
    }
}
