//! `preheat doctor`.

mod support;

use support::{preheat, run};

#[test]
fn the_cpu_device_is_always_there_and_what_is_missing_has_a_reason() {
    let said = run(preheat().args(["doctor", "--json", "-"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let document: serde_json::Value = serde_json::from_str(&said.out).expect("it is JSON");
    assert_eq!(document["schema"], "preheat.doctor/1");
    for device in document["devices"].as_array().expect("a list") {
        assert_ne!(
            device["device"].is_null(),
            device["missing"].is_null(),
            "{device}"
        );
        assert!(device["kind"] != "cpu" || !device["device"].is_null());
    }
}

#[test]
fn the_text_names_every_device_and_framework() {
    let said = run(preheat().arg("doctor").env("COLUMNS", "80"));
    assert_eq!(said.code, Some(0));
    for word in ["cuda", "opencl", "cpu", "nvrtc", "--device auto"] {
        assert!(said.out.contains(word), "{word} is missing:\n{}", said.out);
    }
    assert!(
        said.out.lines().all(|line| line.chars().count() <= 80),
        "{}",
        said.out
    );
}

#[test]
fn a_python_that_is_not_there_is_advice_and_no_failure() {
    let said = run(preheat().args(["doctor", "--python", "/nowhere/python3"]));
    assert_eq!(said.code, Some(0));
    assert!(said.out.contains("/nowhere/python3"), "{}", said.out);
}
