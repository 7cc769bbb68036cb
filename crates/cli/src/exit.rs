//! Exit codes, and the one place that prints an error.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

/// A check failed, or a comparison regressed.
pub const REGRESSED: u8 = 1;
/// Wrong usage or unreadable input.
pub const USAGE: u8 = 2;
/// Inconclusive, where asked to fail on it.
pub const INCONCLUSIVE: u8 = 3;
/// preheat itself failed.
pub const FAILED: u8 = 125;
/// Ended by Ctrl-C, after what was measured until then was reported.
pub const INTERRUPTED: u8 = 130;

/// An error that is the user's to mend: another flag, path or device.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Usage {}

/// A sentence to standard error, whose reader may be gone.
pub fn complain(sentence: &str) {
    let _ = writeln!(io::stderr(), "preheat: {sentence}");
}

/// Print the error and choose its exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    complain(&format!("{error:#}"));
    let mendable = error.is::<Usage>() || error.is::<preheat_lab::PlanError>();
    ExitCode::from(if mendable { USAGE } else { FAILED })
}
