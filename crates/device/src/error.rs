//! What can go wrong on a device, as sentences for people.

use std::fmt;

use crate::Kind;

/// The result of a device operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The device is not here.
    Unavailable {
        /// Which device was asked for.
        kind: Kind,
        /// Why it cannot be used.
        because: String,
        /// What would change that.
        hint: String,
    },
    /// The device has not enough memory for this request.
    OutOfMemory {
        /// How much was asked for, in bytes.
        requested: usize,
        /// What the driver or the system said.
        detail: String,
    },
    /// This device cannot do that.
    Unsupported {
        /// What was asked for.
        what: String,
        /// Why it cannot be done here.
        because: String,
    },
    /// A call of the driver failed.
    Failed {
        /// The call's name.
        call: String,
        /// What the driver answered.
        answer: String,
    },
}

impl Error {
    /// A failed driver call.
    pub fn failed(call: impl Into<String>, answer: impl Into<String>) -> Error {
        Error::Failed {
            call: call.into(),
            answer: answer.into(),
        }
    }

    /// Something that this device cannot do.
    pub fn unsupported(what: impl Into<String>, because: impl Into<String>) -> Error {
        Error::Unsupported {
            what: what.into(),
            because: because.into(),
        }
    }

    /// Whether it is a lack of memory, after which smaller requests may succeed.
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
