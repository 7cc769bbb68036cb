//! Chooses the output directory of a recording.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::exit::Usage;

/// The directory given with --output, else the first free name in the current directory:
/// `stem`, `stem-2`, …
pub fn directory(output: Option<&Path>, stem: &str) -> Result<PathBuf> {
    if let Some(output) = output {
        let has_entries = fs::read_dir(output).is_ok_and(|mut entries| entries.next().is_some());
        if has_entries || output.is_file() {
            return Err(Usage(format!(
                "--output {} already exists; choose another directory or remove it",
                output.display()
            ))
            .into());
        }
        return Ok(output.to_path_buf());
    }
    let numbered =
        std::iter::once(stem.to_owned()).chain((2..).map(|number| format!("{stem}-{number}")));
    // If the directory cannot be created, the recorder reports it.
    Ok(numbered
        .map(PathBuf::from)
        .find(|path| fs::symlink_metadata(path).is_err())
        .unwrap_or_default())
}
