//! Where a recording goes: a directory of its own.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::exit::Usage;

/// The directory that was asked for with --output, else the first free name here: `stem`,
/// `stem-2`, …
pub fn directory(asked: Option<&Path>, stem: &str) -> Result<PathBuf> {
    if let Some(output) = asked {
        let taken = fs::read_dir(output).is_ok_and(|mut entries| entries.next().is_some());
        if taken || output.is_file() {
            return Err(Usage(format!(
                "--output {} is there already; name a new directory, or remove it",
                output.display()
            ))
            .into());
        }
        return Ok(output.to_path_buf());
    }
    let numbered =
        std::iter::once(stem.to_owned()).chain((2..).map(|number| format!("{stem}-{number}")));
    // A directory that cannot be made here is for the recorder to tell.
    Ok(numbered
        .map(PathBuf::from)
        .find(|path| fs::symlink_metadata(path).is_err())
        .unwrap_or_default())
}
