//! The launcher ends with the exit code of its command; commands that cannot be started
//! have clear errors.

mod support;

use support::{Scratch, text};

#[test]
fn exit_codes_are_passed_on() {
    for code in [0, 3, 255] {
        let scratch = Scratch::new();
        let output = scratch.sh(&format!("exit {code}"));
        assert_eq!(output.status.code(), Some(code));
        let manifest = scratch.manifest();
        let start = &manifest.starts[0];
        assert_eq!(start.exit_code, code);
        assert!(start.exec > 0 && start.exec < start.end && start.pid > 0);
        assert!(start.peak_resident > 0);
    }
}

#[test]
fn a_signal_is_128_and_its_number() {
    let scratch = Scratch::new();
    let output = scratch.sh("kill -KILL $$");
    assert_eq!(output.status.code(), Some(137));
    assert_eq!(scratch.manifest().starts[0].exit_code, 137);
}

#[test]
fn a_missing_program_is_127_and_leaves_nothing() {
    let scratch = Scratch::new();
    let output = scratch.output(&[], &["no-such-program"]);
    assert_eq!(output.status.code(), Some(127));
    assert!(text(&output.stderr).contains("no-such-program"));
    assert!(!scratch.recording().exists());
}

#[test]
fn a_program_that_is_not_executable_is_126() {
    let scratch = Scratch::new();
    let output = scratch.output(&[], &["/etc/passwd"]);
    assert_eq!(output.status.code(), Some(126));
    let lost = scratch.script("lost", "#!/no/such/interpreter\n");
    let output = scratch.output(&[], &[&lost]);
    assert_eq!(output.status.code(), Some(126));
    let complaint = text(&output.stderr);
    assert!(complaint.contains("/no/such/interpreter"), "{complaint}");
}

#[test]
fn scripts_run_with_and_without_a_shebang() {
    for first in ["#!/bin/sh\n", "#!/usr/bin/env sh\n", ""] {
        let scratch = Scratch::new();
        let script = scratch.script("script", &format!("{first}echo \"$0 $1\"; exit 4"));
        let output = scratch.output(&["starts=1"], &[&script, "argument"]);
        assert_eq!(output.status.code(), Some(4));
        assert_eq!(text(&output.stdout), format!("{script} argument\n"));
    }
}

#[test]
fn one_failure_ends_a_default_series_and_two_a_requested_one() {
    for (words, made) in [(&[][..], 1), (&["starts=4"][..], 2)] {
        let scratch = Scratch::new();
        let output = scratch.output(words, &["sh", "-c", "exit 9"]);
        assert_eq!(output.status.code(), Some(9));
        let manifest = scratch.manifest();
        assert_eq!(manifest.starts.len(), made);
        let early = manifest.settings.ended_early.expect("it is reported");
        assert!(early.contains("exit code 9"), "{early}");
        assert_eq!(manifest.settings.ended_with, Some(9));
    }
}

#[test]
fn the_requested_number_of_starts_is_made() {
    let scratch = Scratch::new();
    scratch.output(&["starts=3"], &["true"]);
    let manifest = scratch.manifest();
    let directories: Vec<&str> = manifest
        .starts
        .iter()
        .map(|start| start.directory.as_str())
        .collect();
    assert_eq!(directories, ["start-1", "start-2", "start-3"]);
    assert_eq!(manifest.settings.ended_early, None);
    for start in &manifest.starts {
        assert!(scratch.recording().join(&start.directory).is_dir());
    }
}

#[test]
fn the_peak_size_of_a_fast_command_is_exact() {
    let scratch = Scratch::new();
    // A start of a few milliseconds ends before it was sampled at its largest.
    let allocate = "b = bytearray(b'x') * (12 << 20)";
    scratch.output(&["starts=5"], &["python3", "-S", "-c", allocate]);
    let starts = scratch.manifest().starts;
    let peaks: Vec<u64> = starts.iter().map(|start| start.peak_resident).collect();
    let bounds = 12 << 20..32 << 20;
    assert!(peaks.iter().all(|peak| bounds.contains(peak)), "{peaks:?}");
}

#[test]
fn the_peak_size_of_later_starts_is_that_of_the_command() {
    let scratch = Scratch::new();
    // Small and fast: after the first start, this process is larger.
    let own = "import sys
text = open('/proc/self/status').read()
print(text.split('VmHWM:')[1].split()[0], file=open(sys.argv[1], 'a'))";
    let seen = scratch.recording().with_extension("seen");
    let file = seen.to_str().expect("a plain path");
    scratch.output(&["starts=6"], &["python3", "-S", "-c", own, file]);
    let seen = std::fs::read_to_string(file).expect("the command wrote its size");
    let seen: Vec<u64> = (seen.lines())
        .map(|kib| kib.parse::<u64>().expect("a number") << 10)
        .collect();
    let starts = scratch.manifest().starts;
    assert_eq!(seen.len(), starts.len());
    // At the end of a process, the kernel adds up counters that lag behind by some pages.
    const LAG: u64 = 1 << 20;
    for (start, seen) in starts.iter().zip(seen) {
        let peak = start.peak_resident;
        assert!(peak + LAG >= seen, "{peak} < {seen}");
    }
}
