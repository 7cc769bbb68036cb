//! Ground truth: programs with costs that are known, because the program itself timed what
//! was planted. The report has to find each at its cause, within a tenth.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use preheat_model::run::{Cause, IterationsBy, RegionReport, RunReport};

mod support;
use support::{Directory, python, require};

/// An installed module, whose clock readings are not the program's. Burns processor time until `seconds` of it have gone.
const BURN: &str = "
import time
def used_so_far():
    return time.process_time()
def burn(seconds):
    began = time.perf_counter()
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    return time.perf_counter() - began
";

/// Runs `script` with `preheat run`, and returns the report and the times in its `planted.json`.
fn recorded(directory: &Directory, script: &str, flags: &[&str]) -> Option<(RunReport, Planted)> {
    // One at a time: contention for the processor would lengthen the planted idle time.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let python = require("python", python())?;
    let installed = directory.join("site-packages");
    fs::create_dir(&installed).unwrap();
    fs::write(installed.join("burning.py"), BURN).unwrap();
    fs::write(directory.join("program.py"), script).unwrap();
    let flags = [&["--starts", "1"], flags].concat();
    let command = [python.as_os_str(), "program.py".as_ref()];
    let path = [("PYTHONPATH", installed.display().to_string())];
    let report = support::recorded(directory, &flags, command, &path);
    let planted = fs::read_to_string(directory.join("planted.json")).unwrap();
    Some((report, Planted(serde_json::from_str(&planted).unwrap())))
}

/// The costs that the program reports to have planted, in seconds.
struct Planted(serde_json::Value);

impl Planted {
    fn seconds(&self, name: &str) -> f64 {
        self.0[name].as_f64().expect("the program writes it")
    }
}

fn seconds(report: &RunReport, cause: Cause) -> f64 {
    let found = report.causes.iter().find(|found| found.cause == cause);
    found.map_or(0.0, |found| found.seconds)
}

/// Seconds of waiting, without waiting for a processor: others use this machine too.
fn waiting(report: &RunReport) -> f64 {
    let idle = report
        .causes
        .iter()
        .filter(|found| found.cause == Cause::Idle);
    let items = idle.flat_map(|found| &found.items);
    let own = items.filter(|item| item.name != "waiting for a processor");
    own.map(|item| item.seconds).sum()
}

/// Within a tenth of what was planted.
fn near(found: f64, planted: f64) -> bool {
    (found - planted).abs() <= planted / 10.0
}

/// The causes add up to the time to first.
fn adds_up(report: &RunReport) -> bool {
    let sum: f64 = report.causes.iter().map(|cause| cause.seconds).sum();
    (sum - report.time_to_first.value).abs() <= report.time_to_first.value / 100.0
}

#[test]
fn a_slow_import_is_found_with_who_asked_for_it() {
    let directory = Directory::new();
    fs::write(
        directory.join("heavy.py"),
        "from burning import burn\ntook = burn(0.5)\n",
    )
    .unwrap();
    fs::write(
        directory.join("middle.py"),
        "def build():\n    import heavy\n    return heavy.took\n",
    )
    .unwrap();
    let script = "
import json, middle
took = middle.build()
json.dump({'import': took}, open('planted.json', 'w'))
";
    let Some((report, planted)) = recorded(&directory, script, &[]) else {
        return;
    };
    assert!(adds_up(&report));
    let imports = report
        .causes
        .iter()
        .find(|cause| cause.cause == Cause::PythonImports)
        .expect("there are imports");
    let heavy = imports
        .items
        .iter()
        .find(|item| item.name == "heavy")
        .expect("the slow one is among the items");
    assert!(near(heavy.seconds, planted.seconds("import")), "{heavy:?}");
    assert!(heavy.detail.contains("middle"), "{}", heavy.detail);
    assert!(heavy.detail.contains("program.py:3"), "{}", heavy.detail);
}

#[test]
fn a_slow_constructor_of_a_library_is_library_loading() {
    let directory = Directory::new();
    let source = directory.join("slow.c");
    fs::write(
        &source,
        "#include <time.h>\n#include <stdio.h>\n
        double planted;
        static double now(clockid_t id) { struct timespec t; clock_gettime(id, &t); return t.tv_sec + t.tv_nsec / 1e9; }
        __attribute__((constructor)) static void begin(void) {
            double wall = now(CLOCK_MONOTONIC), until = now(CLOCK_THREAD_CPUTIME_ID) + 0.3;
            while (now(CLOCK_THREAD_CPUTIME_ID) < until) ;
            planted = now(CLOCK_MONOTONIC) - wall;
        }",
    )
    .unwrap();
    if !compiled(
        &source,
        &directory.join("libslow.so"),
        &["-shared", "-fPIC"],
    ) {
        return;
    }
    let script = "
import ctypes, json
library = ctypes.CDLL('./libslow.so')
took = ctypes.c_double.in_dll(library, 'planted').value
json.dump({'constructor': took}, open('planted.json', 'w'))
";
    let Some((report, planted)) = recorded(&directory, script, &[]) else {
        return;
    };
    assert!(adds_up(&report));
    let loading = report
        .causes
        .iter()
        .find(|cause| cause.cause == Cause::LibraryLoading)
        .expect("there is library loading");
    let slow = loading
        .items
        .iter()
        .find(|item| item.name == "libslow.so")
        .expect("the slow one is among the items");
    assert!(
        near(slow.seconds, planted.seconds("constructor")),
        "{slow:?}"
    );
}

#[test]
fn work_and_waiting_are_told_apart_in_a_slow_first_iteration() {
    let directory = Directory::new();
    let script = "
import json, time
from burning import burn
planted = {}
began = time.process_time()
burn(0.4)
planted['own'] = time.process_time() - began
began = time.perf_counter()
time.sleep(0.5)
planted['idle'] = time.perf_counter() - began
iterations = []
before = time.perf_counter()
for number in range(30):
    print('step', number, flush=True)
    time.sleep(0.02)
    iterations.append(time.perf_counter() - before)
    before = time.perf_counter()
planted['steady'] = sorted(iterations)[15]
json.dump(planted, open('planted.json', 'w'))
";
    let Some((report, planted)) = recorded(&directory, script, &["--iterations", "lines:^step"])
    else {
        return;
    };
    assert!(adds_up(&report));
    assert_eq!(report.iterations_by, IterationsBy::Lines);
    assert_eq!(report.starts[0].iterations.len(), 30);
    assert!(near(report.steady.unwrap(), planted.seconds("steady")));
    let idle = waiting(&report) + seconds(&report, Cause::SteadyWork);
    assert!(near(idle, planted.seconds("idle")), "{idle}");
    let own = seconds(&report, Cause::OwnCpu);
    assert!(near(own, planted.seconds("own")), "{own}");
}

#[test]
fn a_program_without_repetition_is_explained_to_its_end() {
    let directory = Directory::new();
    let script = "
import json
from burning import burn, used_so_far
began = used_so_far()
burn(0.4)
json.dump({'own': used_so_far() - began}, open('planted.json', 'w'))
";
    let Some((report, planted)) = recorded(&directory, script, &[]) else {
        return;
    };
    assert!(adds_up(&report));
    assert_eq!(report.iterations_by, IterationsBy::None);
    assert!(near(
        seconds(&report, Cause::OwnCpu),
        planted.seconds("own")
    ));
    assert!(seconds(&report, Cause::Unexplained) <= report.time_to_first.value / 20.0);
}

#[test]
fn a_region_that_the_program_times_is_explained() {
    let directory = Directory::new();
    let script = "
import json, time
from burning import burn
planted = {}
start = time.perf_counter()
burn(0.2)
time.sleep(0.3)
planted['first'] = time.perf_counter() - start

start = time.perf_counter()
time.sleep(0.1)
end = time.perf_counter()
planted['second'] = end - start
json.dump(planted, open('planted.json', 'w'))
";
    let Some((report, planted)) = recorded(&directory, script, &[]) else {
        return;
    };
    assert!(adds_up(&report));
    assert_eq!(report.iterations_by, IterationsBy::Timers);
    let regions: Vec<&RegionReport> = (report.regions.iter())
        .filter(|region| region.name.starts_with("program.py"))
        .collect();
    let lines: Vec<_> = (regions.iter())
        .map(|region| (region.from.unwrap(), region.to.unwrap()))
        .collect();
    assert_eq!(lines, [(5, 8), (10, 12)]);
    for (region, name) in regions.iter().zip(["first", "second"]) {
        // The recording's own clock and the program's: the same two instants.
        assert!(
            near(region.first.value, planted.seconds(name)),
            "{region:?}"
        );
        let sum: f64 = region.causes.iter().map(|part| part.seconds).sum();
        assert!((sum - region.first.value).abs() < 1e-6, "{region:?}");
    }
    let idle = |region: &RegionReport| {
        let causes = region.causes.iter();
        let idle = causes.filter(|part| part.cause == Cause::Idle);
        idle.map(|part| part.seconds).sum::<f64>()
    };
    assert!(idle(regions[0]) > 0.5 * regions[0].first.value);
    assert!(idle(regions[1]) > 0.9 * regions[1].first.value);
}

#[test]
fn short_computing_regions_are_not_idle() {
    let directory = Directory::new();
    // Each region is shorter than the interval between two samples, and waits for a
    // processor that other processes use.
    let script = "
import json, subprocess, sys, time
from burning import used_so_far
busy = [subprocess.Popen([sys.executable, '-S', '-c', 'while True: pass']) for _ in range(3)]
planted = {}
def work(size):
    used = used_so_far()
    sum(i * i for i in range(size))
    return used_so_far() - used

start = time.perf_counter()
planted['first_used'] = work(2000)
planted['first'] = time.perf_counter() - start

start = time.perf_counter()
planted['second_used'] = work(8000)
planted['second'] = time.perf_counter() - start

start = time.perf_counter()
planted['third_used'] = work(30000)
planted['third'] = time.perf_counter() - start
for process in busy:
    process.kill()
    process.wait()
json.dump(planted, open('planted.json', 'w'))
";
    let Some((report, planted)) = recorded(&directory, script, &[]) else {
        return;
    };
    let regions: Vec<&RegionReport> = (report.regions.iter())
        .filter(|region| region.name.starts_with("program.py"))
        .collect();
    assert_eq!(regions.len(), 3, "{regions:?}");
    for (region, name) in regions.iter().zip(["first", "second", "third"]) {
        let (wall, used) = (
            planted.seconds(name),
            planted.seconds(&format!("{name}_used")),
        );
        let causes = region.causes.iter();
        let idle = causes.filter(|part| part.cause == Cause::Idle);
        let idle: f64 = idle.map(|part| part.seconds).sum();
        assert!(
            idle <= wall - used + 0.1 * wall,
            "{wall} s, {used} s of CPU time: {region:?}"
        );
    }
}

/// Compiles a C file; prints a line and returns false without a compiler.
fn compiled(source: &Path, to: &Path, flags: &[&str]) -> bool {
    let done = Command::new("gcc")
        .args(flags)
        .arg("-O1")
        .arg("-o")
        .arg(to)
        .arg(source)
        .status();
    match done {
        Ok(status) => {
            assert!(status.success(), "gcc compiles {}", source.display());
            true
        }
        Err(_) => require("gcc", None::<()>).is_some(),
    }
}
