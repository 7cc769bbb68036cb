//! Errors of device operations, with human-readable messages.

use std::fmt;

use crate::Kind;

/// The result of a device operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a device operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The device is not available on this machine.
    Unavailable {
        /// The requested device.
        kind: Kind,
        /// The reason, completing "…, because".
        because: String,
        /// A hint on how to make it available.
        hint: String,
    },
    /// The device does not have enough memory for this request.
    OutOfMemory {
        /// The requested size in bytes.
        requested: usize,
        /// The message of the driver or the system.
        detail: String,
    },
    /// The device does not support the operation.
    Unsupported {
        /// The requested operation.
        what: String,
        /// The reason.
        because: String,
    },
    /// A driver call failed.
    Failed {
        /// The name of the call.
        call: String,
        /// The driver's error.
        answer: String,
    },
}

impl Error {
    /// Creates an error for a failed driver call.
    pub fn failed(call: impl Into<String>, answer: impl Into<String>) -> Error {
        Error::Failed {
            call: call.into(),
            answer: answer.into(),
        }
    }

    /// Creates an error for an unsupported operation.
    pub fn unsupported(what: impl Into<String>, because: impl Into<String>) -> Error {
        Error::Unsupported {
            what: what.into(),
            because: because.into(),
        }
    }

    /// Returns true if the device is out of memory, so that smaller requests may still
    /// succeed.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Error::OutOfMemory { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unavailable {
                kind,
                because,
                hint,
            } => write!(
                f,
                "the {} device is unavailable, because {because}; {hint}",
                kind.id()
            ),
            Error::OutOfMemory { requested, detail } => {
                write!(f, "not enough memory for {requested} bytes: {detail}")
            }
            Error::Unsupported { what, because } => write!(f, "{what} is not possible: {because}"),
            Error::Failed { call, answer } => write!(f, "{call} failed: {answer}"),
        }
    }
}

impl std::error::Error for Error {}
