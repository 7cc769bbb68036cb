//! Files and directories that other processes may read at any time.
//!
//! A file is written next to its final name and then renamed, so that readers see the old
//! content or the new, never a part of it.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// The users that may read a file or enter a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Only this user.
    User,
    /// All users, unless the umask of this process excludes them.
    All,
}

impl Readers {
    fn directories(self) -> u32 {
        match self {
            Readers::User => 0o700,
            Readers::All => 0o755,
        }
    }

    fn files(self) -> u32 {
        match self {
            Readers::User => 0o600,
            Readers::All => 0o666,
        }
    }
}

/// Ensures that a private file has this content. A file with the right content is not
/// touched, since programs may have it mapped; any other is replaced.
///
/// # Errors
/// If it cannot be written.
pub fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|is| is.is_file());
    if is_file && fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    replace(path, bytes, Readers::User)
}

/// Replaces a file atomically. If that fails, the previous one stays.
///
/// # Errors
/// If it cannot be written.
pub fn replace(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
    let directory = path.parent().filter(|path| !path.as_os_str().is_empty());
    let mut file = tempfile::Builder::new()
        .prefix(".new-")
        .permissions(Permissions::from_mode(readers.files()))
        .tempfile_in(directory.unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    file.persist(path).map(drop).map_err(|why| why.error)
}

/// Creates or checks a private directory of this user. Links are not followed.
///
/// # Errors
/// If it cannot be created, or belongs to another user.
pub fn private(directory: &Path) -> io::Result<()> {
    own(directory, Readers::User)
}

/// Creates or checks a directory that belongs to this user, with the permissions for these
/// readers. Links are not followed.
///
/// # Errors
/// If it cannot be created, or belongs to another user.
pub fn own(directory: &Path, readers: Readers) -> io::Result<()> {
    let mode = readers.directories();
    // Not if it exists: a sandbox may forbid the creation of directories.
    if fs::symlink_metadata(directory).is_err() {
        match DirBuilder::new().mode(mode).create(directory) {
            Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(why),
            _ => {}
        }
    }
    let is = fs::symlink_metadata(directory)?;
    if !is.is_dir() || is.uid() != crate::user() {
        return Err(io::Error::other(format!(
            "{} is not a directory that belongs to this user",
            directory.display()
        )));
    }
    // The umask may have removed some permissions.
    let wrong = match readers {
        Readers::User => is.mode() & 0o077 != 0,
        Readers::All => is.mode() & 0o777 != mode,
    };
    if wrong {
        fs::set_permissions(directory, Permissions::from_mode(mode))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;

    #[test]
    fn files_are_replaced_as_a_whole_and_stay_private() {
        let scratch = Scratch::new("files").expect("a directory");
        let path = scratch.path().join("file");
        put(&path, b"one").expect("it is written");
        let first = fs::metadata(&path).expect("it exists");
        assert_eq!(first.mode() & 0o777, 0o600);
        put(&path, b"one").expect("nothing to do");
        assert_eq!(fs::metadata(&path).expect("it exists").ino(), first.ino());
        put(&path, b"two").expect("it is written");
        assert_eq!(fs::read(&path).expect("it exists"), b"two");
        assert_ne!(fs::metadata(&path).expect("it exists").ino(), first.ino());
        let names = fs::read_dir(scratch.path()).expect("it exists").count();
        assert_eq!(names, 1, "temporary files are left");
    }

    #[test]
    fn a_failed_replacement_leaves_nothing() {
        let scratch = Scratch::new("failed").expect("a directory");
        let path = scratch.path().join("directory");
        fs::create_dir(&path).expect("it is created");
        assert!(replace(&path, b"x", Readers::All).is_err());
        assert_eq!(fs::read_dir(scratch.path()).expect("it exists").count(), 1);
    }
}
