//! torch.compile by phase, on the CPU: with the PyTorch 2 of the tests, and from a kept recording
//! of PyTorch 2.8.

use std::fs;

use preheat_model::run::{Cause, RunReport};

mod support;
use support::{Directory, preheat, python_with_torch_2, recorded, run, unpack};

const PROGRAM: &str = "import torch
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
step = torch.compile(model)
for _ in range(4):
    step(torch.ones(4, 64)).sum().backward()
";

/// `PROGRAM` with empty caches.
fn live() -> Option<RunReport> {
    let python = python_with_torch_2()?;
    let directory = Directory::new();
    fs::write(directory.join("program.py"), PROGRAM).expect("it is written");
    let caches = directory.join("caches").display().to_string();
    Some(recorded(
        &directory,
        &["--starts", "1"],
        [python.as_os_str(), "program.py".as_ref()],
        &[("TORCHINDUCTOR_CACHE_DIR", caches)],
    ))
}

/// `PROGRAM`, as it was recorded with PyTorch 2.8.
fn kept() -> RunReport {
    let directory = Directory::new();
    unpack(&directory, "torch-compile-cpu");
    let said = run(preheat().current_dir(directory.path()).args([
        "report",
        "torch-compile-cpu",
        "--json",
        "run.json",
    ]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = fs::read_to_string(directory.join("run.json")).expect("the report");
    serde_json::from_str(&text).expect("it is a report")
}

#[test]
fn its_phases_and_its_children_are_separate_items() {
    [Some(kept()), live()]
        .into_iter()
        .flatten()
        .for_each(|report| are_separate(&report));
}

fn are_separate(report: &RunReport) {
    let mut causes = report.causes.iter();
    let compiled = causes
        .find(|cause| cause.cause == Cause::KernelCompilation)
        .expect("it compiles");
    let names: Vec<&str> = compiled.items.iter().map(|item| &*item.name).collect();
    for phase in ["tracing", "lowering", "code generation", "caches"] {
        let name = format!("torch.compile: {phase}");
        assert!(names.contains(&&*name), "{name} is not in {names:?}");
    }
    // The check whether a compiled library loads imports torch in a process for itself.
    let imports = names
        .iter()
        .any(|name| name.ends_with(" -c, imports torch"));
    assert!(imports, "{names:?}");
    // Its hooks are missing, but its time is accounted for.
    let notes = report.notes.join("\n");
    assert!(!notes.contains("are not recorded"), "{notes}");
    let compilers = names.iter().any(|name| name.contains("g++"));
    assert!(compilers, "{names:?}");
    // Little is left that has no phase, and nothing is counted twice.
    let whole = compiled
        .items
        .iter()
        .find(|item| item.name == "torch.compile");
    let whole = whole.map_or(0.0, |item| item.seconds);
    assert!(
        whole < 0.05 * compiled.seconds,
        "{whole} of {}",
        compiled.seconds
    );
    let sum: f64 = compiled.items.iter().map(|item| item.seconds).sum();
    assert!((sum / compiled.seconds - 1.0).abs() < 1e-6 || compiled.items_in_all > 20);
}
