//! `preheat run` on PyTorch programs that repeat themselves for long, with a scripted driver:
//! their iterations are recorded in detail at first, and in windows after that. Records are
//! counted; how long anything takes does not matter.

use std::fs;
use std::path::Path;
use std::process::Command;

use preheat_model::run::trace::{Iteration, Process, Span, SpanKind};
use preheat_model::run::{IterationsBy, RunReport};

mod support;
use support::{Directory, python_with, require};

/// A model whose call launches five kernels of the scripted driver, after a copy.
const MODEL: &str = "
import ctypes, torch
driver = ctypes.CDLL('libcuda.so.1')
handle = ctypes.c_uint64()
assert not driver.cuInit(0)
assert not driver.cuCtxCreate_v2(ctypes.byref(handle), 0, 0)
address = ctypes.c_uint64(0x700000000000)
buffer = ctypes.create_string_buffer(64)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
    def forward(self, x):
        driver.cuMemcpyHtoDAsync_v2(address, buffer, ctypes.c_size_t(64), None)
        for kernel in range(5):
            driver.cuLaunchKernel(0x2010 + 16 * kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None)
        return self.inner(x)

def something_new():
    assert not driver.cuModuleLoadData(ctypes.byref(handle), b'no image at all')

model = Net()
x = torch.ones(2, 4)
";

/// Records a program in `directory`; its report, and what its process recorded.
fn recorded(program: &str, flags: &[&str]) -> Option<(RunReport, Process)> {
    let python = python_with("torch")?;
    let gcc = Command::new("gcc").arg("--version").output().is_ok();
    require("gcc", gcc.then_some(()))?;
    let directory = Directory::new();
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shim/tests/libcuda/libcuda.c");
    let built = Command::new("gcc")
        .args(["-O1", "-w", "-shared", "-fPIC", "-pthread", "-o"])
        .arg(directory.join("libcuda.so.1"))
        .arg(&driver)
        .status();
    assert!(built.is_ok_and(|status| status.success()));
    fs::write(directory.join("program.py"), format!("{MODEL}{program}")).unwrap();
    let libraries = ("LD_LIBRARY_PATH", directory.path().display().to_string());
    let command = [python.as_os_str(), "program.py".as_ref()];
    let mut all = vec!["--starts", "1"];
    all.extend(flags);
    let report = support::recorded(&directory, &all, command, &[libraries]);
    let recording = preheat_trace::read(&directory.join("recording")).unwrap();
    let mut start = recording.starts.into_iter().next().unwrap();
    assert_eq!(start.problems, [""; 0]);
    let with_calls = |process: &Process| process.symbols.len() > 3;
    let at = start.processes.iter().position(with_calls).unwrap();
    Some((report, start.processes.swap_remove(at)))
}

fn spans(process: &Process, what: SpanKind) -> Vec<&Span> {
    let spans = process.threads.iter().flat_map(|thread| &thread.spans);
    let mut found: Vec<&Span> = spans.filter(|span| span.what == what).collect();
    found.sort_by_key(|span| span.begin);
    found
}

/// The number of spans of a kind in each of these intervals.
fn in_each(process: &Process, what: SpanKind, intervals: &[(u64, u64)]) -> Vec<usize> {
    let all = spans(process, what);
    let count = |(begin, end): &(u64, u64)| {
        let before = |time: u64| all.partition_point(|span| span.begin < time);
        before(*end) - before(*begin)
    };
    intervals.iter().map(count).collect()
}

#[test]
fn inference_is_recorded_in_windows_and_a_late_slow_call_is_explained() {
    let Some((report, process)) = recorded(
        "
with torch.no_grad():
    for call in range(260):
        if call == 200:
            something_new()
        model(x)
        driver.cuStreamSynchronize(None)
",
        &[],
    ) else {
        return;
    };
    assert_eq!(report.iterations_by, IterationsBy::Python);
    assert_eq!(report.starts[0].iterations.len(), 260);
    let calls: Vec<(u64, u64)> = (spans(&process, SpanKind::Iteration(Iteration::ModelCall))
        .iter())
    .map(|call| (call.begin, call.end))
    .collect();
    let launches = in_each(&process, SpanKind::Launch, &calls);
    let copies = in_each(&process, SpanKind::Copy, &calls);
    let detailed: Vec<usize> = (0..260)
        .filter(|at| process.is_in_detail(calls[*at]))
        .collect();
    let expected = (0..64).chain(88..96).chain(152..160);
    // A load before call 200 opens a window there.
    let expected: Vec<usize> = expected.chain(200..208).collect();
    assert_eq!(detailed, expected);
    for call in 0..260 {
        let whole = detailed.contains(&call);
        let records = (launches[call], copies[call]);
        assert_eq!(records, if whole { (5, 1) } else { (0, 0) }, "{call}");
    }
    // The cause of the late slow iteration is recorded, in a window or not.
    let loaded = spans(&process, SpanKind::Module);
    assert_eq!(loaded.len(), 1);
    assert!(calls[199].1 <= loaded[0].begin && loaded[0].end <= calls[200].0);
    // So are the waits, by which iterations end.
    let borders: Vec<(u64, u64)> = (calls.windows(2).map(|pair| (pair[0].1, pair[1].0))).collect();
    let waits = spans(&process, SpanKind::Call);
    let synchronize = |span: &&&Span| process.symbol(span) == "cuStreamSynchronize";
    assert_eq!(waits.iter().filter(synchronize).count(), 260);
    assert_eq!(in_each(&process, SpanKind::Call, &borders), [1; 259]);
    let note = "All 260 iterations are timed, and 88";
    assert!(
        report.notes.iter().any(|text| text.starts_with(note)),
        "{:?}",
        report.notes
    );
}

#[test]
fn everything_before_the_first_step_is_recorded_in_detail() {
    let Some((report, process)) = recorded(
        "
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
with torch.no_grad():
    for call in range(100):
        model(x)
for step in range(100):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
",
        &[],
    ) else {
        return;
    };
    assert!(report.iteration.contains("SGD"), "{}", report.iteration);
    let steps = spans(&process, SpanKind::Iteration(Iteration::OptimizerStep));
    assert_eq!(steps.len(), 100);
    // From the end of one to that of the next.
    let iterations: Vec<(u64, u64)> = (steps.windows(2))
        .map(|pair| (pair[0].end, pair[1].end))
        .collect();
    let before = [(0, steps[0].end)];
    assert_eq!(in_each(&process, SpanKind::Launch, &before), [505]);
    let launches = in_each(&process, SpanKind::Launch, &iterations);
    let whole = |from: usize, to: usize, count: usize| {
        assert!(
            launches[from..to].iter().all(|found| *found == count),
            "{from}..{to}: {launches:?}"
        );
        let detailed = |at: &(u64, u64)| process.is_in_detail(*at) == (count > 0);
        assert!(iterations[from..to].iter().all(detailed), "{from}..{to}");
    };
    whole(0, 63, 5);
    whole(63, 87, 0);
    whole(87, 95, 5);
    whole(95, 99, 0);
}

#[test]
fn all_kernels_are_recorded_with_iterations_kernels() {
    let Some((report, process)) = recorded(
        "
with torch.no_grad():
    for call in range(150):
        model(x)
",
        &["--iterations", "kernels"],
    ) else {
        return;
    };
    assert_eq!(report.iterations_by, IterationsBy::Kernels);
    assert_eq!(spans(&process, SpanKind::Launch).len(), 750);
    assert!(process.sparse.is_empty());
    assert_eq!(report.starts[0].iterations.len(), 150);
}
