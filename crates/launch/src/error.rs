//! Why a command was not recorded: sentences for people, and an exit code for each.

use std::fmt;

/// Why there is no recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchError {
    /// There is no such program.
    NotFound(String),
    /// There is one, but it cannot be executed.
    CannotExecute(String),
    /// What was asked for cannot be done; another flag or path can mend it.
    Usage(String),
    /// preheat itself failed.
    Failed(String),
}

impl LaunchError {
    /// The exit code that says the same, as shells and `env` have it.
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
