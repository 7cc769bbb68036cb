//! Where results go: files that are known to be writable before anything is
//! measured, and a standard output whose reader may leave.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::exit::Usage;

/// A place for a result.
#[derive(Debug)]
pub enum Target {
    /// Standard output.
    Stdout,
    /// This file.
    File(PathBuf),
}

impl Target {
    /// The place that a flag names; `-` is standard output. A file that cannot be
    /// written is found out now and not after a minute of measuring.
    pub fn open(flag: &str, path: &Path) -> Result<Target> {
        if path == Path::new("-") {
            return Ok(Target::Stdout);
        }
        // A link counts even if it points nowhere: it is the user's.
        let existed = fs::symlink_metadata(path).is_ok();
        // A pipe or a device is not tried: opening it is an event for its reader.
        if path.exists() && !path.is_file() && !path.is_dir() {
            return Ok(Target::File(path.to_path_buf()));
        }
        // Nothing is cut off yet: an old result stays until there is a new one.
        let tried = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        match tried {
            Ok(_) => {
                if !existed {
                    let _ = fs::remove_file(path);
                }
                Ok(Target::File(path.to_path_buf()))
            }
            Err(why) => Err(Usage(format!(
                "{flag} {} cannot be written: {why}; name a file in a directory that exists and is yours",
                path.display()
            ))
            .into()),
        }
    }

    /// Put the result there.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        match self {
            Target::Stdout => print(bytes),
            Target::File(path) => fs::write(path, bytes)
                .with_context(|| format!("{} could not be written", path.display())),
        }
    }

    /// Whether it is standard output.
    pub fn is_stdout(&self) -> bool {
        matches!(self, Target::Stdout)
    }
}

/// Print to standard output. A reader that has left (`| head`) is no error.
pub fn print(bytes: &[u8]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => {
            Err(why).context("standard output could not be written")
        }
        _ => Ok(()),
    }
}
