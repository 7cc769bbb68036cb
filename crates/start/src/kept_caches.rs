//! Kept caches: compiled code is kept in one place, across starts and containers.
//!
//! - It applies where a place was named, or where the program was seen to compile.
//! - It is applied by variables that lead every cache below the place. What the user has
//!   set stays: such a cache is where the user wants it.
//! - It is verified by counting: a start that finds what it needs adds nothing ([`held`]).
//! - It is undone by not being set; the place can be removed at any time.
//!
//! A place is carried to other machines as one file: [`pack`] and [`unpack`]. Programs
//! find what they compiled only under the same path and with the same times, so both are
//! kept (see `traits`).

mod checksum;
mod error;
mod header;
mod machine;
mod mentions;
mod merge;
mod pack;
mod place;
mod tar;
#[cfg(test)]
mod tests;
mod traits;
mod unpack;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use preheat_launch::caches::CompileCache;

use crate::case::{Case, Changes};
use crate::invocation::Why;

pub use error::BundleError;
pub use machine::{Card, Machine};
pub use pack::{Packed, pack};
pub use place::{VARIABLE, whole};
pub(crate) use place::{make as make_directory, place as directory};
pub use unpack::{Unpacked, unpack};

/// How many bytes are moved at once.
const CHUNK: usize = 1 << 20;

/// Where packing or unpacking stands.
pub struct Step<'a> {
    /// How many files are done.
    pub done: usize,
    /// How many there are.
    pub total: Option<usize>,
    /// The file that comes next.
    pub path: &'a Path,
}

/// Is told of every step; the work ends when it answers `false`.
pub type Watch<'a> = dyn FnMut(&Step<'_>) -> bool + 'a;

/// Variables that go with a cache's own, where the user has not set them.
const WITH: [(&str, &str, &str); 2] = [
    // A gibibyte is the default, and this the most.
    ("CUDA_CACHE_PATH", "CUDA_CACHE_MAXSIZE", "4294967296"),
    // What took less than a second to compile would not be kept; a program has many of those.
    (
        "JAX_COMPILATION_CACHE_DIR",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS",
        "0",
    ),
];

/// Keep what the program compiles in the place.
pub(crate) fn apply(case: &Case<'_>, changes: &mut Changes) -> Result<(), Why> {
    let user = |name: &str| case.variable(name).map(OsStr::to_owned);
    let wanted = wanted(case, is_named(&user))?;
    let free: Vec<_> = wanted
        .into_iter()
        .filter(|cache| user(cache.variable).is_none())
        .collect();
    if free.is_empty() {
        return Err("the variables of its caches are set already".into());
    }
    let place = place::place(user)?;
    for cache in free {
        let directory = place.join(cache.directory());
        place::make(&directory).map_err(|why| format!("{}: {why}", directory.display()))?;
        changes.set(cache.variable, directory);
        for (_, name, value) in WITH.iter().filter(|(of, ..)| *of == cache.variable) {
            if user(name).is_none() {
                changes.set(name, *value);
            }
        }
    }
    Ok(())
}

/// The caches that a start is to have there.
fn wanted(case: &Case<'_>, named: bool) -> Result<Vec<&'static CompileCache>, Why> {
    // Whoever names a place wants everything in it, also from a container in which
    // nothing is known of the program.
    if named {
        return Ok(traits::kept().collect());
    }
    let Some(seen) = case.seen else {
        return Err("the program was not measured yet".into());
    };
    let uses = |cache: &&CompileCache| seen.caches.iter().any(|name| name == cache.variable);
    let wanted: Vec<_> = traits::kept().filter(uses).collect();
    match wanted.is_empty() {
        true => Err("the program was not seen to compile anything".into()),
        false => Ok(wanted),
    }
}

/// Whether a place was named.
pub(crate) fn is_named(variable: &dyn Fn(&str) -> Option<OsString>) -> bool {
    variable(VARIABLE).is_some_and(|value| !value.is_empty())
}

/// The place: the one that is named in the environment, else the user's own.
pub fn default_place() -> Result<PathBuf, String> {
    place::place(|name| std::env::var_os(name))
}

/// What a place holds: files and their bytes.
pub fn held(place: &Path) -> io::Result<(u64, u64)> {
    let (found, _) = place::look(place)?;
    Ok((
        found.len() as u64,
        found.iter().map(|found| found.size).sum(),
    ))
}

/// A number of files, for people.
pub fn files(number: u64) -> String {
    match number {
        1 => "1 file".to_owned(),
        _ => format!("{number} files"),
    }
}

/// Variables that the user has set to lead out of the place, with where they lead: such
/// caches are not packed.
pub fn elsewhere(place: &Path) -> Vec<(&'static str, PathBuf)> {
    let set =
        |cache: &CompileCache| Some((cache.variable, std::env::var_os(cache.variable)?.into()));
    let all = traits::carried().filter_map(set);
    all.filter(|(_, path): &(_, PathBuf)| !path.starts_with(place) && path.is_dir())
        .collect()
}
