//! Checks that only this user and root can change a directory, because code is loaded from
//! there.
//!
//! Checking the directory alone is not enough. Any user who may write to one of its parents
//! can rename it and put another in its place while it is in use, and Python and the loader
//! open files by path. So every directory of the path must belong to root or this user, and
//! must not be writable by others, unless it is sticky: only owners can rename the entries
//! of a sticky directory.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const STICKY: u32 = 0o1000;
const BY_GROUP: u32 = 0o020;
const BY_OTHERS: u32 = 0o002;

/// The path without links, if no other user can change where it leads. Its last components
/// may not exist yet. The error names the directory that could be changed.
pub fn trusted(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let existing = path.ancestors().find(|path| path.exists());
    let existing = existing.unwrap_or(Path::new("/"));
    let real = fs::canonicalize(existing)?;
    for directory in real.ancestors() {
        check(directory, &fs::symlink_metadata(directory)?)?;
    }
    let rest = path.strip_prefix(existing).map_err(io::Error::other)?;
    // Joining an empty path would add a slash.
    Ok(if rest.as_os_str().is_empty() {
        real
    } else {
        real.join(rest)
    })
}

fn check(directory: &Path, is: &fs::Metadata) -> io::Result<()> {
    let us = crate::user();
    let fails = |why: String| {
        let shown = directory.display();
        Err(io::Error::other(format!("{shown} {why}")))
    };
    if is.uid() != us && is.uid() != 0 {
        return fails(format!("belongs to user {}", is.uid()));
    }
    // If each user has a group with the user's id, nobody else is in it.
    let is_own_group = is.gid() == us && is.uid() == us;
    let writable = match is.mode() {
        mode if mode & BY_OTHERS != 0 => "every user",
        mode if mode & BY_GROUP != 0 && !is_own_group => "its group",
        _ => return Ok(()),
    };
    if is.mode() & STICKY != 0 {
        return Ok(());
    }
    fails(format!("can be changed by {writable}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn every_parent_directory_is_checked() {
        let at = std::env::temp_dir().join(format!("preheat-trusted-{}", std::process::id()));
        let deep = at.join("open/own");
        fs::create_dir_all(&deep).expect("a directory for the test");
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
        };
        mode(&at, 0o700);
        mode(&deep, 0o700);
        for (bits, is_trusted) in [
            (0o755, true),
            (0o777, false),
            (0o1777, true),
            (0o757, false),
        ] {
            mode(&at.join("open"), bits);
            assert_eq!(trusted(&deep).is_ok(), is_trusted, "{bits:o}");
            assert_eq!(
                trusted(&deep.join("new/er")).is_ok(),
                is_trusted,
                "{bits:o}"
            );
        }
        let why = trusted(&deep).expect_err("it was opened").to_string();
        assert!(why.contains("/open can be changed by every user"), "{why}");
        mode(&at.join("open"), 0o700);
        // Links are resolved before the check.
        std::os::unix::fs::symlink(&deep, at.join("link")).expect("a link");
        let real = fs::canonicalize(&deep).expect("it exists");
        assert_eq!(
            trusted(&at.join("link/new")).expect("it is ours"),
            real.join("new")
        );
        fs::remove_dir_all(&at).expect("it can be removed");
    }
}
