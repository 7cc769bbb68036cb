//! Why a bundle was not made or not taken.

use std::fmt;
use std::io;
use std::path::Path;

/// Why it was not done; a sentence without its subject.
#[derive(Debug, PartialEq, Eq)]
pub enum BundleError {
    /// What was given is not right: another card, a damaged file, nothing to pack.
    Refused(String),
    /// It could not be done here: a full disk, a directory that is not ours.
    Failed(String),
    /// Whoever watches wanted it to end.
    Interrupted,
}

impl fmt::Display for BundleError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BundleError::Refused(why) | BundleError::Failed(why) => out.write_str(why),
            BundleError::Interrupted => out.write_str("interrupted"),
        }
    }
}

impl std::error::Error for BundleError {}

/// What the system said about a path.
pub(super) fn failed(path: &Path, why: &io::Error) -> BundleError {
    BundleError::Failed(format!("{}: {why}", path.display()))
}

/// A bundle that is not as preheat writes them.
pub(super) fn damaged(how: &str) -> BundleError {
    BundleError::Refused(format!(
        "it is damaged: {how}; copy it again, or pack it again"
    ))
}
