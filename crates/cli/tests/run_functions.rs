//! The CPU time of a program by function, on real programs: the times that a program measures
//! itself are those that `preheat run` finds by sampling.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use preheat_model::run::{Cause, CauseReport, FunctionReport, RunReport};

mod support;
use support::{Directory, python_with, require};

/// By how much a share of a few hundred samples may be off: more than four standard
/// deviations.
const OFF: f64 = 0.15;

fn recorded(directory: &Directory, command: &[&OsStr]) -> RunReport {
    let flags = ["--starts", "1"];
    support::recorded(directory, &flags, command.iter().copied(), &[])
}

fn own(report: &RunReport) -> &CauseReport {
    let own = report
        .causes
        .iter()
        .find(|cause| cause.cause == Cause::OwnCpu);
    own.expect("the program computes")
}

fn function<'a>(own: &'a CauseReport, name: &str) -> &'a FunctionReport {
    let found = own
        .functions
        .iter()
        .find(|function| function.function == name);
    found.unwrap_or_else(|| panic!("{name} is missing: {:#?}", own.functions))
}

/// The share of a function in all samples.
fn part(own: &CauseReport, name: &str) -> f64 {
    let all: f64 = own.functions.iter().map(|function| function.seconds).sum();
    function(own, name).seconds / all
}

/// Returns true if the kernel allows sampling of native code: then functions have libraries.
fn native(own: &CauseReport) -> bool {
    let any = own
        .functions
        .iter()
        .any(|function| function.library.is_some());
    require("perf-events", any.then_some(())).is_some()
}

const PYTHON: &str = "\
import sys, resource

def work(count):
    total = 0
    for number in range(count):
        total += number * number
    return total

def hot():
    return work_hot(67_200_000)

def work_hot(count):
    total = 0
    for number in range(count):
        total += number * number
    return total

def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime

def main():
    began = used()
    hot()
    middle = used()
    work(28_800_000)
    end = used()
    with open(sys.argv[1], 'w') as file:
        file.write(str((middle - began) / (end - began)))

main()
";

#[test]
fn a_python_function_gets_the_cpu_time_that_it_used() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let directory = Directory::new();
    let script = directory.script("program.py", PYTHON);
    let said = directory.join("said");
    let command = [python.as_os_str(), script.as_os_str(), said.as_os_str()];
    let report = recorded(&directory, &command);
    let own = own(&report);
    let expected: f64 = fs::read_to_string(said)
        .expect("the program wrote it")
        .parse()
        .expect("a number");
    let found = part(own, "work_hot");
    assert!(
        (found - expected).abs() < OFF,
        "{found} for {expected}: {:#?}",
        own.functions
    );
    let hot = function(own, "work_hot");
    assert_eq!(hot.file.as_deref(), script.to_str());
    assert!(
        hot.line.is_some_and(|line| (14..=15).contains(&line)),
        "{hot:?}"
    );
    // Its callers have no CPU time themselves.
    assert!(
        own.functions
            .iter()
            .all(|function| function.function != "hot")
    );
    let seconds: f64 = own.functions.iter().map(|function| function.seconds).sum();
    assert!(
        seconds <= own.seconds * 1.000_001,
        "{seconds} of {}",
        own.seconds
    );
}

#[test]
fn the_page_has_a_flame_graph_and_the_terminal_the_largest() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let directory = Directory::new();
    let script = directory.script("program.py", PYTHON);
    let said = support::run(
        support::preheat()
            .current_dir(directory.path())
            .args(["run", "--starts", "1", "--html", "page.html"])
            .args(["--output", "recording", "--"])
            .args([python.as_os_str(), script.as_os_str(), OsStr::new("said")]),
    );
    assert_eq!(said.code, Some(0), "{}", said.err);
    let shown = format!("{}{}", said.out, said.err);
    assert!(shown.contains("work_hot (program.py:1"), "{shown}");
    let page = fs::read_to_string(directory.join("page.html")).expect("the page");
    assert!(page.contains("<section id=\"functions\""));
    assert!(page.contains("work_hot"));
}

/// Each call of a named function goes through functions of the recorder.
#[test]
fn functions_of_the_recorder_are_not_the_programs() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let directory = Directory::new();
    fs::write(directory.join("steps.py"), "def step():\n    pass\n").expect("it is written");
    let source = "import steps\nfor _ in range(400_000):\n    steps.step()\n";
    let script = directory.script("program.py", source);
    let flags = ["--starts", "1", "--iterations", "call:steps:step"];
    let command = [python.as_os_str(), script.as_os_str()];
    let report = support::recorded(&directory, &flags, command, &[]);
    let stacks = fs::read_to_string(directory.join("recording/start-1/launcher.stacks"));
    let stacks = stacks.expect("functions were sampled");
    assert!(stacks.contains("program.py"), "{stacks}");
    assert!(!stacks.contains("sitecustomize.py"), "{stacks}");
    assert!(report.first.is_some());
}

const C: &str = "\
#include <stdio.h>
__attribute__((noinline)) double burn(long count) {
    double sum = 0;
    for (long at = 1; at < count; at++) sum += 1.0 / at;
    return sum;
}
int main(void) { printf(\"%f\\n\", burn(600000000)); return 0; }
";

#[test]
fn native_code_has_its_symbol_and_line() {
    let gcc = Command::new("gcc").arg("--version").output().is_ok();
    if require("gcc", gcc.then_some(())).is_none() {
        return;
    }
    let directory = Directory::new();
    let (source, program) = (directory.join("burn.c"), directory.join("burn"));
    fs::write(&source, C).expect("the source is written");
    let built = Command::new("gcc")
        .args(["-O1", "-g", "-o"])
        .args([&program, &source])
        .status();
    assert!(built.is_ok_and(|status| status.success()));
    let report = recorded(&directory, &[program.as_os_str()]);
    let own = own(&report);
    if !native(own) {
        return;
    }
    assert!(part(own, "burn") > 1.0 - OFF, "{:#?}", own.functions);
    let burn = function(own, "burn");
    assert_eq!(
        (burn.library.as_deref(), burn.line),
        (program.to_str(), Some(4))
    );
    let file = burn.file.as_deref().map(Path::new);
    assert_eq!(file.and_then(Path::file_name), Some(OsStr::new("burn.c")));
}

const NUMPY: &str = "\
import numpy

def product(matrix):
    for _ in range(60):
        matrix = matrix @ matrix
        matrix /= matrix.max()
    return matrix

product(numpy.ones((500, 500)))
";

#[test]
fn a_python_function_names_the_library_that_works_for_it() {
    let Some(python) = python_with("numpy") else {
        return;
    };
    let directory = Directory::new();
    let script = directory.script("program.py", NUMPY);
    let report = recorded(&directory, &[python.as_os_str(), script.as_os_str()]);
    let own = own(&report);
    let product = function(own, "product");
    assert!(
        product.line.is_some_and(|line| (5..=6).contains(&line)),
        "{product:?}"
    );
    if native(own) {
        let library = product.library.as_deref().unwrap_or("");
        assert!(library.contains("blas"), "{product:?}");
    }
}

/// A thread that names itself, as those of XLA and autograd do, works for the main thread.
const NAMED_THREAD: &str = "\
import ctypes, threading

def work():
    ctypes.CDLL(None).prctl(15, b'pt_worker_7', 0, 0, 0)
    total = 0
    for number in range(28_800_000):
        total += number * number

thread = threading.Thread(target=work)
thread.start()
thread.join()
";

#[test]
fn a_thread_that_names_itself_is_reported_by_its_name() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let directory = Directory::new();
    let script = directory.script("program.py", NAMED_THREAD);
    let report = recorded(&directory, &[python.as_os_str(), script.as_os_str()]);
    let own = own(&report);
    assert!(
        own.items[0].name.contains("pt_worker_7"),
        "{:#?}",
        own.items
    );
}

#[test]
fn threads_without_a_name_are_reported_by_their_function() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let directory = Directory::new();
    let unnamed: Vec<&str> = (NAMED_THREAD.lines())
        .filter(|line| !line.contains("prctl"))
        .collect();
    let script = directory.script("program.py", &unnamed.join("\n"));
    let report = recorded(&directory, &[python.as_os_str(), script.as_os_str()]);
    let own = own(&report);
    // Newer Pythons give each thread the name of its function.
    let name = &own.items[0].name;
    assert!(
        name.contains("work (program.py)") || name.contains("(work)"),
        "{:#?}",
        own.items
    );
}

/// Compiles and runs a loop in OpenMP threads, whose name is that of the program.
#[test]
fn openmp_threads_are_reported_by_their_function() {
    let source = "\
#include <stdio.h>
int main(void) {
    double sum = 0;
    #pragma omp parallel for reduction(+:sum) num_threads(4)
    for (long i = 0; i < 2000000000; i++) sum += 1.0 / (i + 1);
    return sum < 0;
}
";
    let directory = Directory::new();
    fs::write(directory.join("program.c"), source).expect("it is written");
    let compiled = Command::new("gcc")
        .current_dir(directory.path())
        .args(["-O1", "-fopenmp", "-o", "program", "program.c"])
        .output();
    let compiled = compiled.is_ok_and(|done| done.status.success());
    let Some(()) = require("gcc", compiled.then_some(())) else {
        return;
    };
    let report = recorded(&directory, &[directory.join("program").as_os_str()]);
    let own = own(&report);
    if native(own) {
        let named = |name: &str| name.starts_with("thread main._omp_fn.0 (program)");
        let mut threads = own.items.iter().map(|item| item.name.as_str());
        assert!(
            own.items.iter().any(|item| named(&item.name)),
            "{:#?}",
            own.items
        );
        // All are sampled, however soon they were created.
        assert!(
            threads.all(|name| name == "main thread" || named(name)),
            "{:#?}",
            own.items
        );
    }
}

/// Refuses perf events, as the default seccomp profile of Docker does, and becomes a command.
const WITHOUT_PERF_EVENTS: &str = "\
import ctypes, os, struct, sys

PERF_EVENT_OPEN = 298
ALLOW, EPERM = 0x7fff0000, 0x00050001
program = [(0x20, 0, 0, 0), (0x15, 0, 1, PERF_EVENT_OPEN), (0x06, 0, 0, EPERM), (0x06, 0, 0, ALLOW)]
code = b''.join(struct.pack('HBBI', *line) for line in program)
buffer = ctypes.create_string_buffer(code, len(code))
filter = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', len(program), ctypes.addressof(buffer)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, filter, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
";

#[cfg(target_arch = "x86_64")]
#[test]
fn refused_perf_events_are_noted_with_what_to_do() {
    let Some(python) = require("python", support::python()) else {
        return;
    };
    let directory = Directory::new();
    let refusing = directory.script("refusing.py", WITHOUT_PERF_EVENTS);
    let script = directory.script("program.py", "sum(n * n for n in range(15_000_000))");
    let said = support::run(
        Command::new(&python)
            .current_dir(directory.path())
            .arg(refusing)
            .arg(env!("CARGO_BIN_EXE_preheat"))
            .args(["run", "--starts", "1", "--json", "run.json", "--"])
            .args([python.as_os_str(), script.as_os_str()]),
    );
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = fs::read_to_string(directory.join("run.json")).expect("the JSON is there");
    let report: RunReport = serde_json::from_str(&text).expect("it is a report");
    let notes = report.notes.join("\n");
    assert!(notes.contains("Native code"), "{notes}");
    assert!(notes.contains("kernel.perf_event_paranoid") || notes.contains("--cap-add PERFMON"));
    // Python functions are found without them.
    assert!(
        own(&report)
            .functions
            .iter()
            .any(|f| f.function == "<genexpr>"),
        "{:#?}",
        own(&report).functions
    );
}
