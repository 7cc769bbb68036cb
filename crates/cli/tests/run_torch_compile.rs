//! torch.compile by phase, on a kept recording of PyTorch 2.8 on a CPU: no other PyTorch need
//! be installed.
//!
//! Made with `preheat run --starts 1 -- python3 program.py` and empty caches, where
//! program.py is
//!
//! ```python
//! import torch
//! model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
//! step = torch.compile(model)
//! for _ in range(4):
//!     step(torch.ones(4, 64)).sum().backward()
//! ```

use std::fs;

use preheat_model::run::{Cause, RunReport};

mod support;
use support::{Directory, preheat, run, unpack};

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
    let report = kept();
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
