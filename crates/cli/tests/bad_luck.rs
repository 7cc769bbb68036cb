//! Starts that crash or hang, memory that runs out, Ctrl-C, readers that leave: what
//! was measured is kept, and a message states what happened.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use preheat_model::lab::LabReport;
use support::{Directory, preheat, run, signal, wait_for};

/// A program that passes for a Python with torch, and then does `then` as its start.
/// `$1` is the file of lines.
fn fake_torch(directory: &Directory, then: &str) -> String {
    let script = format!(
        r#"#!/bin/sh
if [ "$1" = -c ]; then echo '{{"version": "3.99.0", "frameworks": [["torch", "9.9"]]}}'; exit 0; fi
output=$(printf '%s' "$2" | sed 's/.*"output":"\([^"]*\)".*/\1/')
echo '{{"line":"sample","name":"iteration","kind":"iterations","values":[1.0,0.1,0.1,0.1,0.1]}}' > "$output"
{then}
"#
    );
    directory.script("python", &script).display().to_string()
}

fn lab_with(python: &str, directory: &Directory, further: &[&str]) -> (support::Said, LabReport) {
    let json = directory.join("lab.json");
    let said = run(preheat()
        .args([
            "lab",
            "train",
            "--device",
            "cpu",
            "--framework",
            "torch",
            "--quick",
            "--starts",
            "3",
        ])
        .args(["--python", python])
        .args(further)
        .arg("--json")
        .arg(&json));
    let text =
        fs::read_to_string(&json).unwrap_or_else(|why| panic!("no JSON: {why}; {}", said.err));
    (said, serde_json::from_str(&text).expect("it is a report"))
}

/// The failures of torch's training, and what it measured all the same.
fn torch(report: &LabReport) -> (Vec<String>, usize) {
    let experiment = report
        .experiments
        .iter()
        .find(|e| e.framework.as_deref() == Some("torch"))
        .expect("torch was started");
    let failures = experiment
        .failures
        .iter()
        .map(|failure| failure.what.clone())
        .collect();
    (
        failures,
        experiment
            .series
            .iter()
            .map(|series| series.iterations.len())
            .sum(),
    )
}

#[test]
fn a_start_that_crashes_keeps_what_it_measured() {
    let directory = Directory::new();
    let python = fake_torch(&directory, "echo 'the driver is upset' >&2; kill -SEGV $$");
    let (said, report) = lab_with(&python, &directory, &[]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let (failures, kept) = torch(&report);
    // After two failures in a row the third start of a variant is not tried; there are two.
    assert_eq!((failures.len(), kept), (4, 4));
    assert!(
        failures[0].contains("signal 11") && failures[0].contains("the driver is upset"),
        "{failures:?}"
    );
    assert!(
        said.out.contains("signal 11"),
        "the terminal shows it too:\n{}",
        said.out
    );
}

#[test]
fn a_start_that_hangs_is_ended() {
    let directory = Directory::new();
    let python = fake_torch(&directory, "sleep 1000");
    let (said, report) = lab_with(&python, &directory, &["--start-limit", "1"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let (failures, kept) = torch(&report);
    assert_eq!((failures.len(), kept), (4, 4));
    assert!(failures[0].contains("--start-limit"), "{failures:?}");
}

#[test]
fn a_start_that_knows_why_it_fails_says_so() {
    let directory = Directory::new();
    let python = fake_torch(
        &directory,
        r#"echo '{"line":"failed","why":"the tensor cores are on strike"}' >> "$output"; exit 1"#,
    );
    let (_, report) = lab_with(&python, &directory, &[]);
    assert_eq!(torch(&report).0[0], "the tensor cores are on strike");
}

#[test]
fn memory_that_runs_out_ends_the_sweep_and_not_the_run() {
    let directory = Directory::new();
    let json = directory.join("lab.json");
    // 600 MB of address space, and one worker whatever the machine has: enough for the program and 256 MiB, not for 1 GiB.
    let script = format!(
        "ulimit -v 600000; exec taskset -c {} {} lab alloc --device cpu --framework none --starts 1 --json {}",
        first_cpu(),
        env!("CARGO_BIN_EXE_preheat"),
        json.display()
    );
    let said = run(Command::new("sh").arg("-c").arg(script));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let report = support::report(&json);
    let experiment = &report.experiments[0];
    assert_eq!(experiment.failures, []);
    assert_eq!(experiment.skipped.len(), 1);
    assert!(
        experiment.skipped[0].what.contains("1024 MiB"),
        "{:?}",
        experiment.skipped
    );
    assert!(
        experiment
            .series
            .iter()
            .any(|series| series.size == Some(64 << 20))
    );
    assert!(said.out.contains("not enough memory"), "{}", said.out);
}

/// A processor that this process may use.
fn first_cpu() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = list.and_then(|list| list.trim().split([',', '-']).next());
    first.expect("there is one").to_owned()
}

#[test]
fn ctrl_c_reports_what_was_measured_so_far() {
    let directory = Directory::new();
    let json = directory.join("lab.json");
    let ready = directory.join("ready");
    // The second start waits forever, and signals that it was reached.
    let python = fake_torch(
        &directory,
        &format!(
            r#"if [ -e {0} ]; then touch {0}.again; sleep 1000; fi
touch {0}; echo '{{"line":"end"}}' >> "$output""#,
            ready.display()
        ),
    );
    let mut child = preheat()
        .args([
            "lab",
            "train",
            "--device",
            "cpu",
            "--framework",
            "torch",
            "--quick",
            "--starts",
            "3",
        ])
        .args(["--python", &python])
        .arg("--json")
        .arg(&json)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    wait_for(&directory.join("ready.again"), &mut child);
    assert!(signal("-INT", &child));
    let mut out = String::new();
    child
        .stdout
        .take()
        .expect("it is piped")
        .read_to_string(&mut out)
        .expect("it prints UTF-8");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(out.contains("interrupted after"), "{out}");
    let report = support::report(&json);
    assert!(report.settings.ended_early.is_some());
    assert_eq!(torch(&report), (vec![], 1));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let script = format!(
        "{} lab --list | head -n 1; exit ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_preheat")
    );
    let said = run(Command::new("bash").arg("-c").arg(script));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
}

#[test]
fn a_temporary_directory_that_is_full_or_missing_is_a_sentence() {
    let said = run(preheat()
        .args([
            "lab",
            "init",
            "--device",
            "cpu",
            "--framework",
            "none",
            "--quick",
        ])
        .env("TMPDIR", "/nowhere"));
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("TMPDIR"), "{}", said.err);
}

#[test]
fn a_terminal_that_takes_nothing_does_not_cost_the_files() {
    let directory = Directory::new();
    let (json, html) = (directory.join("lab.json"), directory.join("lab.html"));
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("Linux has it");
    let said = run_with_stdout(
        preheat()
            .args([
                "lab",
                "init",
                "--device",
                "cpu",
                "--framework",
                "none",
                "--quick",
                "--starts",
                "1",
            ])
            .arg("--json")
            .arg(&json)
            .arg("--html")
            .arg(&html),
        full.into(),
    );
    assert_eq!(said, Some(125));
    assert!(json.exists() && html.exists());
}

fn run_with_stdout(command: &mut Command, stdout: Stdio) -> Option<i32> {
    let output = command.stdout(stdout).stderr(Stdio::null()).status();
    output.expect("the program starts").code()
}

#[test]
fn ctrl_c_before_anything_was_measured_leaves_an_older_result_alone() {
    let directory = Directory::new();
    let json = directory.join("lab.json");
    fs::write(&json, "precious").expect("it is written");
    let ready = directory.join("ready");
    // The Python that is found in PATH never answers.
    directory.script(
        "python3",
        &format!("#!/bin/sh\ntouch {}; sleep 1000\n", ready.display()),
    );
    let path = format!("{}:/usr/bin:/bin", directory.join("").display());
    let mut child = preheat()
        .args(["lab", "train", "--device", "cpu"])
        .arg("--json")
        .arg(&json)
        .env("PATH", path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    wait_for(&ready, &mut child);
    assert!(signal("-INT", &child));
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(fs::read_to_string(&json).expect("it exists"), "precious");
}

#[test]
fn a_signal_that_it_was_told_to_ignore_is_ignored() {
    let script = format!(
        "trap '' HUP; echo ready; exec {} lab init --device cpu --framework none --quick --starts 2",
        env!("CARGO_BIN_EXE_preheat")
    );
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(script)
        .stdout(Stdio::piped())
        .spawn()
        .expect("sh starts");
    let mut out = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
    stdout.read_line(&mut out).expect("it prints UTF-8");
    // Again and again, so that some come after the program has set itself up.
    while child.try_wait().expect("it can be asked").is_none() {
        signal("-HUP", &child);
    }
    stdout.read_to_string(&mut out).expect("it prints UTF-8");
    assert_eq!(child.wait().expect("it ended").code(), Some(0), "{out}");
}
