//! `preheat run` on real frameworks, on the CPU.

use std::fs;
use std::path::Path;

use preheat_model::run::{Cause, IterationsBy, RunReport};

mod support;
use support::{Directory, python_with};

fn recorded(python: &Path, script: &str, flags: &[&str]) -> RunReport {
    let directory = Directory::new();
    fs::write(directory.join("program.py"), script).unwrap();
    let command = [python.as_os_str(), "program.py".as_ref()];
    support::recorded(&directory, flags, command, &[])
}

fn share(report: &RunReport, cause: Cause) -> f64 {
    let found = report.causes.iter().find(|found| found.cause == cause);
    found.map_or(0.0, |found| found.share)
}

#[test]
fn pytorch_trains_and_its_steps_are_the_iterations() {
    let Some(python) = python_with("torch") else {
        return;
    };
    let report = recorded(
        &python,
        "
import time, torch
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
# Only the first forward pass takes this long.
slow = model.register_forward_pre_hook(lambda *_: (time.sleep(0.25), slow.remove())[1])
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
for _ in range(40):
    optimizer.zero_grad()
    model(torch.randn(16, 64)).square().mean().backward()
    optimizer.step()
    scheduler.step()
# Once the steps are known to be what repeats, modules have their own call again.
assert not hasattr(torch.nn.Module.__call__, '__wrapped__')
",
        &["--starts", "4"],
    );
    assert_eq!(report.iterations_by, IterationsBy::Python);
    assert!(report.iteration.contains("SGD"), "{}", report.iteration);
    assert_eq!(report.starts.len(), 4);
    assert!(
        report
            .starts
            .iter()
            .all(|start| start.iterations.len() == 40)
    );
    let firsts = report.starts.iter().map(|start| start.iterations[0]);
    assert!(firsts.into_iter().all(|first| first >= 0.25));
    assert!(report.time_to_first.low.is_some());
    let loading = share(&report, Cause::PythonImports) + share(&report, Cause::LibraryLoading);
    assert!(loading > 0.5, "{loading}");
    assert!(share(&report, Cause::Unexplained) <= 0.05);
    let imports = &report
        .causes
        .iter()
        .find(|c| c.cause == Cause::PythonImports);
    let items = &imports.unwrap().items;
    assert!(items.iter().any(|item| item.name.starts_with("torch")));
    assert!(
        report
            .remedies
            .iter()
            .any(|remedy| remedy.id.as_str() == "warm-parent")
    );
}

#[test]
fn an_optimizers_first_iteration_is_its_own_whatever_stepped_before() {
    let Some(python) = python_with("torch") else {
        return;
    };
    let report = recorded(
        &python,
        "
import time, torch
def trains(optimizer_of, count, slow):
    model = torch.nn.Linear(8, 8)
    model.register_forward_pre_hook(lambda *_: time.sleep(slow))
    optimizer = optimizer_of(model.parameters(), lr=0.01)
    for _ in range(count):
        optimizer.zero_grad()
        model(torch.ones(4, 8)).square().mean().backward()
        optimizer.step()
        slow = 0
trains(torch.optim.SGD, 12, 2)
trains(torch.optim.Adam, 30, 0.25)
assert not hasattr(torch.nn.Module.__call__, '__wrapped__')
",
        &["--starts", "1"],
    );
    assert!(report.iteration.contains("Adam"), "{}", report.iteration);
    let first = report.starts[0].iterations[0];
    // Its own slow first call, and nothing of what the other did: that lies before it.
    assert!(first >= 0.25, "{first}");
    let before = report.time_to_first.value - first;
    assert!(before >= 2.0, "{before}");
}

#[test]
fn pytorch_infers_and_its_outermost_calls_are_the_iterations() {
    let Some(python) = python_with("torch") else {
        return;
    };
    let report = recorded(
        &python,
        "
import torch
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
with torch.no_grad():
    for _ in range(25):
        model(torch.randn(16, 64))
",
        &["--starts", "1"],
    );
    assert_eq!(report.iterations_by, IterationsBy::Python);
    assert!(
        report.iteration.contains("Sequential"),
        "{}",
        report.iteration
    );
    assert_eq!(report.starts[0].iterations.len(), 25);
}

#[test]
fn keras_trains_and_predicts() {
    let Some(python) = python_with("tensorflow") else {
        return;
    };
    let report = recorded(
        &python,
        "
import os
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import numpy, keras
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
model.compile('sgd', 'mse')
model.fit(numpy.ones((96, 8)), numpy.ones((96, 4)), batch_size=8, verbose=0)
",
        &["--starts", "1"],
    );
    assert_eq!(report.iterations_by, IterationsBy::Python);
    assert_eq!(report.starts[0].iterations.len(), 12);
    assert!(report.ratio.unwrap().value > 1.0);
}

#[test]
fn the_kernel_of_a_notebook_is_followed() {
    let Some(python) = python_with("nbclient") else {
        return;
    };
    let directory = Directory::new();
    let script = "
import nbclient, nbformat
cell = nbformat.v4.new_code_cell('import colorsys; print(colorsys.__name__, sum(range(10)))')
notebook = nbformat.v4.new_notebook(cells=[cell])
nbclient.NotebookClient(notebook, kernel_name='python3').execute()
assert cell.outputs[0].text == 'colorsys 45\\n', cell.outputs
";
    fs::write(directory.join("program.py"), script).unwrap();
    let command = [python.as_os_str(), "program.py".as_ref()];
    support::recorded(&directory, &["--starts", "1"], command, &[]);
    let recording = preheat_trace::read(&directory.join("recording")).unwrap();
    let of_cell = |process: &&preheat_model::run::trace::Process| {
        let mut imports = process.imports.iter();
        imports.any(|import| import.name == "colorsys")
    };
    let processes = &recording.starts[0].processes;
    assert_eq!(processes.iter().filter(of_cell).count(), 1);
    assert!(processes.len() > 1);
}

#[test]
fn numba_compiles_and_its_functions_are_named() {
    let Some(python) = python_with("numba") else {
        return;
    };
    let report = recorded(
        &python,
        "
import time
from numba import njit

@njit
def total(count):
    sum = 0
    for number in range(count):
        sum += number * number
    return sum

for _ in range(5):
    began = time.perf_counter()
    total(1000)
    print(time.perf_counter() - began)
",
        &["--starts", "1"],
    );
    let compilation = report
        .causes
        .iter()
        .find(|found| found.cause == Cause::KernelCompilation)
        .expect("Numba compiles");
    let item = compilation.items.iter().find(|item| item.name == "total");
    let item = item.unwrap_or_else(|| panic!("{:?}", compilation.items));
    assert_eq!(item.detail, "compiled by Numba");
    let kept = report
        .remedies
        .iter()
        .find(|of| of.id.as_str() == "kept-caches");
    assert!(
        kept.is_some_and(|kept| kept.what.contains("cache=True")),
        "{kept:?}"
    );
}

/// A gradient scaler leaves out the step after an infinite gradient, usually the first one.
#[test]
fn steps_that_a_gradient_scaler_leaves_out_are_iterations() {
    let Some(python) = support::python_with_torch_2() else {
        return;
    };
    let report = recorded(
        &python,
        "
import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler('cpu', init_scale=2.0**126, backoff_factor=1e-30)
left_out = 0
for _ in range(6):
    optimizer.zero_grad()
    scaler.scale(model(torch.ones(2, 4)).square().sum() * 1000).backward()
    scale = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    left_out += scaler.get_scale() < scale
assert left_out == 1, left_out
",
        &["--starts", "1"],
    );
    assert_eq!(report.iteration, "steps of SGD");
    assert_eq!(report.starts[0].iterations.len(), 6);
}
