//! The reasons why a recording cannot be checked, or one of its quantities is unknown.

use crate::run::Temperature;

/// The reason why a quantity is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotMeasured {
    /// The recording is empty.
    #[error("the recording has no start")]
    NoStart,
    /// No start has the temperature of the limit.
    #[error("no start was recorded at temperature {name}; record with --temperature {name}", name = .0.as_str())]
    NotAt(Temperature),
    /// The recording is damaged.
    #[error("the recording cannot be read, see `preheat report`")]
    Damaged,
    /// All starts were cut off.
    #[error("no start finished")]
    Unfinished,
    /// Nothing repeats.
    #[error("no iterations were found; define them with `preheat run --iterations`")]
    NoIterations,
    /// There are too few iterations, or they never become steady.
    #[error("no start reached a steady state; run more iterations")]
    NoSteadyState,
    /// No device was seen.
    #[error("no device was used, or its memory is not known")]
    NoDeviceMemory,
    /// The system does not report it.
    #[error("the resident size is not known")]
    NoHostMemory,
    /// The program ran without the recorder.
    #[error("no start was recorded, so causes are unknown")]
    NoCauses,
}

/// The reason why no budget can be drafted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DraftError {
    /// Some starts failed.
    #[error(
        "its starts have different exit codes: a budget needs a recording of successful starts"
    )]
    DifferentExitCodes,
    /// No quantity is known.
    #[error("the recording contains no measurements")]
    NothingMeasured,
    /// All intervals are too wide for a limit.
    #[error("the starts differ too much; record more of them, on a quiet machine")]
    Uncertain,
    /// There are no starts, or they cannot be read.
    #[error(transparent)]
    NotMeasured(#[from] NotMeasured),
}

/// The recording has fewer starts than the budget requires.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the budget needs at least {least} starts, and the recording has {made}{}; record with `preheat run --starts {least}`",
    at.map_or(String::new(), |at| format!(" at temperature {}", at.as_str()))
)]
pub struct TooFewStarts {
    /// The number that the budget requires.
    pub least: usize,
    /// The number in the recording.
    pub made: usize,
    /// Their temperature.
    pub at: Option<Temperature>,
}
