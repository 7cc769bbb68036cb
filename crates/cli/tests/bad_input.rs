//! Wrong usage: a message that states what happened and what to try, and exit code 2.

mod support;

use std::fs;

use support::{Directory, preheat, run};

/// The arguments are refused with exit code 2, and the message has these words.
fn refused(arguments: &[&str], words: &[&str]) {
    let said = run(preheat().args(arguments));
    assert_eq!(said.code, Some(2), "{arguments:?}: {}", said.err);
    assert_eq!(said.out, "", "{arguments:?}");
    for word in words {
        assert!(
            said.err.contains(word),
            "{arguments:?} does not say {word:?}: {}",
            said.err
        );
    }
    assert!(!said.err.contains("panicked"), "{}", said.err);
}

#[test]
fn unknown_names_are_answered_with_the_known_ones() {
    refused(&["lab", "alocc"], &["alocc", "alloc", "train-no-optimizer"]);
    refused(&["lab", "--device", "tpu"], &["tpu", "opencl"]);
    refused(&["lab", "--framework", "caffe"], &["caffe", "tensorflow"]);
    refused(&["lab", "--starts", "0"], &["--starts", "1 to 10000"]);
    refused(
        &["lab", "--start-limit", "never"],
        &["--start-limit", "seconds"],
    );
    refused(&["frobnicate"], &["frobnicate"]);
    refused(&["run", "--strats", "3", "--", "true"], &["--starts"]);
    refused(&["start", "--lst"], &["--list"]);
}

#[test]
fn a_python_that_is_not_there() {
    refused(
        &["lab", "--quick", "--python", "/nowhere/python3"],
        &["/nowhere/python3", "--python"],
    );
    refused(
        &["lab", "--quick", "--python", "/bin/true"],
        &["/bin/true", "--python"],
    );
}

#[test]
fn a_python_without_the_framework() {
    let directory = Directory::new();
    let python = directory.script(
        "python",
        "#!/bin/sh\necho '{\"version\": \"3.99.0\", \"frameworks\": []}'\n",
    );
    let path = python.display().to_string();
    refused(
        &["lab", "--framework", "torch", "--python", &path],
        &["3.99.0", "no torch", "pip install torch"],
    );
}

#[test]
fn an_output_that_cannot_be_written_is_found_before_anything_is_measured() {
    refused(
        &["lab", "--json", "/nowhere/lab.json"],
        &["--json", "/nowhere/lab.json"],
    );
    refused(
        &["lab", "--html", "/nowhere/lab.html"],
        &["--html", "/nowhere/lab.html"],
    );
    refused(
        &["doctor", "--json", "/nowhere/doctor.json"],
        &["--json", "/nowhere/doctor.json"],
    );
}

#[test]
fn an_old_result_survives_a_refusal() {
    let directory = Directory::new();
    let json = directory.join("lab.json");
    fs::write(&json, "precious").expect("it is written");
    let path = json.display().to_string();
    refused(
        &["lab", "--json", &path, "--python", "/nowhere/python3"],
        &["/nowhere/python3"],
    );
    assert_eq!(fs::read_to_string(&json).expect("it exists"), "precious");
    let fresh = directory.join("new.json");
    let path = fresh.display().to_string();
    refused(
        &["lab", "--json", &path, "--python", "/nowhere/python3"],
        &["/nowhere/python3"],
    );
    assert!(!fresh.exists(), "a refused run leaves no empty file");
}

#[test]
fn a_device_that_is_not_here_says_why() {
    // Where the machine has CUDA the same command is right: hide its library.
    let said = run(preheat()
        .args([
            "lab",
            "init",
            "--quick",
            "--framework",
            "none",
            "--device",
            "cuda",
        ])
        .env("CUDA_VISIBLE_DEVICES", ""));
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(
        said.err.contains("cuda") && said.err.contains("preheat doctor"),
        "{}",
        said.err
    );
}

#[test]
fn two_results_need_two_places() {
    refused(
        &["lab", "--json", "-", "--html", "-"],
        &["--json and --html"],
    );
    refused(
        &["lab", "--json", "one", "--html", "./one"],
        &["--json and --html"],
    );
}

#[test]
fn a_link_that_points_nowhere_is_left_alone() {
    let directory = Directory::new();
    let link = directory.join("link");
    std::os::unix::fs::symlink(directory.join("nothing"), &link).expect("it is linked");
    let path = link.display().to_string();
    refused(
        &["lab", "--json", &path, "--python", "/nowhere/python3"],
        &["/nowhere/python3"],
    );
    assert!(fs::symlink_metadata(&link).expect("it exists").is_symlink());
}

#[test]
fn an_experiment_that_a_framework_does_not_have_is_said() {
    let directory = Directory::new();
    let python = directory.script(
        "python",
        "#!/bin/sh\necho '{\"version\": \"3.99.0\", \"frameworks\": [[\"jax\", \"9.9\"]]}'\n",
    );
    let said = run(preheat()
        .args([
            "lab",
            "init",
            "--device",
            "cpu",
            "--quick",
            "--starts",
            "1",
            "--framework",
            "jax",
        ])
        .arg("--python")
        .arg(python));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.err.contains("init is not measured with jax"),
        "{}",
        said.err
    );
    // A single occurrence has a headline too.
    assert!(
        said.out.starts_with("The steps of init take "),
        "{}",
        said.out
    );
}
