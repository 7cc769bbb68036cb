//! Skips tests whose component is missing on this machine. Tests of several crates include this file
//! by its path.

use std::fs::OpenOptions;
use std::io::Write;

/// Reports that a test was skipped because `component` is missing; fails instead if
/// PREHEAT_TEST_REQUIRE names the component, so that a machine that should have it never skips its
/// tests unnoticed. Cargo hides the output of passing tests, so the line also goes to the file
/// PREHEAT_TEST_SKIPPED, which ./test prints at the end.
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
