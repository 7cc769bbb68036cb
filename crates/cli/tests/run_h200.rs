//! Recordings that were made on an NVIDIA H200 (driver 580, CUDA 13.0, PyTorch 2.11, JAX
//! 0.11), with the times that each program measured itself: the current code must find the same.
//!
//! Made with `ITERATIONS=100 TIMERS=timers.json preheat run --starts 1 -- python3
//! examples/NAME.py` (20 of the one with JAX), one start each. How programs look to `preheat run` on a GPU stays
//! tested where there is none.

use std::fs;

use preheat_model::run::{AfterReading, Cause, Item, IterationsBy, RemedyGroup, RunReport};

mod support;
use support::{Directory, preheat, run, unpack};

/// The report of a kept recording, and the program's own timers.
fn kept(name: &str) -> (RunReport, serde_json::Value) {
    let directory = Directory::new();
    unpack(&directory, name);
    let said = run(preheat()
        .current_dir(directory.path())
        .args(["report", name, "--json", "run.json"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let read = |path: &str| fs::read_to_string(directory.join(path)).unwrap();
    let report = serde_json::from_str(&read("run.json")).unwrap();
    let timers = serde_json::from_str(&read(&format!("{name}/timers.json"))).unwrap();
    (report, timers)
}

fn within_a_tenth(what: &str, found: f64, timed: f64) {
    assert!(
        (found / timed - 1.0).abs() <= 0.1,
        "{what}: {found} s, and the program's own timer says {timed} s"
    );
}

/// Checks of every recording: all is explained, it adds up, and it agrees with timers.
fn explained(report: &RunReport, timers: &serde_json::Value) {
    let total = report.time_to_first.value;
    let sum: f64 = report.causes.iter().map(|cause| cause.seconds).sum();
    assert!((sum / total - 1.0).abs() <= 0.01, "{sum} of {total}");
    let unexplained: f64 = (report.causes.iter())
        .filter(|cause| cause.cause == Cause::Unexplained)
        .map(|cause| cause.share)
        .sum();
    assert!(unexplained <= 0.05, "{unexplained}");
    let timed: Vec<f64> = (timers["iterations"].as_array().unwrap().iter())
        .map(|seconds| seconds.as_f64().unwrap())
        .collect();
    let iterations = &report.starts[0].iterations;
    assert_eq!(iterations.len(), timed.len(), "{}", report.iteration);
    within_a_tenth("the first iteration", iterations[0], timed[0]);
    let late = |all: &[f64]| {
        let mut late = all[all.len() / 2..].to_vec();
        late.sort_by(f64::total_cmp);
        late[late.len() / 2]
    };
    within_a_tenth("a late iteration", late(iterations), late(&timed));
}

fn item<'a>(report: &'a RunReport, cause: Cause, name: &str) -> &'a Item {
    let cause = report.causes.iter().find(|found| found.cause == cause);
    let mut items = cause.expect("the cause is there").items.iter();
    items
        .find(|item| item.name == name)
        .expect("the item is there")
}

#[test]
fn linear_training() {
    let (report, timers) = kept("linear");
    explained(&report, &timers);
    assert_eq!(report.iterations_by, IterationsBy::Python);
    assert_eq!(report.iteration, "steps of SGD");
    let torch = item(&report, Cause::PythonImports, "torch");
    within_a_tenth(
        "import torch",
        torch.inclusive,
        timers["import torch"].as_f64().unwrap(),
    );
    // Nobody expects it there: making the optimizer imports the compiler.
    let dynamo = item(&report, Cause::PythonImports, "torch._dynamo");
    within_a_tenth(
        "SGD()",
        dynamo.inclusive,
        timers["optimizer"].as_f64().unwrap(),
    );
    assert!(dynamo.detail.contains("linear.py:21"), "{}", dynamo.detail);
    let device = report.memory.device.as_ref().expect("it used a device");
    assert!(device.context > 400 << 20 && device.kernels > 50 << 20);
    let remedies: Vec<&str> = report
        .remedies
        .iter()
        .map(|remedy| remedy.id.as_str())
        .collect();
    for id in ["warm-parent", "overlapped-init"] {
        assert!(remedies.contains(&id), "{remedies:?}");
    }
}

/// Recorded with `ITERATIONS=20 preheat run --starts 1 -- preheat start --standby -- python3
/// linear.py`, when a standby with the recorder was ready.
#[test]
fn a_start_from_a_parked_standby() {
    let (report, timers) = kept("standby-parked");
    let sum: f64 = report.causes.iter().map(|cause| cause.seconds).sum();
    let total = report.time_to_first.value;
    assert!((sum / total - 1.0).abs() <= 0.001, "{sum} of {total}");
    let seconds = |cause: Cause| {
        let found = report.causes.iter().find(|found| found.cause == cause);
        found.map_or(0.0, |found| found.seconds)
    };
    // The program moves its model to the device, and waits for the restore in that.
    within_a_tenth(
        "the restore",
        seconds(Cause::GpuRestore),
        timers["model to device"].as_f64().unwrap(),
    );
    assert!(seconds(Cause::Unexplained) <= 0.01 * total);
    assert!(seconds(Cause::ContextCreation) < 0.001 && seconds(Cause::DriverInit) < 0.001);
}

#[test]
fn resnet50_training() {
    let (report, timers) = kept("resnet50-train");
    explained(&report, &timers);
    let loading = report
        .first_excess
        .iter()
        .find(|part| part.cause == Cause::KernelLoading);
    assert!(loading.expect("kernels are loaded").seconds > 0.1);
}

#[test]
fn resnet50_inference() {
    let (report, timers) = kept("resnet50-infer");
    explained(&report, &timers);
    assert_eq!(report.iteration, "calls of ResNet50");
}

#[test]
fn a_compiled_model() {
    let (report, timers) = kept("compiled");
    explained(&report, &timers);
    assert_eq!(report.iteration, "steps of AdamW");
    let compiled = item(&report, Cause::KernelCompilation, "torch.compile");
    assert!(compiled.seconds > 0.5, "{compiled:?}");
}

#[test]
fn a_step_that_xla_compiled() {
    let (report, timers) = kept("jax");
    explained(&report, &timers);
    assert_eq!(report.iteration, "runs of jit_step, compiled by XLA");
    let compiled = item(&report, Cause::KernelCompilation, "jit_step");
    assert!(compiled.seconds > 0.5, "{compiled:?}");
}

/// A program of examples/first: its regions, and the seconds that it printed.
fn timed(name: &str) -> (RunReport, Vec<f64>) {
    let directory = Directory::new();
    unpack(&directory, name);
    let said = run(preheat()
        .current_dir(directory.path())
        .args(["report", name, "--json", "run.json"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let read = |path: &str| fs::read_to_string(directory.join(path)).unwrap();
    let printed = read(&format!("{name}/printed.txt"));
    let printed = printed.lines().map(|line| {
        let seconds = line
            .strip_suffix(" s")
            .and_then(|line| line.rsplit_once(": "));
        seconds.unwrap().1.parse().unwrap()
    });
    (
        serde_json::from_str(&read("run.json")).unwrap(),
        printed.collect(),
    )
}

/// The regions agree with the printed times, within 5 % and their rounding.
fn agrees(report: &RunReport, printed: &[f64], rounding: f64) {
    let mut found = Vec::new();
    for region in &report.regions {
        found.push(region.first.value);
        found.extend(region.second.map(|second| second.value));
    }
    assert_eq!(found.len(), printed.len());
    for (found, printed) in found.iter().zip(printed) {
        assert!(
            (found - printed).abs() <= 0.05 * printed + rounding,
            "{found} s, and the program printed {printed} s"
        );
    }
}

#[test]
fn two_training_iterations_that_the_program_times() {
    let (report, printed) = timed("first-train");
    agrees(&report, &printed, 0.000_05);
    assert_eq!(report.iteration, "steps of SGD, as timed at train.py:17–23");
    assert!(report.first_to_second.unwrap().value > 50.0);
    let region = &report.regions[0];
    assert_eq!(region.name, "train.py:17–23");
    let largest = region
        .causes
        .iter()
        .max_by(|a, b| a.seconds.total_cmp(&b.seconds));
    assert_eq!(largest.unwrap().cause, Cause::KernelLoading);
    // It does not synchronize.
    let unfinished = region.unfinished.unwrap();
    assert!(unfinished.launches > 5);
    assert_eq!(unfinished.then, Some(AfterReading::Never));
}

#[test]
fn two_inferences_that_the_program_times() {
    let (report, printed) = timed("first-infer");
    agrees(&report, &printed, 0.000_05);
    assert_eq!(report.iteration, "calls of Sequential");
    assert_eq!(report.regions.len(), 2);
}

#[test]
fn two_launches_from_cpp() {
    let (report, printed) = timed("first-launch");
    agrees(&report, &printed, 1e-7);
    assert_eq!(report.iterations_by, IterationsBy::Timers);
    assert_eq!(report.regions[0].name, "launch.cu:27–29");
    // The second kernel is launched before the program waits for both.
    let unfinished = report.regions[0].unfinished.unwrap();
    assert_eq!(unfinished.launches, 1);
    assert_eq!(unfinished.then, Some(AfterReading::Later));
    let seconds = unfinished.seconds.expect("it is bounded");
    assert!((20e-6..30e-6).contains(&seconds), "{seconds}");
}

#[test]
fn common_remedies_are_answered_for_each_program() {
    use RemedyGroup::{Later, None as Not, Start};
    // The remedies: a warm-up, page-locked memory, another allocator setting.
    for (name, expected) in [
        ("linear", [Some(Later), None, Some(Not)]),
        ("resnet50-train", [Some(Later), Some(Later), Some(Not)]),
        ("resnet50-infer", [Some(Later), Some(Later), Some(Not)]),
        ("compiled", [Some(Later), Some(Not), Some(Not)]),
        ("jax", [Some(Later), Some(Not), Some(Start)]),
    ] {
        let (report, timers) = kept(name);
        let of = |id: &str| {
            report
                .remedies
                .iter()
                .find(|remedy| remedy.id.as_str() == id)
        };
        let ids = ["warm-up", "pinned-buffers", "allocator"];
        let found = ids.map(|id| of(id).map(|remedy| remedy.group()));
        assert_eq!(found, expected, "{name}");
        // The excess agrees with the program's timers.
        let timed = |at: usize| timers["iterations"][at].as_f64().unwrap();
        let last = timers["iterations"].as_array().unwrap().len() - 1;
        let later = of("warm-up").and_then(|remedy| remedy.later.as_ref());
        let saved = later.expect("it shortens the first real one").seconds;
        within_a_tenth("a warm-up", saved, timed(0) - timed(last));
    }
    let (report, _) = kept("resnet50-train");
    let of = |id: &str| {
        report
            .remedies
            .iter()
            .find(|remedy| remedy.id.as_str() == id)
    };
    // Batches of 8 × 3 × 224 × 224 floats.
    let pinned = of("pinned-buffers").unwrap();
    let copies = "71 copies of 4.59 MiB go to the device from pageable memory";
    assert!(pinned.what.starts_with(copies), "{}", pinned.what);
    let allocator = of("allocator").unwrap();
    let calls = "50 calls allocate 1.13 GiB of device memory";
    assert!(allocator.what.starts_with(calls), "{}", allocator.what);
    // XLA holds three quarters of the device and fills a table of it on the host. Without
    // that the same program was 1.8 s faster (docs/results/h200/start-allocator-jax.json).
    let (report, _) = kept("jax");
    let allocator = report
        .remedies
        .iter()
        .find(|remedy| remedy.id.as_str() == "allocator");
    let saving = allocator.unwrap().saving;
    assert!((1.2..2.4).contains(&saving), "{saving}");
}

/// Recorded with `preheat run --starts 1 -- python3 NAME.py` in `examples/audit/gpu`: programs
/// that were reported wrongly at first.
#[test]
fn programs_whose_iterations_were_not_found_at_first() {
    // The compiler autotunes while it compiles, a request calls the model for each token, and a
    // gradient scaler leaves out the first step.
    for (name, iteration) in [
        (
            "jax-steps",
            "runs of jit_step, compiled by XLA, as timed at",
        ),
        ("generate", "calls of GPT2LMHeadModel.generate, as timed at"),
        ("mixed-precision", "steps of SGD, as timed at"),
    ] {
        let (report, timers) = kept(name);
        assert!(
            report.iteration.starts_with(iteration),
            "{}",
            report.iteration
        );
        explained(&report, &timers);
    }
}

#[test]
fn kernels_that_cudnn_compiles_cannot_be_kept() {
    let (report, _) = kept("mixed-precision");
    let compiled = item(&report, Cause::KernelCompilation, "nvrtcCompileProgram");
    assert!(compiled.seconds > 1.0, "{compiled:?}");
    let mut remedies = report.remedies.iter();
    let caches = remedies.find(|remedy| remedy.id.as_str() == "kept-caches");
    assert!(!caches.expect("it is explained").helps);
}
