//! Output destinations: directories of recordings, files that are checked to be writable before
//! anything is measured, and standard output, which the reader may close.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::exit::Usage;

/// The destination of a result.
#[derive(Debug)]
pub enum Target {
    /// Standard output.
    Stdout,
    /// This file.
    File(PathBuf),
}

impl Target {
    /// Parses the value of `flag`; `-` is standard output. Fails now, rather than after a
    /// minute of measuring, if the file is not writable.
    pub fn open(flag: &str, path: &Path) -> Result<Target> {
        if path == Path::new("-") {
            return Ok(Target::Stdout);
        }
        // A dangling symbolic link counts as existing: it belongs to the user.
        let existed = fs::symlink_metadata(path).is_ok();
        // Do not open pipes and devices: their reader would notice.
        if path.exists() && !path.is_file() && !path.is_dir() {
            return Ok(Target::File(path.to_path_buf()));
        }
        // Do not truncate: the old result stays until there is a new one.
        let opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        match opened {
            Ok(_) => {
                if !existed {
                    let _ = fs::remove_file(path);
                }
                Ok(Target::File(path.to_path_buf()))
            }
            Err(why) => Err(Usage(format!(
                "{flag}: cannot write {}: {why}; choose a file in an existing, writable directory",
                path.display()
            ))
            .into()),
        }
    }

    /// Writes the result.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        match self {
            Target::Stdout => print(bytes),
            Target::File(path) => fs::write(path, bytes)
                .with_context(|| format!("could not write {}", path.display())),
        }
    }

    /// Returns true for standard output.
    pub fn is_stdout(&self) -> bool {
        matches!(self, Target::Stdout)
    }
}

/// Prints to standard output. A closed pipe (`| head`) is not an error.
pub fn print(bytes: &[u8]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => {
            Err(why).context("could not write to standard output")
        }
        _ => Ok(()),
    }
}

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
