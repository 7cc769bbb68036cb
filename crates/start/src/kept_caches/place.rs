//! The cache directory: its path, and the files in it.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use preheat_launch::caches::CompileCache;

use super::traits;
use crate::reason::Reason;

/// The variable that names a cache directory other than the default.
pub const VARIABLE: &str = "PREHEAT_CACHES";

/// The cache directory: the one that is named, or the default in the user's home.
pub(crate) fn place(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Reason> {
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
pub(super) struct Found {
    pub cache: &'static CompileCache,
    /// Relative to the cache directory.
    pub path: PathBuf,
    pub size: u64,
}

/// All files of all caches, sorted, and the number of entries that were skipped because
/// they are not regular files.
pub(super) fn look(place: &Path) -> io::Result<(Vec<Found>, usize)> {
    let mut found = Vec::new();
    let mut strange = 0;
    for cache in traits::carried() {
        let mut directories = vec![PathBuf::from(cache.directory())];
        while let Some(directory) = directories.pop() {
            let entries = match fs::read_dir(place.join(&directory)) {
                Ok(entries) => entries,
                // Programs remove directories, and not every cache is in use.
                Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
                Err(why) => return Err(why),
            };
            for entry in entries {
                let path = directory.join(entry?.file_name());
                let Ok(is) = fs::symlink_metadata(place.join(&path)) else {
                    continue;
                };
                if traits::is_passing(cache, &path) {
                    continue;
                }
                if is.is_dir() {
                    directories.push(path);
                } else if is.is_file() {
                    let size = is.size();
                    found.push(Found { cache, path, size });
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
pub(super) fn room(place: &Path) -> u64 {
    use std::os::unix::ffi::OsStrExt;
    let Ok(path) = std::ffi::CString::new(place.as_os_str().as_bytes()) else {
        return u64::MAX;
    };
    let mut is = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path ends with a NUL, and the struct is read only if statvfs returned 0
    // and filled it.
    unsafe {
        if libc::statvfs(path.as_ptr(), is.as_mut_ptr()) != 0 {
            return u64::MAX;
        }
        let is = is.assume_init();
        is.f_bavail.saturating_mul(is.f_frsize)
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
            place(move |name| {
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
        assert!(room(Path::new("/")) < u64::MAX);
        assert_eq!(room(Path::new("/no/such/place")), u64::MAX);
    }
}
