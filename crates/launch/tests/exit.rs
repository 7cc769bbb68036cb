//! How a command ends is how the launcher ends, and what cannot be started says why.

mod support;

use support::{Place, text};

#[test]
fn exit_codes_are_passed_on() {
    for code in [0, 3, 255] {
        let place = Place::new();
        let output = place.sh(&format!("exit {code}"));
        assert_eq!(output.status.code(), Some(code));
        let manifest = place.manifest();
        let start = &manifest.starts[0];
        assert_eq!(start.exit_code, code);
        assert!(start.exec > 0 && start.exec < start.end && start.pid > 0);
        assert!(start.peak_resident > 0);
    }
}

#[test]
fn a_signal_is_128_and_its_number() {
    let place = Place::new();
    let output = place.sh("kill -KILL $$");
    assert_eq!(output.status.code(), Some(137));
    assert_eq!(place.manifest().starts[0].exit_code, 137);
}

#[test]
fn what_does_not_exist_is_127_and_leaves_nothing() {
    let place = Place::new();
    let output = place.output(&[], &["no-such-program"]);
    assert_eq!(output.status.code(), Some(127));
    assert!(text(&output.stderr).contains("no-such-program"));
    assert!(!place.recording().exists());
}

#[test]
fn what_cannot_be_executed_is_126() {
    let place = Place::new();
    let output = place.output(&[], &["/etc/passwd"]);
    assert_eq!(output.status.code(), Some(126));
    let lost = place.script("lost", "#!/no/such/interpreter\n");
    let output = place.output(&[], &[&lost]);
    assert_eq!(output.status.code(), Some(126));
    let complaint = text(&output.stderr);
    assert!(complaint.contains("/no/such/interpreter"), "{complaint}");
}

#[test]
fn scripts_run_with_and_without_a_first_line() {
    for first in ["#!/bin/sh\n", "#!/usr/bin/env sh\n", ""] {
        let place = Place::new();
        let script = place.script("script", &format!("{first}echo \"$0 $1\"; exit 4"));
        let output = place.output(&["starts=1"], &[&script, "argument"]);
        assert_eq!(output.status.code(), Some(4));
        assert_eq!(text(&output.stdout), format!("{script} argument\n"));
    }
}

#[test]
fn one_failure_ends_the_series_and_two_end_one_that_was_asked_for() {
    for (words, made) in [(&[][..], 1), (&["starts=4"][..], 2)] {
        let place = Place::new();
        let output = place.output(words, &["sh", "-c", "exit 9"]);
        assert_eq!(output.status.code(), Some(9));
        let manifest = place.manifest();
        assert_eq!(manifest.starts.len(), made);
        let early = manifest.settings.ended_early.expect("it says so");
        assert!(early.contains("exit code 9"), "{early}");
    }
}

#[test]
fn a_command_is_started_as_often_as_asked() {
    let place = Place::new();
    place.output(&["starts=3"], &["true"]);
    let manifest = place.manifest();
    let directories: Vec<&str> = manifest
        .starts
        .iter()
        .map(|start| start.directory.as_str())
        .collect();
    assert_eq!(directories, ["start-1", "start-2", "start-3"]);
    assert_eq!(manifest.settings.ended_early, None);
    for start in &manifest.starts {
        assert!(place.recording().join(&start.directory).is_dir());
    }
}
