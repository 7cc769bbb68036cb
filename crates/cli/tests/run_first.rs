//! `preheat run` on the programs in examples/first, which repeat only twice: what it reports
//! of each timed region against what the program prints itself.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use preheat_model::compare::Verdict;
use preheat_model::run::trace::Clock;
use preheat_model::run::{Cause, IterationsBy, RegionReport, RemedyGroup, RunReport};

mod support;
use support::{Directory, compare, compared, preheat, python_with, require, run};

/// The programs print four decimals, the native ones seven.
const ROUNDING: f64 = 0.000_05;
/// The allowed difference: printing and recording take time between two readings.
const NEAR: f64 = 0.05;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/first")
        .join(name)
}

/// One recorded start: the report, and the seconds that the program printed.
fn recorded(directory: &Directory, command: &[&OsStr], flags: &[&str]) -> (RunReport, Vec<f64>) {
    let said = run(preheat()
        .current_dir(directory.path())
        .env("ELEMENTS", "4194304")
        .env("TF_CPP_MIN_LOG_LEVEL", "3")
        .env("POCL_CACHE_DIR", directory.join("cache"))
        .args([
            "run",
            "--starts",
            "1",
            "--json",
            "run.json",
            "--output",
            "recording",
        ])
        .args(flags)
        .arg("--")
        .args(command));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let printed = said.out.lines().filter_map(|line| {
        let seconds = line.strip_suffix(" s")?.rsplit_once(": ")?.1;
        seconds.parse().ok()
    });
    let text = fs::read_to_string(directory.join("run.json")).expect("the JSON is there");
    (
        serde_json::from_str(&text).expect("it is a report"),
        printed.collect(),
    )
}

/// The regions that the program times, without levels that preheat measures.
fn timed(report: &RunReport) -> impl Iterator<Item = &RegionReport> {
    let regions = report.regions.iter();
    regions.filter(|region| region.clock.is_some())
}

/// Every execution of the timed regions in the report, in order.
fn regions(report: &RunReport) -> Vec<f64> {
    let mut seconds = Vec::new();
    for region in timed(report) {
        seconds.push(region.first.value);
        seconds.extend(region.second.map(|second| second.value));
    }
    seconds
}

fn agree(report: &RunReport, printed: &[f64]) {
    let found = regions(report);
    assert_eq!(found.len(), printed.len(), "{found:?} and {printed:?}");
    for (found, printed) in found.iter().zip(printed) {
        let difference = (found - printed).abs();
        assert!(
            difference <= ROUNDING + NEAR * printed,
            "{found} and {printed}"
        );
    }
    for region in timed(report) {
        let sum: f64 = region.causes.iter().map(|part| part.seconds).sum();
        assert!((sum / region.first.value - 1.0).abs() < 1e-6, "{region:?}");
        assert!(region.name.contains(':'), "{}", region.name);
    }
    let unpaired = (report.notes.iter()).find(|note| note.contains("belong to no timed region"));
    assert_eq!(unpaired, None);
}

/// The first and the second iteration are those that the program times, and nothing else.
fn one_pair_of_numbers(report: &RunReport) {
    let timed = regions(report);
    let iterations = [report.first.unwrap(), report.second.unwrap().value];
    for (iteration, timed) in iterations.iter().zip(&timed) {
        let deviation = (iteration / timed - 1.0).abs();
        assert!(deviation < 0.01, "{iterations:?} and {timed}");
    }
    let ratio = report.first_to_second.unwrap().value;
    let (first, second) = (&report.regions[0], report.regions.last().unwrap());
    let timed = (first.ratio).or_else(|| second.repeats.as_ref()?.ratio);
    let timed = timed.expect("the regions have a ratio").value;
    assert!((ratio / timed - 1.0).abs() < 0.02, "{ratio} and {timed}");
}

/// The report of a Python program; everything that the program prints is in it.
fn python(module: &str, name: &str, flags: &[&str]) -> Option<RunReport> {
    let python = python_with(module)?;
    let directory = Directory::new();
    let program = example(name);
    let (report, printed) = recorded(&directory, &[python.as_ref(), program.as_ref()], flags);
    agree(&report, &printed);
    Some(report)
}

#[test]
fn two_allocations_in_a_row_are_two_regions() {
    for name in ["allocate.py", "pinned.py"] {
        let Some(report) = python("torch", name, &[]) else {
            return;
        };
        assert_eq!(report.iterations_by, IterationsBy::Timers);
        assert_eq!(report.regions.len(), 2, "{name}");
        assert!(report.regions.iter().all(|region| region.count == 1));
        // The second allocation is the first one again; a copy is something else.
        let second = report.second.map(|second| second.value);
        let expected = (name == "allocate.py").then(|| report.regions[1].first.value);
        assert_eq!(second.is_some(), expected.is_some(), "{}", report.iteration);
        if let Some((second, expected)) = second.zip(expected) {
            assert!(
                (second / expected - 1.0).abs() < NEAR,
                "{second} {expected}"
            );
        }
    }
}

/// Helpers that read the clock for the lines that use them.
const HELPERS: &str = "\
import contextlib, functools, time
def timed(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        start = time.perf_counter()
        result = function(*arguments)
        print(f'a decorator: {time.perf_counter() - start:.7f} s')
        return result
    return wrapper
class Timer:
    def __enter__(self):
        self.start = time.perf_counter()
    def __exit__(self, *_):
        print(f'a class: {time.perf_counter() - self.start:.7f} s')
@contextlib.contextmanager
def timer():
    start = time.perf_counter()
    yield
    print(f'a generator: {time.perf_counter() - start:.7f} s')
def tic():
    global began
    began = time.perf_counter()
def toc():
    print(f'two functions: {time.perf_counter() - began:.7f} s')
";

const USES: [&str; 4] = [
    "@timed\ndef step():\n    work()\nstep()\nstep()\n",
    "with Timer():\n    work()\nwith Timer():\n    work()\n",
    "with timer():\n    work()\nwith timer():\n    work()\n",
    "tic()\nwork()\ntoc()\ntic()\nwork()\ntoc()\n",
];

const WORK: &str = "cold = [0.01, 0.04]\ndef work():\n    time.sleep(cold.pop())\n";

#[test]
fn regions_of_a_helper_belong_to_the_lines_that_use_it() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    // In the program itself, or in one of its modules.
    for (module, import) in [("", ""), (HELPERS, "from helpers import *\n")] {
        for uses in USES {
            let directory = Directory::new();
            let head = match module {
                "" => HELPERS.to_owned(),
                _ => format!("import time\n{import}"),
            };
            directory.script("helpers.py", module);
            let program = directory.script("program.py", &format!("{head}{WORK}{uses}"));
            let (report, printed) = recorded(&directory, &[python.as_ref(), program.as_ref()], &[]);
            agree(&report, &printed);
            let names: Vec<&str> = report.regions.iter().map(|region| &*region.name).collect();
            assert_eq!(names.len(), 2, "{names:?}");
            for region in &report.regions {
                assert!(region.name.starts_with("program.py:"), "{names:?}");
                assert!(region.helper.is_some(), "{region:?}");
            }
            let (first, second) = (report.first.unwrap(), report.second.unwrap().value);
            assert!(
                (first / printed[0] - 1.0).abs() < NEAR,
                "{}",
                report.iteration
            );
            assert!(
                (second / printed[1] - 1.0).abs() < NEAR,
                "{}",
                report.iteration
            );
        }
    }
}

/// Timers as people write them: a list of laps, a tuple, a line that holds a whole region, a
/// list of pairs, several variables subtracted from one reading.
const TIMERS: &str = "\
import datetime, time
clock = time.perf_counter
laps = [clock()]
for seconds in (0.04, 0.01):
    time.sleep(seconds)
    laps.append(clock())
print(f'first lap: {laps[1] - laps[0]:.7f} s')
print(f'second lap: {laps[2] - laps[1]:.7f} s')
s, count = clock(), 0
time.sleep(0.01)
print(f'a tuple: {clock() - s:.7f} s')
def timed(seconds): a = clock(); time.sleep(seconds); return clock() - a
print(f'one line: {timed(0.02):.7f} s')
print(f'again: {timed(0.01):.7f} s')
pairs = []
for seconds in (0.02, 0.01):
    begin = clock()
    time.sleep(seconds)
    pairs.append((begin, clock()))
for a, b in pairs:
    print(f'a pair: {b - a:.7f} s')
x = clock()
time.sleep(0.01)
y = clock()
time.sleep(0.01)
z = clock()
print(f'x to y: {y - x:.7f} s')
print(f'x to z: {z - x:.7f} s')
print(f'y to z: {z - y:.7f} s')
m = datetime.datetime.now()
time.sleep(0.01)
print(f'datetime: {(datetime.datetime.now() - m).total_seconds():.7f} s')
n = -clock()
time.sleep(0.01)
n += clock()
print(f'a sum: {n:.7f} s')
p = time.process_time()
total = sum(range(3_000_000))
print(f'processor: {time.process_time() - p:.7f} s')
t = time.thread_time()
total = sum(range(3_000_000))
print(f'thread: {time.thread_time() - t:.7f} s')
";

#[test]
fn timers_agree_however_they_are_written() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let directory = Directory::new();
    let program = directory.script("timers.py", TIMERS);
    let (report, printed) = recorded(&directory, &[python.as_ref(), program.as_ref()], &[]);
    agree(&report, &printed);
    let clocks = report.regions.iter().filter_map(|region| region.clock);
    let of_cpu_time: Vec<Clock> = clocks.filter(|clock| clock.is_cpu_time()).collect();
    assert_eq!(of_cpu_time, [Clock::ProcessTime, Clock::ThreadTime]);
}

/// The terminal marks times of a clock that counts CPU time.
#[test]
fn a_region_in_cpu_time_says_so() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let directory = Directory::new();
    let program = directory.script(
        "processor.py",
        "\
import time
for _ in range(2):
    start = time.process_time()
    total = sum(range(3_000_000))
    print(f'one: {time.process_time() - start:.7f} s')
",
    );
    let (report, printed) = recorded(&directory, &[python.as_ref(), program.as_ref()], &[]);
    agree(&report, &printed);
    assert_eq!(report.regions[0].clock, Some(Clock::ProcessTime));
    let said = run(preheat()
        .current_dir(directory.path())
        .args(["report", "recording"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let is_region = |line: &str| line.trim_start().starts_with("processor.py:3–5");
    let region = said.out.lines().find(|line| is_region(line));
    let region = region.expect("it is listed");
    assert!(region.contains(" of CPU time"), "{region}");
    let other = "wall-clock time, but the program reads CPU time";
    let words: Vec<&str> = said.out.split_whitespace().collect();
    assert!(words.join(" ").contains(other), "{}", said.out);
}

/// Programs that time the same work twice.
const TWICE: [(&str, &str); 9] = [
    (
        "a function returns both readings, and the same names hold those of each call",
        "\
def infer(seconds):
    start = time.time()
    time.sleep(seconds)
    end = time.time()
    return start, end, seconds
s, e, _ = infer(wait[0])
print(f'first: {e - s:.7f} s')
s, e, _ = infer(wait[0])
print(f'second: {e - s:.7f} s')
",
    ),
    (
        "a list has each reading",
        "\
t = []
t.append(time.perf_counter())
time.sleep(0.02)
t.append(time.perf_counter())
time.sleep(0.02)
t.append(time.perf_counter())
for i, name in enumerate(['first', 'second']):
    print(f'{name}: {t[i + 1] - t[i]:.7f} s')
",
    ),
    (
        "a list begins with a reading",
        "\
t = [time.monotonic()]
time.sleep(0.02)
t.append(time.monotonic())
time.sleep(0.02)
t.append(time.monotonic())
print(f'first: {t[1] - t[0]:.7f} s')
print(f'second: {t[2] - t[1]:.7f} s')
",
    ),
    (
        "two lists have the begins and the ends",
        "\
starts, ends = [], []
for _ in range(2):
    starts.append(time.time())
    time.sleep(0.02)
    ends.append(time.time())
for start, end in zip(starts, ends):
    print(f'one: {end - start:.7f} s')
",
    ),
    (
        "a function gets the begin",
        "\
def report(label, began):
    took = (
        time.time()
        - began
    )
    print(f'{label}: {took:.7f} s')
mark = time.time()
time.sleep(0.02)
report('first', mark)
mark = time.time()
time.sleep(0.02)
report('second', mark)
",
    ),
    (
        "a function gets both readings, which a lambda makes",
        "\
now = lambda: time.perf_counter() * 1000
def show(label, begin, end):
    print(f'{label}: {(end - begin) / 1000:.7f} s')
a = now()
time.sleep(0.02)
b = now()
show('first', a, b)
c = now()
time.sleep(0.02)
d = now()
show('second', c, d)
",
    ),
    (
        "a stack has the begins",
        "\
stack = []
def tic():
    stack.append(time.time())
def toc(label):
    print(f'{label}: {time.time() - stack.pop():.7f} s')
tic()
time.sleep(0.02)
toc('first')
tic()
time.sleep(0.02)
toc('second')
",
    ),
    (
        "objects that have other names later have the readings",
        "\
results = []
for name in ('first', 'second'):
    entry = {'name': name, 'start': time.perf_counter()}
    time.sleep(0.02)
    entry['end'] = time.perf_counter()
    results.append(entry)
for r in results:
    print(f\"{r['name']}: {r['end'] - r['start']:.7f} s\")
",
    ),
    (
        "a reading on a line ends one region and begins another",
        "\
a = time.time(); time.sleep(0.02); b = time.time(); time.sleep(0.02); c = time.time()
print(f'first: {b - a:.7f} s')
print(f'second: {c - b:.7f} s')
",
    ),
];

#[test]
fn two_regions_alike_are_first_and_second_however_they_are_written() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    for (description, program) in TWICE {
        let directory = Directory::new();
        let program = format!("import time\nwait = [0.02]\n{program}");
        let program = directory.script("program.py", &program);
        let (report, printed) = recorded(&directory, &[python.as_ref(), program.as_ref()], &[]);
        assert_eq!(printed.len(), 2, "{description}");
        agree(&report, &printed);
        assert!(report.second.is_some(), "{description}");
        one_pair_of_numbers(&report);
    }
}

/// A loop with a deadline, whose condition reads the clock too.
const DEADLINE: &str = "\
import time
start = time.time()
count = 0
while time.time() - start < 0.05:
    count += 1
    if time.time() - start > 60:
        break
print(f'{count} times: {time.time() - start:.7f} s')
";

#[test]
fn a_deadline_is_not_the_end_of_a_region() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let directory = Directory::new();
    let program = directory.script("deadline.py", DEADLINE);
    let (report, printed) = recorded(&directory, &[python.as_ref(), program.as_ref()], &[]);
    agree(&report, &printed);
    assert_eq!(report.iteration, "deadline.py:2–8, timed by the program");
}

#[test]
fn timeit_with_other_numbers_of_loops_is_another_region() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let script = "\
import timeit
timer = timeit.Timer('sum(range(1000))')
for number in (2, 50, 50):
    print(f'{number} loops: {timer.timeit(number):.7f} s')
";
    let directory = Directory::new();
    let program = directory.script("loops.py", script);
    let (report, printed) = recorded(&directory, &[python.as_ref(), program.as_ref()], &[]);
    agree(&report, &printed);
    let regions: Vec<(&str, usize)> = (report.regions.iter())
        .map(|region| (&*region.name, region.count))
        .collect();
    let expected = [
        ("timeit ×2 at loops.py:4", 1),
        ("timeit ×50 at loops.py:4", 2),
    ];
    assert_eq!(regions, expected);
    assert_eq!(
        report.iteration,
        "timeit ×50 at loops.py:4, timed by the program"
    );
}

/// Threads that do the same at the same time.
const THREADS: &str = "\
import threading, time
together = threading.Barrier(3)
def work():
    together.wait()
    start = time.time()
    together.wait()
    time.sleep(0.01)
    taken = time.time() - start
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
";

#[test]
fn regions_of_threads_at_the_same_time_are_not_compared() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let directory = Directory::new();
    let program = directory.script("threads.py", THREADS);
    let (report, _) = recorded(&directory, &[python.as_ref(), program.as_ref()], &[]);
    let region = &report.regions[0];
    assert_eq!((region.count, region.second), (3, None));
    assert_eq!((region.ratio, region.best), (None, None));
}

/// Two calls of a compiled function, each timed until its result is there.
const COMPILED: &str = "\
import time, jax, jax.numpy as jnp
@jax.jit
def f(x):
    return jnp.tanh(x @ x).sum()
x = jnp.ones((64, 64))
start = time.time(); f(x).block_until_ready(); print(f'first: {time.time() - start:.7f} s')
time.sleep(0.3)
start = time.time(); f(x).block_until_ready(); print(f'second: {time.time() - start:.7f} s')
";

#[test]
fn two_calls_of_a_compiled_function_are_what_timers_around_them_say() {
    let Some(python) = python_with("jax") else {
        return;
    };
    let directory = Directory::new();
    let program = directory.script("calls.py", COMPILED);
    let (report, printed) = recorded(&directory, &[python.as_ref(), program.as_ref()], &[]);
    agree(&report, &printed);
    one_pair_of_numbers(&report);
    assert_eq!(
        report.iteration,
        "calls of f, compiled by JAX, as timed at calls.py:6 and 8"
    );
}

/// The same region twice on one line.
const ONE_LINE: &str = "\
import time
a = time.time(); time.sleep(0.01); print(f'first: {time.time() - a:.7f} s'); \
a = time.time(); time.sleep(0.01); print(f'second: {time.time() - a:.7f} s')
";

#[test]
fn a_program_without_a_file_has_the_regions_that_it_prints() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let directory = Directory::new();
    let passed = [python.as_ref(), OsStr::new("-c"), OsStr::new(ONE_LINE)];
    let (report, printed) = recorded(&directory, &passed, &[]);
    agree(&report, &printed);
    assert_eq!(report.regions[0].name, "<string>:2");
    let program = directory.script("program.py", ONE_LINE);
    let said = run(preheat()
        .current_dir(directory.path())
        .stdin(fs::File::open(&program).expect("it exists"))
        .args(["run", "--starts", "2", "--json", "read.json"])
        .args(["--output", "read", "--"])
        .arg(&python)
        .arg("-"));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = fs::read_to_string(directory.join("read.json")).expect("the JSON is there");
    let report: RunReport = serde_json::from_str(&text).expect("it is a report");
    let region = &report.regions[0];
    assert_eq!((&*region.name, region.count), ("<stdin>:2", 2));
    assert!(!region.paired_by_order && report.regions.len() == 1);
}

#[test]
fn one_timed_allocation_is_one_region() {
    if let Some(report) = python("torch", "preallocate.py", &[]) {
        assert_eq!(report.iterations_by, IterationsBy::Timers);
        assert_eq!(report.regions.len(), 1);
        assert_eq!(report.second, None);
    }
}

#[test]
fn two_training_iterations_are_first_and_second() {
    for name in ["train.py", "train_initialized.py"] {
        let Some(report) = python("torch", name, &[]) else {
            return;
        };
        assert_eq!(report.iterations_by, IterationsBy::Timers, "{name}");
        let iteration = &report.iteration;
        assert!(
            iteration.starts_with("steps of SGD, as timed at train"),
            "{iteration}"
        );
        one_pair_of_numbers(&report);
        assert_eq!(report.starts[0].iterations.len(), 2);
        assert!(report.first_to_second.is_some());
        let excess: f64 = report.second_excess.iter().map(|part| part.seconds).sum();
        let difference = report.first.unwrap() - report.second.unwrap().value;
        assert!(
            (excess - difference).abs() <= 0.01 * difference.abs() + 1e-6,
            "{excess} {difference}"
        );
        assert!(
            !report
                .notes
                .iter()
                .any(|note| note.contains("No repetition was found"))
        );
    }
}

#[test]
fn without_an_optimizer_what_is_timed_is_the_iteration() {
    if let Some(report) = python("torch", "backward.py", &[]) {
        assert_eq!(report.iterations_by, IterationsBy::Timers);
        assert_eq!(report.regions[0].count, 2);
        let region = report.regions[0].first.value;
        assert!((report.first.unwrap() / region - 1.0).abs() < NEAR);
    }
}

#[test]
fn a_model_that_is_called_twice_has_a_first_and_a_second_call() {
    if let Some(report) = python("torch", "infer.py", &[]) {
        assert_eq!(report.iterations_by, IterationsBy::Timers);
        assert_eq!(
            report.iteration,
            "calls of Sequential, as timed at infer.py:17–19 and 22–24"
        );
        assert_eq!(report.starts[0].iterations.len(), 2);
        assert_eq!(report.regions.len(), 2);
        one_pair_of_numbers(&report);
    }
}

#[test]
fn calls_can_be_asked_for_instead_of_timers() {
    if let Some(report) = python("torch", "infer.py", &["--iterations", "python"]) {
        assert_eq!(report.iterations_by, IterationsBy::Python);
        assert_eq!(report.iteration, "calls of Sequential");
    }
}

#[test]
fn a_prediction_of_keras_is_what_a_timer_around_it_says() {
    if let Some(report) = python("tensorflow", "predict.py", &[]) {
        assert!(
            (report.iteration).starts_with("calls of predict, as timed at predict.py:"),
            "{}",
            report.iteration
        );
        one_pair_of_numbers(&report);
    }
    if let Some(report) = python("tensorflow", "predict.py", &["--iterations", "python"]) {
        assert_eq!(report.iteration, "calls of predict");
        let iterations = &report.starts[0].iterations;
        assert_eq!((iterations.len(), report.regions.len()), (2, 2));
        let timed = report.regions.iter().map(|region| region.first.value);
        let ratios: Vec<f64> = iterations.iter().zip(timed).map(|(a, b)| a / b).collect();
        // The call lies within the region; on a busy machine one may be cut in between.
        assert!(ratios.iter().all(|ratio| *ratio < 1.01), "{ratios:?}");
        assert!(ratios.iter().any(|ratio| *ratio > 1.0 - NEAR), "{ratios:?}");
    }
}

#[test]
fn two_predictions_of_several_batches_are_iterations_and_their_steps_a_level() {
    let Some(python) = python_with("tensorflow") else {
        return;
    };
    let program = |timer: &str, end: &str| {
        format!(
            "import time, keras, numpy
model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(1)])
x = numpy.zeros((320, 8))
for _ in range(2):
    {timer}model.predict(x, verbose=0){end}
"
        )
    };
    for (timer, end) in [
        ("", ""),
        ("s = time.time(); ", "; print('it:', time.time() - s, 's')"),
    ] {
        let directory = Directory::new();
        fs::write(directory.join("program.py"), program(timer, end)).expect("it is written");
        let (report, printed) =
            recorded(&directory, &[python.as_ref(), "program.py".as_ref()], &[]);
        assert!(
            report.iteration.starts_with("calls of predict"),
            "{}",
            report.iteration
        );
        assert_eq!(report.starts[0].iterations.len(), 2);
        let steps = (report.regions.iter()).find(|region| region.name == "steps of predict");
        let steps = steps.expect("they are listed");
        assert_eq!((steps.count, steps.clock), (20, None));
        assert!(steps.first.value <= report.first.unwrap());
        if !timer.is_empty() {
            agree(&report, &printed);
        }
    }
}

#[test]
fn timers_can_be_asked_for() {
    if let Some(report) = python("torch", "train.py", &["--iterations", "timers"]) {
        assert_eq!(report.iterations_by, IterationsBy::Timers);
        assert_eq!(report.iteration, "train.py:17–23, timed by the program");
        let region = &report.regions[0];
        assert!((report.first.unwrap() / region.first.value - 1.0).abs() < NEAR);
    }
}

#[test]
fn a_recording_tells_the_same_without_the_source() {
    let Some(python) = python_with("torch") else {
        return;
    };
    let directory = Directory::new();
    let program = directory.join("train.py");
    fs::copy(example("train.py"), &program).expect("it is copied");
    let (before, _) = recorded(&directory, &[python.as_ref(), program.as_ref()], &[]);
    fs::remove_file(&program).expect("it is removed");
    let said =
        run(preheat()
            .current_dir(directory.path())
            .args(["report", "recording", "--json", "-"]));
    let after: RunReport = serde_json::from_str(&said.out).expect("it is a report");
    assert_eq!(before.regions, after.regions);
}

/// Compiles a program; `None`, with a message, if the compiler or a header is missing.
fn compiled(directory: &Directory, source: &Path, flags: &[&str]) -> Option<PathBuf> {
    let program = directory.join("program");
    let done = Command::new("g++")
        .args(["-g", "-O1", "-o"])
        .arg(&program)
        .arg(source)
        .args(flags)
        .output();
    require("gcc", done.is_ok().then_some(()))?;
    let done = done.expect("it was started");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    Some(program)
}

#[test]
fn a_native_kernel_that_is_launched_twice() {
    let there = Path::new("/usr/include/CL/cl.h").exists();
    if require("opencl", there.then_some(())).is_none() {
        return;
    }
    let directory = Directory::new();
    let Some(program) = compiled(&directory, &example("launch_opencl.cpp"), &["-lOpenCL"]) else {
        return;
    };
    let (report, printed) = recorded(&directory, &[program.as_ref()], &[]);
    agree(&report, &printed);
    assert_eq!(report.iterations_by, IterationsBy::Timers);
    assert_eq!(report.regions[0].name, "launch_opencl.cpp:45–49");
    assert_eq!(report.regions[0].count, 2);
}

/// The same program without timers, with and without two other kernels before.
#[test]
fn a_native_kernel_that_is_launched_twice_without_timers() {
    let there = Path::new("/usr/include/CL/cl.h").exists();
    if require("opencl", there.then_some(())).is_none() {
        return;
    }
    let timed = fs::read_to_string(example("launch_opencl.cpp")).expect("the example");
    let is_timer = |line: &&str| line.contains("chrono") || line.contains("launch %d");
    let lines: Vec<&str> = timed.lines().filter(|line| !is_timer(line)).collect();
    let plain = lines.join("\n");
    let kernels = "\"} kernel void one(global float *y) { y[get_global_id(0)] = 1; } \
                   kernel void two(global float *y) { y[get_global_id(0)] = 2; }\";";
    let set_up = "const char *names[] = {\"one\", \"two\"};
    for (const char *name : names) {
        cl_kernel other = clCreateKernel(program, name, &status);
        check(status, name);
        check(clSetKernelArg(other, 0, sizeof y, &y), name);
        check(clEnqueueNDRangeKernel(queue, other, 1, nullptr, &count, nullptr, 0, nullptr, nullptr), name);
    }
    for (int launch = 1;";
    let with_set_up =
        plain
            .replacen("\"}\";", kernels, 1)
            .replacen("for (int launch = 1;", set_up, 1);
    for source in [plain, with_set_up] {
        let directory = Directory::new();
        let path = directory.join("untimed.cpp");
        fs::write(&path, source).expect("it is written");
        let Some(program) = compiled(&directory, &path, &["-lOpenCL"]) else {
            return;
        };
        let (report, _) = recorded(&directory, &[program.as_ref()], &[]);
        assert_eq!(
            report.iterations_by,
            IterationsBy::Kernels,
            "{:?}",
            report.notes
        );
        assert_eq!(report.starts[0].iterations.len(), 2);
        assert!(report.second.is_some() && report.first_to_second.is_some());
    }
}

/// A stand-in for PyTorch on a GPU: events that read a clock which preheat does not record.
const EVENTS: &str = "\
import time
class Event:
    def __init__(self, enable_timing=False):
        self.at = None
    def record(self, stream=None):
        self.at = time.clock_gettime(time.CLOCK_MONOTONIC)
    def elapsed_time(self, end):
        return 1e3 * (end.at - self.at)
";

#[test]
fn events_of_pytorch_are_regions_of_the_lines_that_record_them() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let directory = Directory::new();
    let package = directory.join("torch");
    fs::create_dir_all(package.join("cuda")).expect("a package");
    fs::write(package.join("__init__.py"), "from . import cuda\n").expect("it is written");
    fs::write(package.join("cuda/__init__.py"), EVENTS).expect("it is written");
    let program = directory.script(
        "events.py",
        "\
import time, torch
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
for seconds in (0.04, 0.01):
    start.record()
    time.sleep(seconds)
    end.record()
    print(f'between events: {start.elapsed_time(end) / 1e3:.7f} s')
",
    );
    let (report, printed) = recorded(&directory, &[python.as_ref(), program.as_ref()], &[]);
    agree(&report, &printed);
    assert_eq!(report.iterations_by, IterationsBy::Timers);
    let region = &report.regions[0];
    assert_eq!(
        (&*region.name, region.clock, region.count),
        ("events.py:4–6", Some(Clock::CudaEvent), 2)
    );
}

#[test]
fn every_clock_of_c_and_cpp_is_read() {
    let directory = Directory::new();
    let source = r#"#include <chrono>
#include <cstdio>
#include <ctime>
#include <sys/time.h>
#include <unistd.h>
int main() {
    auto a = std::chrono::steady_clock::now();
    usleep(30000);
    std::printf("steady: %.4f s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - a).count());
    timespec b, c;
    clock_gettime(CLOCK_MONOTONIC, &b);
    usleep(20000);
    clock_gettime(CLOCK_MONOTONIC, &c);
    std::printf("monotonic: %.4f s\n", (c.tv_sec - b.tv_sec) + 1e-9 * (c.tv_nsec - b.tv_nsec));
    timeval d, e;
    gettimeofday(&d, nullptr);
    usleep(10000);
    gettimeofday(&e, nullptr);
    std::printf("time of day: %.4f s\n", (e.tv_sec - d.tv_sec) + 1e-6 * (e.tv_usec - d.tv_usec));
    clock_t f = clock();
    volatile double sum = 0;
    for (long at = 0; at < 100000000; at++) sum = sum + at;
    std::printf("processor: %.4f s\n", double(clock() - f) / CLOCKS_PER_SEC);
}
"#;
    let path = directory.join("clocks.cpp");
    fs::write(&path, source).expect("it is written");
    let Some(program) = compiled(&directory, &path, &[]) else {
        return;
    };
    let (report, printed) = recorded(&directory, &[program.as_ref()], &[]);
    let names: Vec<&str> = report.regions.iter().map(|region| &*region.name).collect();
    assert_eq!(
        names,
        [
            "clocks.cpp:7–9",
            "clocks.cpp:11–13",
            "clocks.cpp:16–18",
            "clocks.cpp:20–23"
        ]
    );
    agree(&report, &printed);
}

/// Compiles a library of the program, in `lib` of the directory.
fn library(directory: &Directory, source: &str) {
    let libraries = directory.join("lib");
    fs::create_dir_all(&libraries).expect("a directory");
    let path = directory.join("work.cpp");
    fs::write(&path, source).expect("it is written");
    let done = Command::new("g++")
        .args(["-g", "-O1", "-shared", "-fPIC", "-o"])
        .arg(libraries.join("libwork.so"))
        .arg(&path)
        .output();
    let done = done.expect("it was started");
    let why = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{why}");
}

/// The flags with which a program uses [`library`].
const WITH_LIBRARY: [&str; 3] = ["-Llib", "-lwork", "-Wl,-rpath,$ORIGIN/lib"];

/// Compiles a program that uses [`library`].
fn linked(directory: &Directory, name: &str, source: &str) -> Option<PathBuf> {
    let path = directory.join(name);
    fs::write(&path, source).expect("it is written");
    let directory_of_library = format!("-L{}", directory.join("lib").display());
    let mut flags = WITH_LIBRARY;
    flags[0] = &directory_of_library;
    compiled(directory, &path, &flags)
}

#[test]
fn readings_by_libraries_of_a_native_program_are_not_its_own() {
    let directory = Directory::new();
    if require("gcc", Command::new("g++").arg("--version").output().ok()).is_none() {
        return;
    }
    library(
        &directory,
        r#"#include <chrono>
#include <ctime>
extern "C" double work() {
    clock_t c = clock();
    timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    auto start = std::chrono::steady_clock::now();
    volatile double sum = 0;
    for (long at = 0; at < 30000000; at++) sum = sum + at;
    std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
    clock_gettime(CLOCK_MONOTONIC, &b);
    return all.count() + (b.tv_sec - a.tv_sec) + double(clock() - c) / CLOCKS_PER_SEC;
}
"#,
    );
    let source = r#"#include <chrono>
#include <cstdio>
#include <ctime>
extern "C" double work();
int main() {
    clock_t c = clock();
    if (work() <= 0) return 1;
    std::printf("processor: %.7f s\n", double(clock() - c) / CLOCKS_PER_SEC);
    timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    if (work() <= 0) return 1;
    clock_gettime(CLOCK_MONOTONIC, &b);
    std::printf("monotonic: %.7f s\n", (b.tv_sec - a.tv_sec) + 1e-9 * (b.tv_nsec - a.tv_nsec));
    auto start = std::chrono::steady_clock::now();
    if (work() <= 0) return 1;
    auto end = std::chrono::steady_clock::now();
    std::printf("steady: %.7f s\n", std::chrono::duration<double>(end - start).count());
}
"#;
    let Some(program) = linked(&directory, "own.cpp", source) else {
        return;
    };
    let (report, printed) = recorded(&directory, &[program.as_ref()], &[]);
    agree(&report, &printed);
    let found: Vec<(&str, Clock)> = (report.regions.iter())
        .map(|region| (&*region.name, region.clock.expect("it is timed")))
        .collect();
    let expected = [
        ("own.cpp:6–8", Clock::CClock),
        ("own.cpp:10–12", Clock::ClockGettime),
        ("own.cpp:14–16", Clock::ChronoSteady),
    ];
    assert_eq!(found, expected);
    assert!(report.regions.iter().all(|region| region.count == 1));
}

#[test]
fn a_library_may_have_another_function_named_clock() {
    let directory = Directory::new();
    if require("gcc", Command::new("g++").arg("--version").output().ok()).is_none() {
        return;
    }
    library(
        &directory,
        r#"extern "C" double clock(long a, long b, long c, long d, long e, long f, long g, double h, double i) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}
"#,
    );
    let source = r#"#include <cstdio>
extern "C" double clock(long, long, long, long, long, long, long, double, double);
int main() {
    double found = clock(1, 2, 3, 4, 5, 6, 7, 8.5, 9.5);
    return found == 140 + 8 * 8.5 + 9 * 9.5 ? 0 : 1;
}
"#;
    let Some(program) = linked(&directory, "other.cpp", source) else {
        return;
    };
    // The program fails if an argument is lost.
    let (report, _) = recorded(&directory, &[program.as_ref()], &[]);
    assert_eq!(report.regions.len(), 0);
}

/// A class that times its scope, a template and a lambda.
const SCOPES: &str = r#"#include <chrono>
#include <cstdio>
#include <unistd.h>
using clock_type = std::chrono::steady_clock;
struct Timer {
    clock_type::time_point begin;
    Timer() : begin(clock_type::now()) {}
    ~Timer() {
        auto end = clock_type::now();
        std::printf("scope: %.7f s\n", std::chrono::duration<double>(end - begin).count());
    }
};
template <class F> double timed(F work) {
    auto start = clock_type::now();
    work();
    return std::chrono::duration<double>(clock_type::now() - start).count();
}
int main() {
    { Timer timer; usleep(40000); }
    { Timer timer; usleep(10000); }
    std::printf("template: %.7f s\n", timed([] { usleep(30000); }));
    std::printf("template: %.7f s\n", timed([] { usleep(10000); }));
}
"#;

#[test]
fn scopes_and_templates_of_cpp_belong_to_the_lines_that_use_them() {
    let directory = Directory::new();
    let path = directory.join("scopes.cpp");
    fs::write(&path, SCOPES).expect("it is written");
    let Some(program) = compiled(&directory, &path, &[]) else {
        return;
    };
    let (report, printed) = recorded(&directory, &[program.as_ref()], &[]);
    let names: Vec<&str> = report.regions.iter().map(|region| &*region.name).collect();
    assert_eq!(
        names,
        [
            "scopes.cpp:19",
            "scopes.cpp:20",
            "scopes.cpp:21",
            "scopes.cpp:22"
        ]
    );
    agree(&report, &printed);
}

/// The same work timed twice without a loop, in functions of one program each.
const CPP_TWICE: [&str; 7] = [
    "    { Watch watch; touch(20000); print(\"first\", watch.elapsed()); }
    { Watch watch; touch(20000); print(\"second\", watch.elapsed()); }
",
    "    std::vector<Clock::time_point> marks;
    marks.push_back(Clock::now());
    touch(20000);
    marks.push_back(Clock::now());
    touch(20000);
    marks.push_back(Clock::now());
    for (int i = 1; i < 3; ++i)
        print(i > 1 ? \"second\" : \"first\", marks[i] - marks[i - 1]);
",
    "    auto begin = Clock::now();
    touch(20000);
    auto end = Clock::now();
    print(\"first\", end - begin);
    begin = Clock::now();
    touch(20000);
    end = Clock::now();
    print(\"second\", end - begin);
",
    "    double start = seconds();
    int* one = touch(20000);
    double stop = seconds();
    print(\"first\", std::chrono::duration<double>(stop - start));
    start = seconds();
    int* two = touch(20000);
    stop = seconds();
    print(\"second\", std::chrono::duration<double>(stop - start));
    return one != two;
",
    "    Timer one;
    touch(20000);
    print(\"first\", one.elapsed());
    Timer two;
    touch(20000);
    print(\"second\", two.elapsed());
",
    "    timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    touch(20000);
    clock_gettime(CLOCK_MONOTONIC, &b);
    print(\"first\", std::chrono::duration<double>(took(a, b)));
    clock_gettime(CLOCK_MONOTONIC, &a);
    touch(20000);
    clock_gettime(CLOCK_MONOTONIC, &b);
    print(\"second\", std::chrono::duration<double>(took(a, b)));
",
    "    auto t0 = Clock::now();
    touch(20000);
    print(\"first\", since(t0));
    auto t1 = Clock::now();
    touch(20000);
    print(\"second\", since(t1));
",
];

const CPP_HEAD: &str = r#"#include <chrono>
#include <cstdio>
#include <ctime>
#include <vector>
#include <unistd.h>
using Clock = std::chrono::steady_clock;
class Timer {
    Clock::time_point begin;
public:
    Timer() : begin(Clock::now()) {}
    std::chrono::duration<double> elapsed() const { return Clock::now() - begin; }
};
struct Watch { Clock::time_point begin = Clock::now();
    std::chrono::duration<double> elapsed() const { return Clock::now() - begin; } };
static void print(const char* name, std::chrono::duration<double> time) {
    std::printf("%s: %.7f s\n", name, time.count());
}
static double seconds() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
static double took(const timespec &from, const timespec &to) {
    return (to.tv_sec - from.tv_sec) + 1e-9 * (to.tv_nsec - from.tv_nsec);
}
static std::chrono::duration<double> since(Clock::time_point begin) {
    return Clock::now() - begin;
}
__attribute__((noinline)) static int* touch(int time) {
    static int calls;
    usleep(time);
    return ++calls, &calls;
}
int main() {
"#;

#[test]
fn two_regions_alike_of_cpp_are_first_and_second() {
    for body in CPP_TWICE {
        let directory = Directory::new();
        let path = directory.join("twice.cpp");
        fs::write(&path, format!("{CPP_HEAD}{body}}}\n")).expect("it is written");
        let Some(program) = compiled(&directory, &path, &[]) else {
            return;
        };
        let (report, printed) = recorded(&directory, &[program.as_ref()], &[]);
        assert_eq!(printed.len(), 2, "{body}");
        agree(&report, &printed);
        assert!(report.second.is_some(), "{body}");
        one_pair_of_numbers(&report);
    }
}

/// Helpers that read a clock for their callers.
const CPP_HELPERS: &str = r#"#include <chrono>
#include <cstdio>
#include <ctime>
#include <unistd.h>
static double seconds() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
static double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}
struct Timer {
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    double elapsed() const {
        auto end = std::chrono::steady_clock::now();
        return std::chrono::duration<double>(end - start).count();
    }
};
int main() {
    for (int i = 0; i < 2; ++i) {
        double begin = seconds();
        usleep(i ? 10000 : 40000);
        std::printf("seconds: %.7f s\n", seconds() - begin);
    }
    for (int i = 0; i < 2; ++i) {
        double begin = now();
        usleep(i ? 10000 : 30000);
        double end = now();
        std::printf("now: %.7f s\n", end - begin);
    }
    for (int i = 0; i < 2; ++i) {
        Timer timer;
        usleep(i ? 10000 : 20000);
        std::printf("timer: %.7f s\n", timer.elapsed());
    }
}
"#;

#[test]
fn helpers_of_cpp_belong_to_the_lines_that_call_them() {
    // Called, and inlined.
    for optimization in ["-O0", "-O2"] {
        let directory = Directory::new();
        let path = directory.join("helpers.cpp");
        fs::write(&path, CPP_HELPERS).expect("it is written");
        let Some(program) = compiled(&directory, &path, &[optimization]) else {
            return;
        };
        let (report, printed) = recorded(&directory, &[program.as_ref()], &[]);
        let found: Vec<(&str, usize)> = (report.regions.iter())
            .map(|region| (&*region.name, region.count))
            .collect();
        assert_eq!(
            found,
            [
                ("helpers.cpp:23–25", 2),
                ("helpers.cpp:28–30", 2),
                ("helpers.cpp:34–36", 2)
            ],
            "{optimization}"
        );
        agree(&report, &printed);
    }
}

#[test]
fn helpers_without_debug_information_are_paired_by_order() {
    let directory = Directory::new();
    let path = directory.join("helpers.cpp");
    fs::write(&path, CPP_HELPERS).expect("it is written");
    let Some(program) = compiled(&directory, &path, &["-O0", "-g0"]) else {
        return;
    };
    let (report, printed) = recorded(&directory, &[program.as_ref()], &[]);
    assert!(report.regions.iter().all(|region| region.paired_by_order));
    agree(&report, &printed);
}

#[test]
fn clocks_of_python_are_the_same_functions_and_read_the_same() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let directory = Directory::new();
    let script = "
import copyreg, pickle, time, timeit
for name in ('time', 'time_ns', 'perf_counter', 'monotonic', 'process_time', 'thread_time'):
    clock = getattr(time, name)
    assert type(clock) is type(len) and clock.__self__ is time, name
    assert pickle.loads(pickle.dumps(clock)) is clock, name
    assert repr(clock) == '<built-in function %s>' % name, repr(clock)
    assert clock() <= clock(), name
assert abs(time.time() - time.time_ns() / 1e9) < 1
assert timeit.default_timer is time.perf_counter
def helper():
    return time.perf_counter()
start = helper()
sum(range(1000000))
end = helper()
print(f'helper: {end - start:.4f} s')
class Timer:
    def __enter__(self):
        self.start = time.monotonic()
    def __exit__(self, *_):
        print(f'with: {time.monotonic() - self.start:.4f} s')
for _ in range(2):
    with Timer():
        sum(range(1000000))
print(f'timeit: {timeit.timeit(\"sum(range(1000000))\", number=1):.4f} s')
";
    fs::write(directory.join("program.py"), script).expect("it is written");
    let (report, printed) = recorded(&directory, &[python.as_ref(), "program.py".as_ref()], &[]);
    let names: Vec<&str> = report.regions.iter().map(|region| &*region.name).collect();
    for name in [
        "program.py:13–15",
        "program.py:23",
        "timeit at program.py:25",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    let found = regions(&report);
    for printed in &printed {
        let near = |found: &&f64| (*found - printed).abs() <= ROUNDING + NEAR * printed;
        assert!(
            found.iter().any(|found| near(&found)),
            "{printed} in {found:?}"
        );
    }
}

/// A recording's report.
fn reported(directory: &Directory, recording: &str) -> RunReport {
    let said = run(preheat().current_dir(directory.path()).args([
        "report",
        recording,
        "--json",
        "report.json",
    ]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = fs::read_to_string(directory.join("report.json")).expect("the JSON is there");
    serde_json::from_str(&text).expect("it is a report")
}

#[test]
fn a_warm_up_is_predicted_and_shows_in_the_timed_region() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let directory = Directory::new();
    // The first step is slow by far more than a busy machine makes it.
    let program = |warm_up: &str| {
        format!(
            "import time
cold = [0.5]
def step():
    time.sleep(cold.pop() if cold else 0.01)
{warm_up}
for _ in range(2):
    start = time.time()
    step()
    print(time.time() - start)
"
        )
    };
    fs::write(directory.join("base.py"), program("")).expect("it is written");
    fs::write(directory.join("warm.py"), program("step()")).expect("it is written");
    let [base, warm] = ["base.py", "warm.py"].map(|name| format!("{} {name}", python.display()));
    let said = compare(
        &directory,
        &["--starts", "5", "--output", "kept", &base, &warm],
    );
    // 1: slower elsewhere, as may be on a busy machine.
    assert!(matches!(said.code, Some(0 | 1)), "{}", said.err);
    let found = compared(&directory);
    let rows = found.quantities.iter().filter(|of| of.id.id() == "region");
    let rows: Vec<_> = rows.collect();
    let [row] = rows[..] else {
        panic!("one region is timed: {rows:?}");
    };
    assert_eq!(row.name, "base.py:7–9 → warm.py:7–9");
    assert_ne!(row.verdict, Verdict::Slower, "{row:?}");
    let (was, is) = (row.base.as_ref().unwrap(), row.new.as_ref().unwrap());
    assert!(is.mean.value < was.mean.value, "{row:?}");
    // The values are those that the recordings have, without the first start.
    for (side, level) in [("kept/base", was), ("kept/new", is)] {
        let report = reported(&directory, side);
        let firsts: Vec<f64> = report.regions[0].firsts.iter().flatten().copied().collect();
        assert_eq!(firsts[1..], level.values);
    }
    let report = reported(&directory, "kept/base");
    let warm_up = report
        .remedies
        .iter()
        .find(|remedy| remedy.id.as_str() == "warm-up");
    let warm_up = warm_up.expect("the first iteration is slower");
    assert_eq!((warm_up.group(), warm_up.saving), (RemedyGroup::Later, 0.0));
    let later = warm_up.later.as_ref().expect("something becomes shorter");
    let excess = report.first.unwrap() - report.second.unwrap().value;
    // A warm-up does not prevent waiting for a processor, which is part of the idle time.
    let idle = report.second_excess.iter();
    let idle = idle.filter(|part| part.cause == Cause::Idle);
    let idle: f64 = idle.map(|part| part.seconds.max(0.0)).sum();
    let expected = excess - idle - 1e-9..excess + 1e-9;
    assert!(
        expected.contains(&later.seconds) && later.after == 1,
        "{later:?} of {excess}"
    );
}

#[test]
fn a_warm_up_step_is_compared_by_the_region_that_both_time() {
    let Some(python) = python_with("torch") else {
        return;
    };
    let directory = Directory::new();
    // Loading a batch is part of what is timed, and not of a step, which begins with the call
    // of the model.
    let program = |warm_up: &str| {
        format!(
            "import time, torch
model = torch.nn.Linear(10, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step():
    time.sleep(0.05)
    optimizer.zero_grad()
    model(torch.randn(8, 10)).sum().backward()
    optimizer.step()
{warm_up}for _ in range(2):
    start = time.time()
    step()
    print(time.time() - start)
"
        )
    };
    fs::write(directory.join("base.py"), program("")).expect("it is written");
    fs::write(directory.join("warm.py"), program("step()\n")).expect("it is written");
    let [base, warm] = ["base.py", "warm.py"].map(|name| format!("{} {name}", python.display()));
    for iterations in ["auto", "timers"] {
        let flags = ["--starts", "2", "--iterations", iterations, &base, &warm];
        let said = compare(&directory, &flags);
        assert!(matches!(said.code, Some(0 | 1)), "{}", said.err);
        let found = compared(&directory);
        let firsts: Vec<_> = (found.quantities.iter())
            .filter(|of| of.id.id() == "first")
            .collect();
        let [first] = firsts[..] else {
            panic!("{iterations}: there is one first: {firsts:?}");
        };
        assert!(first.gated, "{iterations}");
        // Both have the batch: a step without it would take a fraction of this.
        for level in [&first.base, &first.new] {
            let values = &level.as_ref().expect("both sides have it").values;
            assert!(values.iter().all(|value| *value >= 0.05), "{first:?}");
        }
        let same = iterations == "timers";
        assert_eq!(first.name == "first iteration", same, "{}", first.name);
        let differ = |note: &String| note.contains("iterations differ between the sides");
        assert_eq!(found.notes.iter().any(differ), !same, "{:?}", found.notes);
    }
}

#[test]
fn epochs_of_keras_are_a_level_above_its_steps() {
    let Some(python) = python_with("tensorflow") else {
        return;
    };
    let directory = Directory::new();
    let script = "
import keras, numpy
model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(1)])
model.compile(loss='mse')
model.fit(numpy.zeros((64, 8)), numpy.zeros((64, 1)), batch_size=16, epochs=3, verbose=0)
";
    fs::write(directory.join("program.py"), script).expect("it is written");
    let (report, _) = recorded(&directory, &[python.as_ref(), "program.py".as_ref()], &[]);
    assert_eq!(report.iteration, "Keras training steps");
    assert_eq!(report.starts[0].iterations.len(), 12);
    let epochs = report
        .regions
        .iter()
        .find(|region| region.name == "epochs of fit");
    let epochs = epochs.expect("they are listed");
    assert_eq!((epochs.count, epochs.clock), (3, None));
    // The first epoch contains the first step.
    assert!(epochs.first.value >= report.starts[0].iterations[0]);
    assert!(epochs.second.is_some());
}

#[test]
fn a_warm_up_before_the_first_line_is_not_part_of_the_first_iteration() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let directory = Directory::new();
    let script = "
import time
def step():
    start = time.perf_counter()
    time.sleep(0.02)
    return time.perf_counter() - start
for _ in range(20):
    step()
for number in range(6):
    print('step', number, step(), flush=True)
";
    fs::write(directory.join("program.py"), script).expect("it is written");
    let (report, _) = recorded(
        &directory,
        &[python.as_ref(), "program.py".as_ref()],
        &["--iterations", "lines:^step"],
    );
    assert_eq!(report.iterations_by, IterationsBy::Lines);
    let iterations = &report.starts[0].iterations;
    assert_eq!(iterations.len(), 6);
    // Twenty steps would be twenty times as long.
    let others: f64 = iterations[1..].iter().sum();
    assert!(iterations[0] < others, "{iterations:?}");
}
