//! `preheat doctor`.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{Directory, preheat, python, run};

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

/// A virtual environment with one package.
fn environment(python: &Path) -> Directory {
    let directory = Directory::new();
    let mut command = Command::new(python);
    command.args(["-m", "venv", "--without-pip"]);
    let made = command.arg(directory.join("venv")).status();
    assert!(made.is_ok_and(|status| status.success()));
    let lib = fs::read_dir(directory.join("venv/lib")).unwrap().next();
    let packages = lib.unwrap().unwrap().path().join("site-packages/package");
    fs::create_dir(&packages).unwrap();
    fs::write(packages.join("__init__.py"), "").unwrap();
    fs::write(packages.join("inner.py"), "").unwrap();
    directory
}

#[test]
fn packages_without_bytecode_are_reported() {
    let Some(python) = python() else { return };
    let directory = environment(&python);
    let its_python = directory.join("venv/bin/python");
    let asked = |value: &str| {
        let mut command = preheat();
        command.arg("doctor").arg("--python").arg(&its_python);
        run(command
            .args(["--json", "-"])
            .env("PYTHONDONTWRITEBYTECODE", value))
    };
    let bytecode = |value: &str| {
        let said = asked(value);
        let document: serde_json::Value = serde_json::from_str(&said.out).expect("it is JSON");
        (
            document["python"]["bytecode"].clone(),
            document["advice"].clone(),
        )
    };
    let (found, advice) = bytecode("1");
    assert_eq!(
        (&found["modules"], &found["missing"]),
        (&2.into(), &2.into())
    );
    assert_eq!(found["writes"], false);
    let advice = advice.to_string();
    assert!(advice.contains("PYTHONDONTWRITEBYTECODE"), "{advice}");
    assert!(advice.contains("compileall"), "{advice}");
    let compiled = Command::new(&its_python)
        .args(["-m", "compileall", "-q"])
        .arg(directory.join("venv/lib"))
        .status();
    assert!(compiled.is_ok_and(|status| status.success()));
    let (found, advice) = bytecode("");
    assert_eq!(
        (&found["missing"], &found["writes"]),
        (&0.into(), &true.into())
    );
    assert!(!advice.to_string().contains("bytecode"), "{advice}");
}
