//! The cache directory: its path, and the files in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use preheat_launch::caches::CompileCache;
use rustix::fs::{CWD, RenameFlags, renameat_with, statvfs};
use rustix::io::Errno;

use super::header::{BundleError, failed};
use super::portability;
use super::tar::Member;
use crate::reason::Reason;

/// The variable that names a cache directory other than the default.
pub const VARIABLE: &str = "PREHEAT_CACHES";

/// The cache directory: the one that is named, or the default in the user's home.
pub(crate) fn path(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Reason> {
    let set = |name| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(named) = set(VARIABLE) {
        return whole(&named);
    }
    let absolute = |name| set(name).filter(|path| path.is_absolute());
    let cache =
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    cache
        .map(|cache| cache.join("preheat/caches"))
        .ok_or(Reason::NoCacheDirectory(VARIABLE))
}

/// Makes the path that a user named absolute, so that it means the same in every working
/// directory.
pub fn whole(named: &Path) -> Result<PathBuf, Reason> {
    let path = std::path::absolute(named).map_err(|why| Reason::Path {
        path: named.to_owned(),
        why: why.into(),
    })?;
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(Reason::ParentDirectory(named.to_owned()));
    }
    Ok(path)
}

/// Creates a directory and its ancestors, private to the user.
pub(crate) fn make(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

/// A file of a cache.
pub(super) struct CacheFile {
    pub cache: &'static CompileCache,
    /// Relative to the cache directory.
    pub path: PathBuf,
    pub size: u64,
}

/// All files of all caches, sorted, and the number of entries that were skipped because
/// they are not regular files.
pub(super) fn list(cache_dir: &Path) -> io::Result<(Vec<CacheFile>, usize)> {
    let mut found = Vec::new();
    let mut strange = 0;
    for cache in portability::carried() {
        let mut directories = vec![PathBuf::from(cache.directory())];
        while let Some(directory) = directories.pop() {
            let entries = match fs::read_dir(cache_dir.join(&directory)) {
                Ok(entries) => entries,
                // Programs remove directories, and not every cache is in use.
                Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
                Err(why) => return Err(why),
            };
            for entry in entries {
                let path = directory.join(entry?.file_name());
                let Ok(metadata) = fs::symlink_metadata(cache_dir.join(&path)) else {
                    continue;
                };
                if portability::is_passing(cache, &path) {
                    continue;
                }
                if metadata.is_dir() {
                    directories.push(path);
                } else if metadata.is_file() {
                    let size = metadata.size();
                    found.push(CacheFile { cache, path, size });
                } else {
                    strange += 1;
                }
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok((found, strange))
}

/// The number of free bytes; `u64::MAX` if unknown.
pub(super) fn free_space(cache_dir: &Path) -> u64 {
    statvfs(cache_dir).map_or(u64::MAX, |filesystem| {
        filesystem.f_bavail.saturating_mul(filesystem.f_frsize)
    })
}

// Moves unpacked files to where programs look for them.
//
// Existing files are kept: the names of cache entries identify their contents, and a
// program may be using them. A cache with an index is accepted as a whole or not at all.

/// The results of merging: files and bytes that were moved, and files that already existed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Merged {
    pub files: u64,
    pub bytes: u64,
    pub there: u64,
}

/// Moves the members from the directory `from` into `cache_dir`.
pub(super) fn into(
    cache_dir: &Path,
    from: &Path,
    members: &[(&'static CompileCache, Member)],
) -> Result<Merged, BundleError> {
    let mut merged = Merged::default();
    // For caches that are accepted only as a whole: true if the directory had entries.
    let mut there: BTreeMap<&str, bool> = BTreeMap::new();
    for (cache, member) in members {
        let target = cache_dir.join(&member.path);
        let is_there = portability::is_one(cache)
            && *there
                .entry(cache.variable)
                .or_insert_with(|| has_something(&cache_dir.join(cache.directory())));
        if is_there {
            merged.there += 1;
            continue;
        }
        make(target.parent().unwrap_or(cache_dir)).map_err(|why| failed(&target, &why))?;
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
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        // A file, or a directory without read permission.
        Err(why) => why.kind() != io::ErrorKind::NotFound,
    }
}

/// Moves a file to a name that does not exist yet.
fn move_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // Not every file system supports this; then the check and the move are not atomic.
        Err(Errno::INVAL | Errno::NOSYS) if fs::symlink_metadata(to).is_err() => {
            fs::rename(from, to)
        }
        Err(Errno::INVAL | Errno::NOSYS) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(why) => Err(why.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_directory_takes_precedence() {
        let with = |set: &[(&str, &str)]| {
            let set: Vec<(String, String)> = set
                .iter()
                .map(|(a, b)| ((*a).into(), (*b).into()))
                .collect();
            path(move |name| {
                let found = set.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value.into())
            })
        };
        let own = with(&[("HOME", "/h"), (VARIABLE, "")]);
        assert_eq!(own, Ok("/h/.cache/preheat/caches".into()));
        let cache = with(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")]);
        assert_eq!(cache, Ok("/c/preheat/caches".into()));
        let named = with(&[("HOME", "/h"), (VARIABLE, "/v/./x")]);
        assert_eq!(named, Ok("/v/x".into()));
        assert!(with(&[(VARIABLE, "/v/../x")]).is_err());
        assert!(with(&[("HOME", "h")]).is_err_and(|why| why.to_string().contains(VARIABLE)));
    }

    #[test]
    fn free_space_is_known_only_for_existing_directories() {
        assert!(free_space(Path::new("/")) < u64::MAX);
        assert_eq!(free_space(Path::new("/no/such/place")), u64::MAX);
    }
}
