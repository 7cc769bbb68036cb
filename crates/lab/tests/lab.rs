//! The lab as a library: what a request plans, and what a run keeps of starts that crash or hang.
//!
//! Without the usual harness: each start executes this program again.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use preheat_device::Kind;
use preheat_host::Scratch;
use preheat_lab::{
    CHILD_ARGUMENT, DeviceChoice, Framework, FrameworkChoice, PROBE_ARGUMENT, Plan, Request,
    child_main, probe_main, run,
};
use preheat_model::lab::{ExperimentId, Measured, Outcome};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_deref().and_then(|first| first.to_str()) {
        Some(CHILD_ARGUMENT) => return child_main(arguments),
        Some(PROBE_ARGUMENT) => return probe_main(arguments),
        _ => {}
    }
    let tests: [(&str, fn()); 7] = [
        ("a_request_is_planned", a_request_is_planned),
        ("a_quick_plan_is_shorter", a_quick_plan_is_shorter),
        ("no_device_is_an_error", no_device_is_an_error),
        (
            "a_python_without_the_framework",
            a_python_without_the_framework,
        ),
        ("native_starts_are_measured", native_starts_are_measured),
        (
            "starts_that_crash_are_given_up",
            starts_that_crash_are_given_up,
        ),
        ("starts_that_hang_are_ended", starts_that_hang_are_ended),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
    println!("test result: ok. {} passed; 0 failed", tests.len());
    ExitCode::SUCCESS
}

/// One experiment on the CPU, without frameworks.
fn request(experiment: ExperimentId) -> Request {
    Request {
        experiments: vec![experiment],
        devices: vec![DeviceChoice::Kind(Kind::Cpu)],
        frameworks: FrameworkChoice::None,
        python: None,
        starts: Some(3),
        quick: false,
        seed: 1,
        budget: None,
        start_limit: Duration::from_secs(60),
    }
}

fn plan(request: &Request) -> Plan {
    Plan::new(request).expect("the cpu device is always available")
}

fn a_request_is_planned() {
    let plan = plan(&Request {
        experiments: vec![
            ExperimentId::Launch,
            ExperimentId::Init,
            ExperimentId::Launch,
        ],
        ..request(ExperimentId::Init)
    });
    let mut experiments: Vec<ExperimentId> =
        plan.setups.iter().map(|setup| setup.experiment).collect();
    experiments.dedup();
    // In the order of the list, each once.
    assert_eq!(experiments, [ExperimentId::Init, ExperimentId::Launch]);
    for setup in &plan.setups {
        assert_eq!((setup.starts, setup.subject.device.as_str()), (3, "cpu"));
    }
    assert_eq!(
        (plan.budget, plan.python, plan.remarks.len()),
        (None, None, 0)
    );
}

fn a_quick_plan_is_shorter() {
    let all = Request {
        experiments: Vec::new(),
        starts: None,
        ..request(ExperimentId::Init)
    };
    let starts = |quick| {
        let plan = plan(&Request {
            quick,
            ..all.clone()
        });
        let sum: usize = plan.setups.iter().map(|setup| setup.starts).sum();
        (sum, plan.budget.expect("there is one by default"))
    };
    let (quick, thorough) = (starts(true), starts(false));
    assert!(
        quick.0 < thorough.0 && quick.1 < thorough.1,
        "{quick:?} {thorough:?}"
    );
}

fn no_device_is_an_error() {
    let none = Request {
        devices: Vec::new(),
        ..request(ExperimentId::Init)
    };
    let why = Plan::new(&none).expect_err("nothing can be measured");
    assert!(why.to_string().contains("--device auto"), "{why}");
}

/// A replacement for Python that lists frameworks, and then executes `does` in each start.
fn python(directory: &Path, lists: &str, does: &str) -> PathBuf {
    let path = directory.join("python");
    let answer = format!(r#"{{"version": "3.11.0", "frameworks": [{lists}]}}"#);
    let script = format!("#!/bin/sh\n[ \"$1\" = -c ] && {{ echo '{answer}'; exit 0; }}\n{does}\n");
    fs::write(&path, script).expect("it is written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    path
}

fn with_torch(python: PathBuf) -> Request {
    Request {
        frameworks: FrameworkChoice::One(Framework::Torch),
        python: Some(python),
        start_limit: Duration::from_secs(5),
        ..request(ExperimentId::TrainInitialized)
    }
}

fn a_python_without_the_framework() {
    let scratch = Scratch::new("lab-test").expect("a directory");
    let path = python(scratch.path(), "", "exit 0");
    let why = Plan::new(&with_torch(path))
        .expect_err("it has no PyTorch")
        .to_string();
    assert!(
        why.contains("has no torch") && why.contains("pip install torch"),
        "{why}"
    );
}

/// Runs a plan, and checks the reports on its progress.
fn measured(plan: &Plan) -> Measured {
    let (mut reported, mut total) = (Vec::new(), 0);
    let measured = run(plan, vec!["lab".into()], |progress| {
        reported.push(progress.done);
        total = progress.total;
    });
    assert_eq!(reported, (0..total).collect::<Vec<_>>());
    measured.expect("processes can be started")
}

fn native_starts_are_measured() {
    let plan = plan(&request(ExperimentId::Init));
    let measured = measured(&plan);
    assert_eq!(measured.setups.len(), plan.setups.len());
    for setup in &measured.setups {
        assert_eq!(setup.starts.len(), 3);
        for start in &setup.starts {
            assert_eq!(start.outcome, Outcome::Completed);
            assert!(!start.samples.is_empty());
        }
    }
    assert_eq!(measured.settings.ended_early, None);
}

/// The outcomes of the PyTorch starts, for each setup. Native starts lose nothing.
fn outcomes(does: &str) -> Vec<Vec<Outcome>> {
    let scratch = Scratch::new("lab-test").expect("a directory");
    let path = python(scratch.path(), r#"["torch", "9.9"]"#, does);
    let plan = Plan::new(&with_torch(path)).expect("it lists PyTorch");
    let (mut torch, mut native) = (Vec::new(), Vec::new());
    for setup in measured(&plan).setups {
        let outcomes = setup.starts.into_iter().map(|start| start.outcome);
        match setup.subject.framework {
            Some(_) => torch.push(outcomes.collect()),
            None => native.extend(outcomes),
        }
    }
    assert!(!torch.is_empty() && !native.is_empty());
    assert!(
        native.iter().all(|outcome| *outcome == Outcome::Completed),
        "{native:?}"
    );
    torch
}

fn starts_that_crash_are_given_up() {
    for starts in outcomes("echo nonsense; echo cannot allocate memory >&2; exit 3") {
        assert_eq!(starts.len(), 2, "{starts:?}");
        for outcome in starts {
            let Outcome::Failed(why) = outcome else {
                panic!("{outcome:?}")
            };
            assert!(why.contains("cannot allocate memory"), "{why}");
        }
    }
}

fn starts_that_hang_are_ended() {
    for starts in outcomes("exec sleep 600") {
        assert_eq!(starts.len(), 2, "{starts:?}");
        assert!(
            matches!(&starts[0], Outcome::Failed(why) if why.contains('5')),
            "{starts:?}"
        );
    }
}
