//! A private temporary directory for one run.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A directory that only this user can read, removed on drop.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Creates a directory under the system's temporary directory.
    pub fn new() -> io::Result<Scratch> {
        let nanos = SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap_or_default()
            .as_nanos();
        let name = format!("preheat-lab-{}-{nanos}", std::process::id());
        // Starts run in it, so a relative path would not be found.
        let path = std::path::absolute(std::env::temp_dir().join(name))?;
        DirBuilder::new().mode(0o700).create(&path).map_err(|why| {
            let shown = path.display();
            io::Error::new(
                why.kind(),
                format!("cannot create the scratch directory {shown}: {why}; set TMPDIR to a writable directory"),
            )
        })?;
        Ok(Scratch { path })
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Leftovers are for the system's cleanup.
        let _ = fs::remove_dir_all(&self.path);
    }
}
