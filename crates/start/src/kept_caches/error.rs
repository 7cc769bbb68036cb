//! Errors of packing and unpacking.

use std::fmt;
use std::io;
use std::path::Path;

/// An error of packing or unpacking, a clause such as "it is damaged: …".
#[derive(Debug, PartialEq, Eq)]
pub enum BundleError {
    /// The input is not acceptable: another card, a damaged file, nothing to pack.
    Refused(String),
    /// The operation failed here: a full disk, a directory without permissions.
    Failed(String),
    /// The callback interrupted it.
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

/// An I/O error for a path.
pub(super) fn failed(path: &Path, why: &io::Error) -> BundleError {
    BundleError::Failed(format!("{}: {why}", path.display()))
}

/// The error for a bundle that preheat cannot have written like this.
pub(super) fn damaged(how: &str) -> BundleError {
    BundleError::Refused(format!(
        "it is damaged: {how}; copy it again, or pack it again"
    ))
}
