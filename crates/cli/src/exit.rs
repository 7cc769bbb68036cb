//! Exit codes and error output.

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
/// Interrupted with Ctrl-C; everything measured so far is reported first.
pub const INTERRUPTED: u8 = 130;

/// An error that the user can fix with another flag, path or device.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Usage {}

/// Prints a message to standard error, ignoring a closed pipe.
pub fn complain(sentence: &str) {
    let _ = writeln!(io::stderr(), "preheat: {sentence}");
}

/// Prints the error and chooses its exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    complain(&format!("{error:#}"));
    let user_error = error.is::<Usage>() || error.is::<preheat_lab::PlanError>();
    ExitCode::from(if user_error { USAGE } else { FAILED })
}
