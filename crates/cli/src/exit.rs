//! Exit codes, error output, and the message for a start that failed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::ExitCode;

use preheat_launch::STDERR;
use preheat_model::run::Manifest;

use thiserror::Error;

use crate::args::InvalidFlag;

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
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Usage(pub String);

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

/// Writes an invalid flag to standard output as JSON, and exits.
pub fn invalid(flag: &InvalidFlag) -> ! {
    let text = serde_json::to_string(flag).unwrap_or_default();
    let _ = writeln!(io::stdout(), "{text}");
    std::process::exit(USAGE.into())
}

/// The maximum number of lines of standard error to show.
const LINES: usize = 20;
/// The number of bytes to read from the end of standard error, which can have any size.
const MAX_TAIL_BYTES: u64 = 64 << 10;

/// The message for the last start, which failed, with the end of its standard error.
/// `recording` is the directory of the recording.
pub fn failure(side: &str, recording: &Path, manifest: &Manifest) -> String {
    let Some(start) = manifest.starts.last() else {
        return format!("{side} failed");
    };
    let mut message = format!(
        "{side}: start {} exited with code {}, stopping here",
        manifest.starts.len(),
        start.exit_code
    );
    let stderr = File::open(recording.join(&start.directory).join(STDERR)).and_then(tail);
    // The first start writes to preheat's own standard error, so its text was shown already.
    let Ok(stderr) = stderr else {
        return message;
    };
    let stderr = String::from_utf8_lossy(&stderr);
    let lines: Vec<&str> = stderr.lines().collect();
    let end = &lines[lines.len().saturating_sub(LINES)..];
    if end.is_empty() {
        message.push_str("; it wrote nothing to standard error");
    } else {
        message.push_str("; its standard error ends with:");
    }
    for line in end {
        // Strip control characters: they could reconfigure the terminal.
        let plain: String = line.chars().filter(|c| !c.is_control()).collect();
        message.push_str(&format!("\n  {plain}"));
    }
    message
}

/// The last bytes of a file, starting at the beginning of a line if possible.
fn tail(mut file: impl Read + Seek) -> io::Result<Vec<u8>> {
    let before = file.seek(SeekFrom::End(0))?.saturating_sub(MAX_TAIL_BYTES);
    file.seek(SeekFrom::Start(before))?;
    let mut bytes = Vec::new();
    // Bounded, since a child of the command may still be writing.
    file.take(MAX_TAIL_BYTES).read_to_end(&mut bytes)?;
    if before > 0
        && let Some(end) = bytes.iter().position(|byte| *byte == b'\n')
        && end + 1 < bytes.len()
    {
        bytes.drain(..=end);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_only_the_end_of_standard_error() {
        let tail_of = |text: &str| String::from_utf8(tail(io::Cursor::new(text)).unwrap()).unwrap();
        assert_eq!(tail_of(""), "");
        assert_eq!(tail_of("one\ntwo\n"), "one\ntwo\n");
        let long = "a line\n".repeat(1 << 20) + "the end\n";
        let end = tail_of(&long);
        assert!(end.starts_with("a line\n") && end.ends_with("a line\nthe end\n"));
        assert!(end.len() as u64 <= MAX_TAIL_BYTES);
        let one = "x".repeat(1 << 20);
        assert_eq!(tail_of(&one).len() as u64, MAX_TAIL_BYTES);
        assert_eq!(tail_of(&(one + "\n")).len() as u64, MAX_TAIL_BYTES);
    }
}
