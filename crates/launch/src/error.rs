//! Errors that prevent a recording: a sentence and an exit code for each.

use std::fmt;

/// The reason that nothing was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchError {
    /// The program was not found.
    NotFound(String),
    /// The program exists, but cannot be executed.
    CannotExecute(String),
    /// The request cannot be fulfilled; another flag or path may help.
    Usage(String),
    /// preheat itself failed.
    Failed(String),
}

impl LaunchError {
    /// The exit code, following shells and `env`.
    pub fn exit_code(&self) -> u8 {
        match self {
            LaunchError::NotFound(_) => 127,
            LaunchError::CannotExecute(_) => 126,
            LaunchError::Usage(_) => 2,
            LaunchError::Failed(_) => 125,
        }
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaunchError::NotFound(sentence)
            | LaunchError::CannotExecute(sentence)
            | LaunchError::Usage(sentence)
            | LaunchError::Failed(sentence) => f.write_str(sentence),
        }
    }
}

impl std::error::Error for LaunchError {}
