//! The experiments on a real OpenCL device, PoCL for one; skipped where there is none.

mod support;

use preheat_device::Kind;
use preheat_model::lab::{ExperimentId, names};
use support::{Directory, preheat, require, run};

#[test]
fn every_experiment_runs_on_opencl() {
    let directory = Directory::new();
    let json = directory.join("lab.json");
    let doctor = run(preheat().args(["doctor", "--json", "-"]));
    let document: serde_json::Value = serde_json::from_str(&doctor.out).expect("it is JSON");
    let devices = document["devices"].as_array().expect("a list of devices");
    let here = devices
        .iter()
        .any(|d| d["kind"] == Kind::OpenCl.id() && !d["device"].is_null());
    if require("opencl", here.then_some(())).is_none() {
        return;
    }
    let said = run(preheat()
        .args([
            "lab",
            "--device",
            "opencl",
            "--framework",
            "none",
            "--quick",
            "--starts",
            "1",
        ])
        .arg("--json")
        .arg(&json));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let report = support::report(&json);
    for id in ExperimentId::ALL {
        let experiment = report
            .experiments
            .iter()
            .find(|e| e.id == id && e.device == "opencl")
            .expect("it was run");
        assert_eq!(experiment.failures, [], "{}", id.id());
        assert!(!experiment.series.is_empty(), "{}", id.id());
    }
    // Claim 10 is about the CPU too: its training is compared with that of the device.
    assert!(
        report
            .experiments
            .iter()
            .any(|e| e.id == ExperimentId::Train && e.device == "cpu")
    );
    let has = |name: &str| {
        report
            .experiments
            .iter()
            .flat_map(|e| &e.series)
            .any(|s| s.name == name)
    };
    assert!(has(names::DEVICE_MEMORY) && has(names::SECOND_CONTEXT) && has(names::D2D));
}
