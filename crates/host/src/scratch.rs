//! A private temporary directory.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

/// A directory that only this user can read, removed on drop. Leftovers are for the
/// system's cleanup.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// Creates a directory under the system's temporary directory, with `purpose` in its
    /// name.
    ///
    /// # Errors
    /// If it cannot be created; the message names the directory above.
    pub fn new(purpose: &str) -> io::Result<Scratch> {
        // Commands run in it, so a relative path would not be found.
        let above = std::path::absolute(std::env::temp_dir())?;
        Scratch::below(&above, purpose).map_err(|why| {
            let shown = above.display();
            io::Error::new(
                why.kind(),
                format!("cannot create a scratch directory in {shown}: {why}; set TMPDIR to a writable directory"),
            )
        })
    }

    /// Creates a directory below this one.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn below(directory: &Path, purpose: &str) -> io::Result<Scratch> {
        tempfile::Builder::new()
            .prefix(&format!("preheat-{purpose}-"))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(directory)
            .map(Scratch)
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
