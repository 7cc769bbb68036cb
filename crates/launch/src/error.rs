//! Errors that prevent a recording, with a sentence and an exit code for each, and reasons for
//! ending a series early.

use std::time::Duration;

use thiserror::Error;

/// The reason that nothing was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LaunchError {
    /// The program was not found.
    #[error("{0}")]
    NotFound(String),
    /// The program exists, but cannot be executed.
    #[error("{0}")]
    CannotExecute(String),
    /// The request cannot be fulfilled; another flag or path may help.
    #[error("{0}")]
    Usage(String),
    /// preheat itself failed.
    #[error("{0}")]
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

// The reason that a series ended early, as a sentence about the series itself or about one
// that was interleaved with it.

/// The reason that a series ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// A signal asked for it.
    Interrupted,
    /// The command failed with this exit code.
    Failed(i32),
    /// Another start would have exceeded this budget.
    Budget(Duration),
    /// The next start failed, with the reason.
    NotMade(String),
}

impl Ending {
    /// The exit code of the command, if that is the reason.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Ending::Failed(code) => Some(*code),
            Ending::Interrupted | Ending::Budget(_) | Ending::NotMade(_) => None,
        }
    }

    /// The sentence for the series itself, which made `made` of the `planned` starts.
    pub fn own(&self, made: usize, planned: usize) -> String {
        let why = match self {
            Ending::Failed(code) => format!("the command failed with exit code {code}"),
            Ending::NotMade(why) => return format!("start {} could not be made: {why}", made + 1),
            Ending::Interrupted | Ending::Budget(_) => self.shared(),
        };
        format!("{}: {why}", counted(made, planned))
    }

    /// The sentence for a series that was interleaved with it.
    pub fn of_another(&self, made: usize, planned: usize) -> String {
        let why = match self {
            Ending::Failed(code) => format!("the other command failed with exit code {code}"),
            Ending::NotMade(why) => {
                format!("the next start of the other command could not be made: {why}")
            }
            Ending::Interrupted | Ending::Budget(_) => self.shared(),
        };
        format!("{}: {why}", counted(made, planned))
    }

    /// The reasons that apply to all series equally.
    fn shared(&self) -> String {
        match self {
            Ending::Budget(budget) => format!(
                "another would exceed the budget of {} s; use --starts N to run a fixed number",
                budget.as_secs()
            ),
            _ => "preheat was interrupted".to_owned(),
        }
    }
}

fn counted(made: usize, planned: usize) -> String {
    format!("{made} of {planned} starts were made")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failed_command_is_named() {
        let failed = Ending::Failed(7);
        assert_eq!(
            failed.own(1, 10),
            "1 of 10 starts were made: the command failed with exit code 7"
        );
        assert_eq!(
            failed.of_another(2, 10),
            "2 of 10 starts were made: the other command failed with exit code 7"
        );
        let not_made = Ending::NotMade("the disk is full".into());
        assert_eq!(
            not_made.own(2, 5),
            "start 3 could not be made: the disk is full"
        );
        assert_eq!(
            not_made.of_another(3, 5),
            "3 of 5 starts were made: the next start of the other command could not be made: \
             the disk is full"
        );
        let budget = Ending::Budget(Duration::from_secs(60));
        assert_eq!(budget.own(4, 5), budget.of_another(4, 5));
    }
}
