//! Moves unpacked files to where programs look for them.
//!
//! Existing files are kept: the names of cache entries identify their contents, and a
//! program may be using them. A cache with an index is accepted as a whole or not at all.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use preheat_launch::caches::CompileCache;

use super::error::{BundleError, failed};
use super::place;
use super::tar::Member;
use super::traits;

/// The results of merging: files and bytes that were moved, and files that already existed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Merged {
    pub files: u64,
    pub bytes: u64,
    pub there: u64,
}

/// Moves the members from the directory `from` into `place`.
pub(super) fn into(
    place: &Path,
    from: &Path,
    members: &[(&'static CompileCache, Member)],
) -> Result<Merged, BundleError> {
    let mut merged = Merged::default();
    // For caches that are accepted only as a whole: true if the directory had entries.
    let mut there: BTreeMap<&str, bool> = BTreeMap::new();
    for (cache, member) in members {
        let target = place.join(&member.path);
        let is_there = traits::is_one(cache)
            && *there
                .entry(cache.variable)
                .or_insert_with(|| has_something(&place.join(cache.directory())));
        if is_there {
            merged.there += 1;
            continue;
        }
        place::make(target.parent().unwrap_or(place)).map_err(|why| failed(&target, &why))?;
        match move_new(&from.join(&member.path), &target) {
            Ok(()) => {
                merged.files += 1;
                merged.bytes += member.size;
            }
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => merged.there += 1,
            Err(why) => return Err(failed(&target, &why)),
        }
    }
    Ok(merged)
}

fn has_something(path: &Path) -> bool {
    match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        // A file, or a directory without read permission.
        Err(why) => why.kind() != io::ErrorKind::NotFound,
    }
}

/// Moves a file to a name that does not exist yet.
fn move_new(from: &Path, to: &Path) -> io::Result<()> {
    let path = |path: &Path| CString::new(path.as_os_str().as_bytes());
    let (old, new) = (path(from)?, path(to)?);
    // SAFETY: both paths end with NULs and live until the call has returned.
    let moved = unsafe {
        libc::renameat2(
            libc::AT_FDCWD,
            old.as_ptr(),
            libc::AT_FDCWD,
            new.as_ptr(),
            libc::RENAME_NOREPLACE,
        )
    };
    if moved == 0 {
        return Ok(());
    }
    let why = io::Error::last_os_error();
    match why.raw_os_error() {
        // Not every file system supports this; then the check and the move are not atomic.
        Some(libc::EINVAL | libc::ENOSYS) if std::fs::symlink_metadata(to).is_err() => {
            std::fs::rename(from, to)
        }
        Some(libc::EINVAL | libc::ENOSYS) => Err(io::ErrorKind::AlreadyExists.into()),
        _ => Err(why),
    }
}
