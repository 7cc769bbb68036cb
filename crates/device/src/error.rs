//! Errors of device operations, with human-readable messages.

use crate::Kind;

/// The result of a device operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a device operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The device is not available on this machine.
    #[error("the {} device is unavailable, because {because}; {hint}", kind.id())]
    Unavailable {
        /// The requested device.
        kind: Kind,
        /// The reason, completing "…, because".
        because: String,
        /// A hint on how to make it available.
        hint: String,
    },
    /// The device does not have enough memory for this request.
    #[error("not enough memory for {requested} bytes: {detail}")]
    OutOfMemory {
        /// The requested size in bytes.
        requested: usize,
        /// The message of the driver or the system.
        detail: String,
    },
    /// The device does not support the operation.
    #[error("{what} is not possible: {because}")]
    Unsupported {
        /// The requested operation.
        what: String,
        /// The reason.
        because: String,
    },
    /// A driver call failed.
    #[error("{call} failed: {answer}")]
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
