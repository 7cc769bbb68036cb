//! What the tests of every crate do about a component that this machine lacks.
//! Included by path, so that it is one idea in one place and no crate of its own.

use std::fs::OpenOptions;
use std::io::Write;

/// Says that a test was skipped because `component` is missing; fails instead where
/// PREHEAT_TEST_REQUIRE names it, so that a machine that is to have it skips nothing
/// unseen. Cargo hides what a passing test prints, so the line also goes to the file
/// that PREHEAT_TEST_SKIPPED names, which ./test shows in the end.
pub fn missing(component: &str, why: &str) {
    let required = std::env::var("PREHEAT_TEST_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|name| name == component),
        "{component} is required and missing: {why}"
    );
    let line = format!(
        "skipped: tests with {component}: {why} (as root, ./test installs most of what is missing)\n"
    );
    print!("{line}");
    if let Some(path) = std::env::var_os("PREHEAT_TEST_SKIPPED")
        && let Ok(mut file) = OpenOptions::new().append(true).open(path)
    {
        let _ = file.write_all(line.as_bytes());
    }
}
