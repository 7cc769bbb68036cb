//! NVTX ranges: from a program that does the same as the NVTX header, and from the Python
//! package.

mod support;

use preheat_wire::Kind;
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;
use support::{Entry, Process, Scratch, compile, missing, read, recorded, shim};

/// Ranges ordered by their beginning: name, domain, and whether it is still open.
fn ranges(process: &Process) -> Vec<(String, String, bool)> {
    let texts: HashMap<u64, String> = process
        .of(Kind::Text)
        .iter()
        .map(|found| (found.record.value, found.text(0)))
        .collect();
    let text = |number: u64| texts.get(&number).cloned().unwrap_or_default();
    let one = |found: &&Entry| {
        let record = &found.record;
        (
            text(record.value),
            text(record.status as u64),
            record.end == 0,
        )
    };
    let mut found = process.of(Kind::Range);
    found.sort_by_key(|found| found.record.begin);
    found.iter().map(one).collect()
}

#[test]
fn ranges_marks_domains_and_registered_texts() {
    let scratch = Scratch::new();
    let program = scratch.join("nvtx");
    if !compile(
        include_str!("hooks/nvtx.c"),
        &program,
        &["-ldl", "-pthread"],
    ) {
        return;
    }
    let directory = scratch.recording();
    let done = recorded(program.to_str().unwrap(), &directory)
        .env("NVTX_INJECTION64_PATH", shim())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert_eq!(said, format!("1\n{}", "-2 -2 -2 -2\n".repeat(3)));
    let process = &read(&directory)[0];
    let expected: Vec<(String, String, bool)> = [
        ("step", "", false),
        ("wärm", "", false),
        ("step", "", false),
        ("wärm", "", false),
        ("step", "", false),
        ("wärm", "", false),
        ("here", "", false),
        ("outer", "", false),
        ("registered", "library", false),
        ("", "", false),
        ("", "", false),
        ("across threads", "", false),
        ("open", "", true),
    ]
    .map(|(name, domain, open)| (name.to_owned(), domain.to_owned(), open))
    .into();
    assert_eq!(ranges(process), expected);
}

#[test]
fn without_recording_nvtx_is_left_alone() {
    let scratch = Scratch::new();
    let program = scratch.join("nvtx");
    if !compile(
        include_str!("hooks/nvtx.c"),
        &program,
        &["-ldl", "-pthread"],
    ) {
        return;
    }
    let mut command = Command::new(&program);
    let done = command
        .env("NVTX_INJECTION64_PATH", shim())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), "0\n");
}

/// The Python of the test environment, if it has the package.
fn python() -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("PREHEAT_TEST_VENV")?).join("bin/python");
    let tried = Command::new(&path).args(["-c", "import nvtx"]).output();
    tried
        .is_ok_and(|done| done.status.success())
        .then_some(path)
}

#[test]
fn the_python_package() {
    let Some(python) = python() else {
        missing("nvtx", "Python's package nvtx is not in PREHEAT_TEST_VENV");
        return;
    };
    let code = r#"
import nvtx
for step in range(4):
    with nvtx.annotate("step", domain="training"):
        with nvtx.annotate(f"part {step % 2}"):
            pass
nvtx.mark("done")
token = nvtx.start_range("whole", domain="training")
nvtx.end_range(token)
"#;
    let scratch = Scratch::new();
    let directory = scratch.recording();
    let done = recorded(python.to_str().unwrap(), &directory)
        .args(["-c", code])
        .env("NVTX_INJECTION64_PATH", shim())
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let process = &read(&directory)[0];
    let ranges = ranges(process);
    let count = |name: &str, domain: &str| {
        let it = (name.to_owned(), domain.to_owned(), false);
        ranges.iter().filter(|&range| *range == it).count()
    };
    assert_eq!(count("step", "training"), 4);
    assert_eq!(
        count("part 0", "") + count("part 0", "NVTX"),
        2,
        "{ranges:?}"
    );
    assert_eq!(count("whole", "training"), 1);
    assert_eq!(ranges.len(), 10, "{ranges:?}");
}
