//! Measures remedies on real programs; later starts use those that save time.

use std::fs;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};

use preheat_model::measurement::{ConfigurationResult, MeasurementReport};
use preheat_model::run::RunReport;

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::{Said, python_with, run, signal, wait_for};
use warm::Warm;

use preheat_model::RemedyId;

/// Trains something small; its imports take most of its time.
const TRAINS: &str = "
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).square().mean().backward()
    optimizer.step()
print('trained')
";

/// Tests that measure run one at a time: they would disturb each other.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn torch() -> Option<Warm> {
    let warm = Warm::with(python_with("torch")?)?;
    fs::write(warm.directory.join("trains.py"), TRAINS).expect("it is written");
    Some(warm)
}

#[test]
fn remedies_that_help_are_used_by_later_starts() {
    let _alone = alone();
    let Some(warm) = torch() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let said = run(warm
        .preheat(&[
            "--measure",
            "--only",
            "warm-parent,loader-threads",
            "--starts",
            "6",
            "--json",
            "measurement.json",
            "--html",
            "measurement.html",
            "--output",
            "kinds",
            "--",
        ])
        .args([python, "trains.py"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = fs::read_to_string(warm.directory.join("measurement.json")).expect("it was written");
    let report: MeasurementReport = serde_json::from_str(&text).expect("it is a report");
    assert_eq!(report.iteration, "steps of SGD");
    assert_eq!(report.kept, [RemedyId::WarmParent], "{text}");
    let result = &report.remedies[0];
    let (predicted, alone) = (
        result.predicted.expect("it is"),
        result.alone.expect("it is"),
    );
    assert!(predicted > 0.0 && alone.value > 0.0);
    assert!(said.err.contains("Predicted and measured"), "{}", said.err);
    let spent = |configuration: &ConfigurationResult| {
        configuration
            .causes
            .iter()
            .map(|of| of.seconds)
            .sum::<f64>()
    };
    assert!(spent(&report.configurations[0]) > spent(&report.configurations[1]));
    shown_again(&warm, &said, &text);
    // A parent for recorded starts is of no use to others.
    assert_eq!(warm.count(), 0);
    let first = run(&mut warm.started(&[python, "trains.py"]));
    assert_eq!(first.out, "trained\n");
    warm.wait_for_parent();
    let second = run(&mut warm.started(&[python, "trains.py"]));
    assert!(second.err.contains("started warm"), "{}", second.err);
    assert_eq!(second.out, "trained\n");
    // A remedy that was not requested is not measured.
    let said = run(warm
        .preheat(&[
            "--measure",
            "--only",
            "lazy-loading",
            "--output",
            "other",
            "--",
        ])
        .args([python, "-c", "import json"]));
    assert!(!said.err.contains("warm parent"), "{}", said.err);
    // Forgotten, it has no parent any more.
    let said = run(warm
        .preheat(&["--forget", "--"])
        .args([python, "trains.py"]));
    assert_eq!((said.code, warm.count()), (Some(0), 0), "{}", said.err);
    // Decided otherwise, it is started otherwise.
    let said = run(warm
        .preheat(&["-v", "--only", "none", "--"])
        .args([python, "trains.py"]));
    assert!(!said.err.contains("warm"), "{}", said.err);
}

/// A measurement is shown again from its directory, as it was; what only a recording can do
/// it refuses.
fn shown_again(warm: &Warm, said: &Said, document: &str) {
    let page = fs::read_to_string(warm.directory.join("measurement.html")).expect("it was written");
    assert!(page.contains("Predicted and measured"));
    assert!(warm.directory.join("kinds/report.html").is_file());
    let ourselves = env!("CARGO_BIN_EXE_preheat");
    let again = run(&mut warm.plain(&[ourselves, "report", "kinds", "--json", "again.json"]));
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert_eq!(again.out, "wrote again.json\n");
    let again = run(&mut warm.plain(&[ourselves, "report", "kinds"]));
    assert!(said.err.contains(again.out.trim()), "{}", again.out);
    let kept = fs::read_to_string(warm.directory.join("again.json")).expect("it was written");
    assert_eq!(kept, document);
    let said = run(&mut warm.plain(&[ourselves, "check", "kinds", "--time-to-first", "1s"]));
    assert_eq!(said.code, Some(2));
    assert!(
        said.err.contains("name one of its recordings"),
        "{}",
        said.err
    );
    let said = run(&mut warm.plain(&[ourselves, "report", "kinds", "--csv", "-"]));
    assert_eq!(said.code, Some(2), "{}", said.err);
}

#[test]
fn an_interrupted_measurement_is_shown() {
    let _alone = alone();
    let Some(warm) = Warm::new() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let flags = ["--measure", "--only", "warm-parent", "--starts", "500"];
    let mut measuring = warm.preheat(&flags);
    measuring.args(["--output", "kinds", "--", python, "-c", "import decimal"]);
    measuring.stdin(Stdio::null()).stderr(Stdio::piped());
    let mut measuring = measuring.spawn().expect("preheat starts");
    let third = warm.directory.join("kinds/warm-parent/start-3");
    wait_for(&third, &mut measuring);
    assert!(signal("-INT", &measuring));
    let output = measuring.wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("Interrupted: nothing was decided"), "{err}");
    assert!(err.contains("warm parent"), "{err}");
    let kept = fs::read_to_string(warm.directory.join("kinds/measurement.json"));
    let report: MeasurementReport =
        serde_json::from_str(&kept.expect("it was written")).expect("it is a report");
    assert!(report.interrupted && report.kept.is_empty());
    assert!(report.configurations.iter().all(|of| !of.values.is_empty()));
}

#[test]
fn a_warm_start_is_recorded_as_any_other() {
    let _alone = alone();
    let Some(warm) = torch() else { return };
    let python = warm.python.to_str().expect("its path is text");
    let ourselves = env!("CARGO_BIN_EXE_preheat");
    let recorded = |name: &str, words: &[&str], starts: &str| {
        let mut command = warm.plain(&[ourselves, "run", "--starts", starts, "--output", name]);
        command.args(["--json", &format!("{name}.json"), "--"]);
        run(command
            .args([ourselves, "start", "-v", "--patience", "60"])
            .args(words))
    };
    let plain = recorded("first", &["--prepare", "--", python, "trains.py"], "1");
    assert_eq!(
        plain.code,
        Some(125),
        "nothing is known of it: {}",
        plain.err
    );
    let plain = recorded("plain", &["--", python, "trains.py"], "1");
    assert!(plain.err.contains("started plainly"), "{}", plain.err);
    warm.wait_for_parent();
    let said = recorded("warm", &["--", python, "trains.py"], "3");
    assert!(said.err.contains("started warm"), "{}", said.err);
    let read = |name: &str| -> RunReport {
        let text = fs::read_to_string(warm.directory.join(name)).expect("it was written");
        serde_json::from_str(&text).expect("it is a report")
    };
    let (plain, warmly) = (read("plain.json"), read("warm.json"));
    assert_eq!(warmly.iteration, "steps of SGD");
    assert_eq!(
        warmly.starts[1].iterations.len(),
        plain.starts[0].iterations.len()
    );
    let imports = |report: &RunReport| -> f64 {
        let of = |name: &str| {
            let causes = report.causes.iter().filter(|of| of.cause.as_str() == name);
            causes.map(|cause| cause.seconds).sum::<f64>()
        };
        of("Python imports") + of("library loading")
    };
    // A parent that is ready before the start costs no time in it.
    assert!(
        imports(&warmly) < 0.2 * imports(&plain),
        "{:?}",
        warmly.causes
    );
    let damaged = warmly.notes.iter().find(|note| note.contains("cannot be"));
    assert_eq!(damaged, None);
    assert!(warmly.starts.iter().all(|start| !start.damaged));
}

#[test]
fn commands_that_cannot_be_measured_give_a_reason() {
    let _alone = alone();
    let Some(warm) = Warm::new() else { return };
    let said = run(warm
        .preheat(&["--measure", "--only", "warm-parent", "--", "true"])
        .arg("x"));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.err.contains("no remedy applies"), "{}", said.err);
    let said = run(&mut warm.preheat(&["--measure", "--output", "failed", "--", "false"]));
    assert_eq!(said.code, Some(125));
    assert!(said.err.contains("a program that succeeds"), "{}", said.err);
    let said = run(&mut warm.preheat(&["--measure", "--", "there-is-no-such-program"]));
    assert_eq!(said.code, Some(127));
    let said = run(&mut warm.preheat(&["--starts", "3", "--", "true"]));
    assert_eq!(said.code, Some(2), "only a measurement has starts");
    for wrong in [["--starts", "3"], ["--only", "none"]] {
        let said = run(warm
            .preheat(&["--measure"])
            .args(wrong)
            .args(["--", "true"]));
        assert_eq!(said.code, Some(2), "{}", said.err);
    }
    let said = run(&mut warm.preheat(&["--only", "none,prefetch", "--", "true"]));
    assert_eq!(said.code, Some(2));
    let said = run(&mut warm.preheat(&["--only", "magic", "--", "true"]));
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("warm-parent"), "{}", said.err);
    let said = run(&mut warm.preheat(&["--from", "nowhere", "--", "true"]));
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("as a recording"), "{}", said.err);
}
