//! Kept caches: compiled code is kept in one cache directory, across starts and containers.
//!
//! - Applies if a cache directory is named, or if the program was observed compiling.
//! - Apply: set the variable of every cache to a subdirectory. Variables that the user has
//!   set stay unchanged.
//! - Verify: count the files; a start that finds everything adds none ([`files_and_bytes`]).
//! - Undo: do not apply it; the directory can be removed at any time.
//!
//! [`pack()`] and [`unpack()`] carry a cache directory to other machines as one file, a
//! bundle. Programs find compiled code only under the same path and with the same mtimes, so
//! a bundle preserves both (see `portability`).

mod cache_dir;
mod header;
mod pack;
mod portability;
mod tar;
#[cfg(test)]
mod tests;
mod unpack;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use preheat_launch::caches::CompileCache;

use crate::context::{Changes, StartContext};
use crate::reason::Reason;

pub use cache_dir::{VARIABLE, whole};
pub(crate) use cache_dir::{make as make_directory, path as directory};
pub use header::BundleError;
pub use pack::{Packed, pack};
pub use portability::{Card, Machine};
pub use unpack::{Unpacked, unpack};

/// The number of bytes that are copied at a time.
const CHUNK: usize = 1 << 20;

/// The progress of packing or unpacking.
pub struct Step<'a> {
    /// The number of files that are done.
    pub done: usize,
    /// The number of all files, if known.
    pub total: Option<usize>,
    /// The next file.
    pub path: &'a Path,
}

/// Called at every step; returns false to interrupt the work.
pub type Watch<'a> = dyn FnMut(&Step<'_>) -> bool + 'a;

/// Further variables that are set with that of a cache, unless the user has set them.
const WITH: [(&str, &str, &str); 2] = [
    // The default is 1 GiB; this is the maximum.
    ("CUDA_CACHE_PATH", "CUDA_CACHE_MAXSIZE", "4294967296"),
    // By default, code that compiles in less than a second is not kept; programs have many
    // such functions.
    (
        "JAX_COMPILATION_CACHE_DIR",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS",
        "0",
    ),
];

/// Makes the program keep its compiled code in the cache directory.
pub(crate) fn apply(context: &StartContext<'_>, changes: &mut Changes) -> Result<(), Reason> {
    let user = |name: &str| context.variable(name).map(OsStr::to_owned);
    let wanted = wanted(context, is_named(&user))?;
    let free: Vec<_> = wanted
        .into_iter()
        .filter(|cache| user(cache.variable).is_none())
        .collect();
    if free.is_empty() {
        return Err(Reason::CachesSet);
    }
    let cache_dir = cache_dir::path(user)?;
    for cache in free {
        let directory = cache_dir.join(cache.directory());
        cache_dir::make(&directory).map_err(|why| Reason::Path {
            path: directory.clone(),
            why: why.into(),
        })?;
        changes.set(cache.variable, directory);
        for (_, name, value) in WITH.iter().filter(|(of, ..)| *of == cache.variable) {
            if user(name).is_none() {
                changes.set(name, *value);
            }
        }
    }
    Ok(())
}

/// The caches to keep for a start.
fn wanted(context: &StartContext<'_>, named: bool) -> Result<Vec<&'static CompileCache>, Reason> {
    // A named directory is used for all caches, also in a container in which the program
    // was never observed.
    if named {
        return Ok(portability::kept().collect());
    }
    let Some(observed) = context.observations else {
        return Err(Reason::Unmeasured);
    };
    let uses = |cache: &&CompileCache| observed.caches.iter().any(|name| name == cache.variable);
    let wanted: Vec<_> = portability::kept().filter(uses).collect();
    match wanted.is_empty() {
        true => Err(Reason::CompilesNothing),
        false => Ok(wanted),
    }
}

/// Returns true if a cache directory is named in the environment.
pub(crate) fn is_named(variable: &dyn Fn(&str) -> Option<OsString>) -> bool {
    variable(VARIABLE).is_some_and(|value| !value.is_empty())
}

/// The cache directory: the one that is named in the environment, or the default.
pub fn default_directory() -> Result<PathBuf, Reason> {
    cache_dir::path(|name| std::env::var_os(name))
}

/// The number of files in a cache directory, and their bytes.
pub fn files_and_bytes(cache_dir: &Path) -> io::Result<(u64, u64)> {
    let (found, _) = cache_dir::list(cache_dir)?;
    Ok((
        found.len() as u64,
        found.iter().map(|found| found.size).sum(),
    ))
}

/// Formats a number of files.
pub fn files(number: u64) -> String {
    match number {
        1 => "1 file".to_owned(),
        _ => format!("{number} files"),
    }
}

/// Cache variables that the user has set to directories elsewhere, with their values. Such
/// caches are not packed.
pub fn elsewhere(cache_dir: &Path) -> Vec<(&'static str, PathBuf)> {
    let set =
        |cache: &CompileCache| Some((cache.variable, std::env::var_os(cache.variable)?.into()));
    let all = portability::carried().filter_map(set);
    all.filter(|(_, path): &(_, PathBuf)| !path.starts_with(cache_dir) && path.is_dir())
        .collect()
}
