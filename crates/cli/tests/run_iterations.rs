//! Finding the iterations of real programs: by lines of output and by calls.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use preheat_model::run::{Cause, IterationUnit, IterationsBy, RegionReport, RunReport};

mod support;
use support::{Directory, preheat, require, run};

/// Records a script of this interpreter.
fn recorded(interpreter: &Path, script: &str, flags: &[&str]) -> RunReport {
    let directory = Directory::new();
    fs::write(directory.join("program"), script).expect("it is written");
    let command = [interpreter.as_os_str(), OsStr::new("program")];
    support::recorded(&directory, flags, command, &[])
}

#[test]
fn every_line_counts_however_fast_it_comes() {
    for (name, script) in [
        // All in one piece.
        ("seq", "seq -f 'step %g' 1000"),
        (
            "one at a time",
            "i=0; while [ $i -lt 1000 ]; do echo step $i; i=$((i+1)); done",
        ),
    ] {
        let flags = ["--starts", "1", "--iterations", "lines:^step"];
        let report = recorded(Path::new("/bin/sh"), script, &flags);
        let iterations = &report.starts[0].iterations;
        assert_eq!(iterations.len(), 1000, "{name}");
        assert!(iterations.iter().all(|time| *time > 0.0), "{name}");
        let together = report.notes.iter().any(|note| note.contains("together"));
        assert!(together || name != "seq", "{:?}", report.notes);
    }
}

#[test]
fn lines_have_the_times_of_the_program_on_a_busy_machine() {
    // SAFETY: geteuid takes nothing and cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    let Some(python) = require("python", support::python()) else {
        return;
    };
    // Other users may not run before others.
    if require("root", root.then_some(())).is_none() {
        return;
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut busy: Vec<_> = (0..4 * processors)
        .map(|_| {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", "while :; do :; done"]);
            shell.spawn().expect("it starts")
        })
        .collect();
    let script = "
import time
times = []
for i in range(41):
    before = time.monotonic()
    print('begin', flush=True)
    began = time.monotonic()
    while time.monotonic() < began + 0.004: pass
    ended = time.monotonic()
    print('end', flush=True)
    times.append((ended - began, time.monotonic() - before))
    time.sleep(0.01)
for time in times: print('own', *time)
";
    let directory = Directory::new();
    let said = run(preheat()
        .current_dir(directory.path())
        .args(["run", "--starts", "1", "--json", "run.json"])
        .args(["--iterations", "lines:^begin=>^end", "--"])
        .args([python.as_os_str(), OsStr::new("-c"), OsStr::new(script)]));
    for shell in &mut busy {
        shell.kill().expect("it ends");
        shell.wait().expect("it ends");
    }
    let text = fs::read_to_string(directory.join("run.json")).expect("it is written");
    let report: RunReport = serde_json::from_str(&text).expect("it is a report");
    let lines = &report.starts[0].iterations;
    let own = said
        .out
        .lines()
        .filter_map(|line| line.strip_prefix("own "));
    let own = own.map(|times| times.split_once(' ').expect("two times"));
    let own: Vec<(f64, f64)> = own
        .map(|(least, most)| {
            (
                least.parse().expect("a time"),
                most.parse().expect("a time"),
            )
        })
        .collect();
    assert_eq!((own.len(), lines.len()), (41, 41), "{}", said.err);
    // A line is read while the program writes it, or at once after that.
    let right =
        |(time, (least, most)): &(&f64, &(f64, f64))| *least * 0.9 < **time && **time < *most * 1.1;
    let right = lines.iter().zip(&own).filter(right).count();
    assert!(right > 30, "{right}: {lines:?}, {own:?}");
}

#[test]
fn lines_of_standard_error_can_begin_iterations() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let script = "
import sys, time
time.sleep(0.3)  # set-up
for number in range(6):
    print('begin', file=sys.stderr, flush=True)
    time.sleep(0.01)
    print('step', number, file=sys.stderr, flush=True)
";
    let first = |iterations: &str| {
        let report = recorded(
            &python,
            script,
            &["--starts", "1", "--iterations", iterations],
        );
        assert_eq!(report.iterations_by, IterationsBy::Lines);
        let iterations = &report.starts[0].iterations;
        assert_eq!(iterations.len(), 6);
        let time = report.time_to_first.value;
        (iterations[0], time - iterations[0])
    };
    // Without a line that begins it, the first iteration has the set-up in it; with one the
    // set-up comes before it.
    let (whole, _) = first("lines:^step");
    assert!(whole >= 0.3, "{whole}");
    let (_, before) = first("lines:^begin=>^step");
    assert!(before >= 0.3, "{before}");
}

#[test]
fn of_threads_and_processes_that_iterate_the_earliest_first_result_counts() {
    let Some(python) = support::python_with("torch") else {
        return;
    };
    let script = "
import os, threading, time, torch
model = torch.nn.Linear(8, 8)
def calls(count):
    with torch.no_grad():
        for _ in range(count):
            model(torch.ones(2, 8))
child = os.fork()
calls(6)
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
late = threading.Thread(target=calls, args=(20,))
late.start()
late.join()
";
    let report = recorded(&python, script, &["--starts", "1"]);
    assert_eq!(report.iterations_by, IterationsBy::Python);
    // The thread with the most calls comes last; the two others are as good as at once.
    assert_eq!(report.starts[0].iterations.len(), 6);
    let counts: Vec<usize> = (report.other_threads.iter())
        .map(|other| other.iterations)
        .collect();
    assert_eq!(counts, [6, 20]);
    let ends = report.other_threads.iter().map(|other| other.time_to_first);
    assert!(
        ends.into_iter()
            .all(|end| end >= report.time_to_first.value)
    );
    let note = report.notes.iter().find(|note| note.contains("iterate"));
    let note = note.expect("it is said");
    assert!(note.starts_with("3 threads of 2 processes"), "{note}");
    // By how much they came later: the report's times are means over the starts.
    assert_eq!(note.matches(" later (").count(), 2, "{note}");
}

/// A matrix product, as an ONNX model of 4 × 8 numbers.
const MODEL: &str = "08093acf020a110a01780a017712017922064d61744d756c1201672a8c020808080810012280020000803f00000000000000000000000000000000000000000000000000000000000000000000803f00000000000000000000000000000000000000000000000000000000000000000000803f00000000000000000000000000000000000000000000000000000000000000000000803f00000000000000000000000000000000000000000000000000000000000000000000803f00000000000000000000000000000000000000000000000000000000000000000000803f00000000000000000000000000000000000000000000000000000000000000000000803f00000000000000000000000000000000000000000000000000000000000000000000803f4201775a130a0178120e0a0c080112080a0208040a02080862130a0179120e0a0c080112080a0208040a02080842040a001011";

/// Scripts, the module that each needs, its iterations and how many there are.
#[test]
fn calls_of_two_models_are_not_a_first_and_a_second() {
    let iteration = |python: &Path, calls: &str| {
        let script = format!(
            "import torch\nNet = torch.nn.Linear\nx = torch.ones(2, 8)\na, b = Net(8, 8), Net(8, 8)\n{calls}"
        );
        let report = recorded(python, &script, &["--starts", "1"]);
        let numbers = report.starts[0].iterations.len();
        // Different models are listed, and not compared.
        let calls = (report.regions.iter())
            .filter(|region| region.name.starts_with("call of "))
            .inspect(|call| assert_eq!((call.count, call.second), (1, None)));
        let different = calls.count();
        if different > 0 {
            assert!(report.first.is_some());
            assert_eq!((report.steady, report.ratio), (None, None));
            assert_eq!((report.second, report.first_to_second), (None, None));
            assert_eq!((report.class, different), (None, numbers));
        }
        (report.iteration, numbers)
    };
    for python in support::pythons_with_torch() {
        let of = |calls: &str| iteration(&python, calls);
        assert_eq!(
            of("a(x); b(x)\n"),
            ("calls of different models".to_owned(), 2)
        );
        let ensemble = "for m in [Net(8, 8) for _ in range(6)]: m(x)\n";
        assert_eq!(of(ensemble), ("calls of different models".to_owned(), 6));
        let once = "Linear was called once; nothing repeats";
        assert_eq!(of("a(x)\n"), (once.to_owned(), 0));
        assert_eq!(of("a(x); a(x)\n"), ("calls of Linear".to_owned(), 2));
        let pairs = "for _ in range(3): a(x); b(x)\n";
        assert_eq!(of(pairs), ("calls of Linear".to_owned(), 3));
        let second = "a(x)\nfor _ in range(4): b(x)\n";
        assert_eq!(of(second), ("calls of Linear #2".to_owned(), 4));
        // A new model each time.
        let new = "for _ in range(4): Net(8, 8)(x)\n";
        assert_eq!(of(new), ("calls of Linear".to_owned(), 4));
    }
}

/// A program without a clock, a module or an optimizer.
#[test]
fn backward_passes_of_tensors_are_iterations_if_nothing_better_repeats() {
    for python in support::pythons_with_torch() {
        let of = |text: &str| {
            let script = format!(
                "import torch\nx = torch.ones(8, 8, requires_grad=True)\nmodel = torch.nn.Linear(8, 8)\n{text}"
            );
            let report = recorded(&python, &script, &["--starts", "1"]);
            (report.starts[0].iterations.len(), report)
        };
        let (count, report) = of("for _ in range(2): (x @ x).sum().backward()\n");
        assert_eq!((&*report.iteration, count), ("calls of backward", 2));
        assert_eq!(report.unit, Some(IterationUnit::FunctionCall));
        assert!(report.second.is_some() && report.first_to_second.is_some());
        let (count, report) = of("for _ in range(2): model(x).sum().backward()\n");
        assert_eq!((&*report.iteration, count), ("calls of Linear", 2));
        let steps = "optimizer = torch.optim.SGD([x], lr=0.1)\n\
                     for _ in range(2):\n    (x @ x).sum().backward()\n    optimizer.step()\n\
                     assert not hasattr(torch.Tensor.backward, '__wrapped__')\n";
        let (count, report) = of(steps);
        assert_eq!((&*report.iteration, count), ("steps of SGD", 2));
        let (_, report) = of("(x @ x).sum().backward()\n");
        assert_eq!(
            report.iteration,
            "backward was called once; nothing repeats"
        );
        let note = "backward was called once; nothing repeats, so the time to first extends";
        assert!(report.notes.iter().any(|one| one.starts_with(note)));
    }
}

#[test]
fn threads_that_repeat_one_after_the_other_have_a_first_and_a_second() {
    let script = |job: &str| {
        format!(
            "import threading, torch
x = torch.ones(2, 8)
m = torch.nn.Linear(8, 8)
o = torch.optim.SGD(m.parameters(), 0.1)
both = threading.Barrier(2)
def call():
    m(x)
def step():
    m(x).sum().backward(); o.step()
def follow(job):
    for _ in range(2):
        t = threading.Thread(target=job); t.start(); t.join()
def together():
    # Each call waits for the other one in a hook of the model.
    m.register_forward_pre_hook(lambda *_: both.wait(60) and None)
    all = [threading.Thread(target=call) for _ in range(2)]
    [t.start() for t in all]; [t.join() for t in all]
{job}
"
        )
    };
    for python in support::pythons_with_torch() {
        let of = |job: &str| recorded(&python, &script(job), &["--starts", "1"]);
        for (job, iteration) in [
            ("follow(call)", "calls of Linear"),
            ("follow(step)", "steps of SGD"),
        ] {
            let report = of(job);
            assert_eq!(report.iteration, iteration);
            assert_eq!(report.starts[0].iterations.len(), 2);
            assert!(report.second.is_some() && report.first_to_second.is_some());
            assert!(report.other_threads.is_empty());
        }
        // Two at once are not a first and a second, but a repetition.
        let report = of("together()");
        assert_eq!(report.iteration, "calls of Linear");
        assert_eq!(
            (report.starts[0].iterations.len(), report.second),
            (1, None)
        );
        assert_eq!(report.other_threads.len(), 1);
    }
}

#[test]
fn steps_and_timed_regions_around_calls_are_the_iterations() {
    let program = |each: &str, after: &str| {
        format!(
            "import time, torch
from torch import nn
x = torch.ones(2, 8)
m, d = nn.Linear(8, 8), nn.Linear(8, 8)
o = torch.optim.SGD(m.parameters(), 0.1)
p = torch.optim.SGD(d.parameters(), 0.1)
for _ in range(2):
{each}
{after}"
        )
    };
    let timed = |work: &str| format!("    t = time.time()\n{work}\n    print(time.time() - t)");
    let accumulate = "    for _ in range(4): m(x).sum().backward()\n    o.step()";
    let gan = "    f = m(x)
    d(f.detach()).mean().backward(); p.step()
    d(f).mean().backward(); o.step()";
    let infer = "    for _ in range(4): m(x)";
    for python in support::pythons_with_torch() {
        let of = |each: &str, after: &str| {
            let report = recorded(&python, &program(each, after), &["--starts", "1"]);
            (report.iteration, report.starts[0].iterations.len())
        };
        assert_eq!(of(accumulate, ""), ("steps of SGD".to_owned(), 2));
        let (iteration, count) = of(&timed(accumulate), "");
        assert!(
            iteration.starts_with("steps of SGD, as timed at"),
            "{iteration}"
        );
        assert_eq!(count, 2);
        let (iteration, count) = of(&timed(gan), "");
        let gan_steps = "steps of SGD #2, as timed at";
        assert!(iteration.starts_with(gan_steps), "{iteration}");
        assert_eq!(count, 2);
        let (iteration, count) = of(&timed(infer), "");
        assert!(iteration.ends_with(", timed by the program"), "{iteration}");
        assert_eq!(count, 2);
        // Most calls are elsewhere.
        let later = "for _ in range(100): m(x)\n";
        assert_eq!(of(accumulate, later), ("calls of Linear".to_owned(), 108));
        assert_eq!(of(&timed(infer), later).1, 108);
        // Many calls in each region have a steady state.
        let epochs = "    for _ in range(40): m(x)";
        assert_eq!(of(&timed(epochs), ""), ("calls of Linear".to_owned(), 80));
    }
}

#[test]
fn a_first_step_without_a_begin_is_not_compared() {
    let work = "loss = ((x @ w) ** 2).sum(); loss.backward(); o.step(); o.zero_grad()";
    let script = |body: &str| {
        format!(
            "import time, torch
w = torch.zeros(200, 200, requires_grad=True)
x = torch.randn(200, 200)
o = torch.optim.SGD([w], lr=0.1)
{body}"
        )
    };
    for python in support::pythons_with_torch() {
        let of = |body: &str| recorded(&python, &script(body), &["--starts", "1"]);
        // Neither a model call nor a timer shows where the first iteration begins.
        for count in [2, 20] {
            let report = of(&format!("for _ in range({count}): {work}\n"));
            assert_eq!(report.iteration, "steps of SGD");
            assert_eq!(report.starts[0].iterations.len(), count);
            assert!(!report.compares_first());
            assert_eq!((report.first, report.ratio), (None, None));
            assert_eq!((report.first_to_second, report.class), (None, None));
            assert!(report.second.is_some());
            assert!(
                !report
                    .remedies
                    .iter()
                    .any(|remedy| remedy.id.as_str() == "warm-up")
            );
            // It has all of its work, and perhaps more.
            for start in &report.starts {
                assert!(start.iterations[0] > 0.1 * start.iterations[1], "{start:?}");
            }
        }
        // More steps than the timed region could replace.
        let timed = format!(
            "for _ in range(20):\n    t = time.time()\n    {work}\n    print(time.time() - t)\n"
        );
        let report = recorded(&python, &script(&timed), &["--starts", "3"]);
        assert!(report.compares_first() && report.first.is_some());
        // Between a step and the end of its region, the process may wait for a processor.
        let firsts = report.starts.iter().map(|start| start.iterations[0]);
        let shares = (firsts.zip(&report.regions[0].firsts))
            .filter_map(|(first, region)| Some(first / (*region)?));
        let largest = shares.fold(0.0, f64::max);
        assert!(0.95 < largest && largest < 1.001, "{report:?}");
        // A closure does all work within the step.
        let closure = "def closure():
    o.zero_grad()
    loss = ((x @ w) ** 2).sum()
    loss.backward()
    return loss
for _ in range(4): o.step(closure)
";
        let report = of(closure);
        assert!(report.compares_first() && report.first.is_some());
    }
}

#[test]
fn unlike_regions_of_one_line_are_not_iterations() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let report = |second: &str| {
        let region = |work: &str| format!("t = time.time(); {work}; print(time.time() - t)");
        let program = format!("import time; {}; {}", region("sum([1])"), region(second));
        let directory = Directory::new();
        let command = [python.as_os_str(), OsStr::new("-c"), OsStr::new(&program)];
        support::recorded(&directory, &["--starts", "1"], command, &[])
    };
    let counts = |second: &str| -> Vec<usize> {
        let regions = report(second).regions;
        regions.iter().map(|region| region.count).collect()
    };
    let repetition = |second: &str| -> Vec<Option<usize>> {
        let regions = report(second).regions;
        let position = |region: &RegionReport| region.repeats.as_ref().map(|one| one.position);
        regions.iter().map(position).collect()
    };
    assert_eq!(counts("sorted([1])"), [1, 1]);
    assert_eq!(counts("sum([1])"), [2]);
    // A region of other work between them does not hide the repetition.
    let other = "sorted([1]); print(time.time() - t); t = time.time(); sum([1])";
    assert_eq!(counts(other), [1, 1, 1]);
    assert_eq!(repetition(other), [None, None, Some(2)]);
}

fn libraries() -> Vec<(&'static str, &'static str, usize, String)> {
    let session = format!(
        "
import numpy, onnxruntime
session = onnxruntime.InferenceSession(bytes.fromhex('{MODEL}'))
for _ in range(10):
    session.run(None, {{'x': numpy.ones((4, 8), 'f')}})
"
    );
    let own = |text: &str| text.to_owned();
    vec![
        ("onnxruntime", "calls of InferenceSession.run", 10, session),
        (
            "sklearn",
            // Scaling and trees are called within it.
            "calls of Pipeline.predict",
            12,
            own("
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
x, y = make_classification(200, 10, random_state=0)
model = make_pipeline(StandardScaler(), RandomForestClassifier(10))
model.fit(x, y)
for _ in range(12):
    model.predict(x)
"),
        ),
        (
            "sklearn",
            // The search is called once: what it calls repeats.
            "calls of LogisticRegression.fit",
            16,
            own("
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
x, y = make_classification(200, 10, random_state=0)
GridSearchCV(LogisticRegression(), {'C': [1, 2, 3]}, cv=5).fit(x, y)
"),
        ),
        (
            "tensorflow",
            "calls of step",
            9,
            own("
import tensorflow as tf
@tf.function
def step(x):
    return tf.reduce_sum(x * x)
for _ in range(9):
    step(tf.ones((8, 8)))
"),
        ),
        (
            "jax",
            "calls of step, compiled by JAX; each until the next one",
            11,
            own("
import jax, jax.numpy as jnp
def step(x):
    return jnp.sin(x) @ x
plain, step = step, jax.jit(step)
for _ in range(11):
    step(jnp.ones((64, 64))).block_until_ready()
# It is what it would be without the recorder.
assert type(step).__name__ == 'PjitFunction' and step.__wrapped__ is plain
assert step.lower(jnp.ones((2, 2))).compile() is not None
"),
        ),
    ]
}

#[test]
fn calls_of_libraries_are_iterations() {
    for (module, iteration, count, script) in libraries() {
        let Some(python) = support::python_with(module) else {
            continue;
        };
        let report = recorded(&python, &script, &["--starts", "1"]);
        assert_eq!(report.iteration, iteration);
        assert_eq!(report.starts[0].iterations.len(), count, "{iteration}");
        if module == "jax" {
            let compiled = Cause::KernelCompilation;
            let found = report.causes.iter().find(|found| found.cause == compiled);
            let items = &found.expect("XLA compiles on the CPU too").items;
            let step = items.iter().any(|item| item.name.contains("jit_step"));
            assert!(step, "{items:?}");
        }
    }
}

#[test]
fn a_function_that_is_named_is_the_iteration() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let directory = Directory::new();
    fs::write(
        directory.join("server.py"),
        "
import asyncio
class Server:
    def answer(self, n):
        return self.answer(n - 1) if n > 1 else n
    @staticmethod
    def ping():
        return 'pong'
async def handle():
    await asyncio.sleep(0.001)
",
    )
    .expect("it is written");
    fs::write(
        directory.join("program.py"),
        "
import asyncio, server
for _ in range(7):
    assert server.Server().answer(3) == 1
for _ in range(8):
    assert server.Server.ping() == 'pong'
for _ in range(9):
    asyncio.run(server.handle())
",
    )
    .expect("it is written");
    for (function, count) in [("Server.answer", 7), ("Server.ping", 8), ("handle", 9)] {
        let iterations = format!("call:server:{function}");
        let output = format!("recording-{count}");
        let flags = [
            "--starts",
            "1",
            "--iterations",
            &iterations,
            "--output",
            &output,
        ];
        let report = {
            let said = run(preheat()
                .current_dir(directory.path())
                .args(["run", "--json", "run.json"])
                .args(flags)
                .arg("--")
                .arg(&python)
                .arg("program.py"));
            assert_eq!(said.code, Some(0), "{}", said.err);
            let text = fs::read_to_string(directory.join("run.json")).expect("the JSON is there");
            serde_json::from_str::<RunReport>(&text).expect("it is a report")
        };
        assert_eq!(report.iteration, format!("calls of server:{function}"));
        assert_eq!(report.starts[0].iterations.len(), count);
    }
}

#[test]
fn a_function_of_the_script_itself_needs_a_newer_python() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let script = "
def step():
    return sum(range(1000))
for _ in range(5):
    step()
";
    let flags = ["--starts", "1", "--iterations", "call:__main__:step"];
    let report = recorded(&python, script, &flags);
    let said = |part: &str| report.notes.iter().any(|note| note.contains(part));
    match report.starts[0].iterations.len() {
        0 => assert!(said("needs Python 3.12"), "{:?}", report.notes),
        count => assert_eq!(count, 5),
    }
}

#[test]
fn the_first_iteration_has_the_start_of_the_data_loaders_workers() {
    let Some(python) = support::python_with("torch") else {
        return;
    };
    let script = "
import json, time, torch
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
times, last = [], time.perf_counter()
for batch, in DataLoader(TensorDataset(torch.ones(64, 8)), batch_size=8, num_workers=2):
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
    times.append(time.perf_counter() - last)
    last = time.perf_counter()
json.dump(times, open('times', 'w'))
";
    let directory = Directory::new();
    fs::write(directory.join("program"), script).expect("it is written");
    let command = [python.as_os_str(), OsStr::new("program")];
    let report = support::recorded(&directory, &["--starts", "1"], command, &[]);
    let text = fs::read_to_string(directory.join("times")).expect("they are there");
    let own: Vec<f64> = serde_json::from_str(&text).expect("they are numbers");
    let first = report.starts[0].iterations[0];
    assert_eq!(report.starts[0].iterations.len(), own.len());
    // Fetches alone are a part of it.
    assert!(
        (first / own[0] - 1.0).abs() < 0.1,
        "{first} against {}",
        own[0]
    );
}
