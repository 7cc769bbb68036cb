//! Files and directories that other processes may read at any time.
//!
//! A file is written next to its final name and then renamed, so that readers see the old
//! content or the new, never a part of it. [`Scratch`] is a private directory, and [`trusted`]
//! checks who can change one.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use tempfile::TempDir;

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
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
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
    let metadata = fs::symlink_metadata(directory)?;
    if !metadata.is_dir() || metadata.uid() != crate::user() {
        return Err(io::Error::other(format!(
            "{} is not a directory that belongs to this user",
            directory.display()
        )));
    }
    // The umask may have removed some permissions.
    let wrong = match readers {
        Readers::User => metadata.mode() & 0o077 != 0,
        Readers::All => metadata.mode() & 0o777 != mode,
    };
    if wrong {
        fs::set_permissions(directory, Permissions::from_mode(mode))?;
    }
    Ok(())
}

// A private temporary directory.

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

// Checks that only this user and root can change a directory, because code is loaded from
// there.
//
// Checking the directory alone is not enough. Any user who may write to one of its parents
// can rename it and put another in its place while it is in use, and Python and the loader
// open files by path. So every directory of the path must belong to root or this user, and
// must not be writable by others, unless it is sticky: only owners can rename the entries
// of a sticky directory. Many systems give each user a group and let it write; such a group
// is accepted if nobody else is in it. With an access control list, the bits of the group are
// a mask for all entries of the list, which may name anybody.

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
    let (mode, group) = (is.mode(), is.gid());
    if mode & (BY_OTHERS | BY_GROUP) == 0 || mode & STICKY != 0 {
        return Ok(());
    }
    if mode & BY_OTHERS != 0 {
        return fails("can be changed by every user".into());
    }
    if has_access_list(directory) {
        return fails("can be changed by those in its access control list".into());
    }
    if is.uid() != us || !is_only_member(us, group) {
        return fails("can be changed by its group".into());
    }
    Ok(())
}

/// Returns false only if a directory certainly has no POSIX access control list.
fn has_access_list(directory: &Path) -> bool {
    let none: &mut [u8] = &mut [];
    match rustix::fs::lgetxattr(directory, "system.posix_acl_access", none) {
        Err(Errno::NODATA | Errno::OPNOTSUPP) => false,
        Ok(_) | Err(_) => true,
    }
}

/// Returns true if a group is that of a user, and nobody else's according to the files of this
/// machine. Groups that only a directory service knows are not, and neither is any group where
/// the files include entries from elsewhere.
fn is_only_member(user: u32, group: u32) -> bool {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    is_only_member_by(user, group, &read("/etc/passwd"), &read("/etc/group"))
}

fn is_only_member_by(user: u32, group: u32, users: &str, groups: &str) -> bool {
    let (mut names, mut is_own) = (Vec::new(), false);
    for line in users.lines() {
        // name:password:user:group:... A `+` includes entries from elsewhere.
        if line.starts_with('+') {
            return false;
        }
        let fields: Vec<&str> = line.split(':').collect();
        let number = |at: usize| fields.get(at).and_then(|text| text.parse::<u32>().ok());
        if number(2) == Some(user) {
            names.push(fields[0]);
            is_own |= number(3) == Some(group);
        } else if number(3) == Some(group) {
            return false;
        }
    }
    let mut is_listed = false;
    for line in groups.lines() {
        // name:password:group:members. A `+` includes entries from elsewhere.
        let fields: Vec<&str> = line.split(':').collect();
        if line.starts_with('+') {
            return false;
        }
        if fields.get(2).and_then(|text| text.parse().ok()) == Some(group) {
            is_listed = true;
            let mut members = fields.get(3).unwrap_or(&"").split(',');
            if !members.all(|name| name.is_empty() || names.contains(&name)) {
                return false;
            }
        }
    }
    is_own && is_listed
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

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

    #[test]
    fn a_group_with_other_members_is_noticed() {
        let users = "root:x:0:0::/root:/bin/sh\na:x:1000:1000::/a:/bin/sh\nb:x:1001:1001::/b:\n\
                     c:x:1002:1003::/c:/bin/sh\n";
        let groups = "root:x:0:\na:x:1000:a\nb:x:1001:a\nboth:x:1003:\nnone:x:1004:\n";
        let of = |user, group| is_only_member_by(user, group, users, groups);
        assert!(of(1000, 1000) && of(0, 0));
        // Another member, and groups of another user and of nobody.
        assert!(!of(1001, 1001) && !of(1000, 1001));
        assert!(!of(1000, 1004));
        let shared = users.replace(":1003:", ":1000:");
        assert!(!is_only_member_by(1000, 1000, &shared, groups));
        let unlisted = groups.replace("a:x:1000:a\n", "");
        assert!(!is_only_member_by(1000, 1000, users, &unlisted));
        let elsewhere = format!("{groups}+::::\n");
        assert!(!is_only_member_by(1000, 1000, users, &elsewhere));
        assert!(!is_only_member_by(1000, 1000, "", ""));
    }

    #[test]
    fn an_access_control_list_is_noticed() {
        let scratch = Scratch::new("list").expect("a directory");
        let own = scratch.path().join("own");
        fs::create_dir(&own).expect("it is created");
        fs::set_permissions(&own, Permissions::from_mode(0o770)).expect("it is ours");
        let is_trusted = trusted(&own).is_ok();
        assert!(!has_access_list(&own));
        // Version 2; the owner, user 65534, the group, the mask and others.
        let mut list = 2u32.to_le_bytes().to_vec();
        for (tag, rights, id) in [
            (1u16, 7u16, u32::MAX),
            (2, 7, 65534),
            (4, 0, u32::MAX),
            (16, 7, u32::MAX),
            (32, 0, u32::MAX),
        ] {
            list.extend(tag.to_le_bytes());
            list.extend(rights.to_le_bytes());
            list.extend(id.to_le_bytes());
        }
        let flags = rustix::fs::XattrFlags::empty();
        if rustix::fs::setxattr(&own, "system.posix_acl_access", &list, flags).is_err() {
            return; // This file system has no such lists.
        }
        let mode = fs::metadata(&own).expect("it exists").mode();
        assert_eq!(mode & 0o777, 0o770);
        let why = trusted(&own).expect_err("another user may write to it");
        assert!(why.to_string().contains("access control list"), "{why}");
        // Without the list, only the group matters.
        rustix::fs::removexattr(&own, "system.posix_acl_access").expect("it is ours");
        assert_eq!(trusted(&own).is_ok(), is_trusted);
    }

    #[test]
    fn every_parent_directory_is_checked() {
        let scratch = Scratch::new("trusted").expect("a directory for the test");
        let at = scratch.path();
        let deep = at.join("open/own");
        fs::create_dir_all(&deep).expect("a directory for the test");
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
        };
        mode(at, 0o700);
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
    }
}
