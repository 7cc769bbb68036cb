//! Places what travels inside this binary where programs can load it: the recorder and
//! the `sitecustomize` of Python.
//!
//! They go to a private directory below the user's cache, named after their content, so
//! that several versions live side by side. What lies there already is compared byte by
//! byte before it is used, because it is about to be loaded into programs. Where the
//! cache is not to be used, a fresh directory for temporary files is made instead.

use std::ffi::{CString, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::trusted::trusted;
use crate::{LaunchError, clock};

const SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libpreheat.so"));
const SITECUSTOMIZE: &[u8] = include_bytes!("python/sitecustomize.py");

/// What the directories in the cache are called, before the content's hash.
const PREFIX: &str = "recorder-";

/// Other versions' directories are removed when nobody has used them for so long.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);

/// Where the recorder lies.
#[derive(Debug)]
pub(crate) struct Placed {
    /// The directory of all of it.
    pub directory: PathBuf,
    /// The library that is preloaded.
    pub shim: PathBuf,
    /// The directory of `sitecustomize.py`.
    pub python: PathBuf,
    temporary: bool,
}

impl Placed {
    /// What lies where in a directory.
    pub(crate) fn at(directory: PathBuf, temporary: bool) -> Placed {
        Placed {
            shim: directory.join("libpreheat.so"),
            python: directory.join("python"),
            directory,
            temporary,
        }
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        if self.temporary {
            // What cannot be removed is left to the system's own cleaning.
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

/// Place the recorder for the user that this process runs as.
pub(crate) fn place() -> Result<Placed, LaunchError> {
    if let Some(placed) = for_all_users() {
        return Ok(placed);
    }
    let cache = cache_home(|name| std::env::var_os(name));
    let temporary = [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into()];
    place_in(cache.as_deref(), &temporary)
}

/// The cache directory of the whole system. A path that stays the same: `preheat start`
/// compares `LD_PRELOAD` with that of the warm parent.
const SYSTEM_CACHE: &str = "/var/cache";

/// Programs that root starts may go on as another user, whose loader would complain about a
/// library that it cannot read, so for root the recorder is readable for all users. Not if
/// `XDG_CACHE_HOME` names another directory.
fn for_all_users() -> Option<Placed> {
    // SAFETY: geteuid takes nothing and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root || std::env::var_os("XDG_CACHE_HOME").is_some() {
        return None;
    }
    in_cache(Path::new(SYSTEM_CACHE), Readers::All).ok()
}

/// Where the recorder's library lies for programs that outlive this process: only in the
/// user's cache, as nobody would remove it from elsewhere.
pub fn kept_recorder() -> Result<PathBuf, LaunchError> {
    if let Some(placed) = for_all_users() {
        return Ok(placed.shim.clone());
    }
    let failed =
        |why: String| LaunchError::Failed(format!("the recorder's library cannot be kept: {why}"));
    let cache = cache_home(|name| std::env::var_os(name));
    let cache = cache.ok_or_else(|| failed("there is no HOME and no XDG_CACHE_HOME".into()))?;
    let placed = in_cache(&cache, Readers::User)
        .map_err(|why| failed(format!("{}: {why}", cache.display())))?;
    Ok(placed.shim.clone())
}

/// The user's cache directory, as the XDG specification has it.
fn cache_home(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
}

fn place_in(cache: Option<&Path>, temporary: &[PathBuf]) -> Result<Placed, LaunchError> {
    let mut reasons = Vec::new();
    if let Some(cache) = cache {
        match in_cache(cache, Readers::User) {
            Ok(placed) => return Ok(placed),
            Err(why) => reasons.push(format!("{}: {why}", cache.display())),
        }
    }
    for directory in temporary {
        match in_temporary(directory) {
            Ok(placed) => return Ok(placed),
            Err(why) => reasons.push(format!("{}: {why}", directory.display())),
        }
    }
    Err(LaunchError::Failed(format!(
        "the recorder cannot be put anywhere that programs could load it from ({}); set XDG_CACHE_HOME to a directory of yours whose path has neither spaces nor colons",
        reasons.join("; ")
    )))
}

/// Who may read the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readers {
    /// This user alone.
    User,
    /// All users.
    All,
}

impl Readers {
    /// The permissions of directories.
    fn directories(self) -> u32 {
        match self {
            Readers::User => 0o700,
            Readers::All => 0o755,
        }
    }
}

fn in_cache(cache: &Path, readers: Readers) -> io::Result<Placed> {
    usable(cache)?;
    let cache = trusted(cache)?;
    fs::create_dir_all(&cache)?;
    let ours = cache.join("preheat");
    own(&ours, readers)?;
    let directory = ours.join(format!("{PREFIX}{:016x}", hash(&[SHIM, SITECUSTOMIZE])));
    own(&directory, readers)?;
    let placed = fill(directory, false, readers)?;
    // Its time says when it was last used. Neither this nor the cleaning has to work.
    let _ = File::open(&placed.directory)
        .and_then(|directory| directory.set_modified(SystemTime::now()));
    remove_unused(&ours, &placed.directory);
    Ok(placed)
}

fn in_temporary(below: &Path) -> io::Result<Placed> {
    usable(below)?;
    let name = format!("preheat-{}-{}", std::process::id(), clock::now());
    let directory = trusted(below)?.join(name);
    DirBuilder::new().mode(0o700).create(&directory)?;
    fill(directory, true, Readers::User)
}

/// Whether a path can be named in `LD_PRELOAD`, where spaces and colons separate and a
/// dollar is expanded, and leads to where code may be executed.
fn usable(directory: &Path) -> io::Result<()> {
    let bytes = directory.as_os_str().as_bytes();
    if bytes
        .iter()
        .any(|byte| b" :$;".contains(byte) || byte.is_ascii_control())
    {
        return Err(io::Error::other(
            "the loader cannot be told of a path with a space, colon or dollar in it",
        ));
    }
    // The directory itself may not be there yet: its file system is that of what is.
    let existing = directory.ancestors().find(|path| path.exists());
    let Some(path) = existing.and_then(|path| CString::new(path.as_os_str().as_bytes()).ok())
    else {
        return Ok(());
    };
    // SAFETY: a zeroed statvfs is a valid value; the path ends with a NUL and statvfs
    // writes one struct.
    let no_execution = unsafe {
        let mut system: libc::statvfs = std::mem::zeroed();
        libc::statvfs(path.as_ptr(), &mut system) == 0 && system.f_flag & libc::ST_NOEXEC != 0
    };
    if no_execution {
        return Err(io::Error::other("it is mounted noexec"));
    }
    Ok(())
}

/// Have a directory that is this user's own, open to nobody else; no link is followed.
pub fn private(directory: &Path) -> io::Result<()> {
    own(directory, Readers::User)
}

/// Have a directory that belongs to this user, with the permissions for these readers; no
/// link is followed.
fn own(directory: &Path, readers: Readers) -> io::Result<()> {
    let mode = readers.directories();
    // Not where it exists: a sandbox may allow no directory to be made.
    if fs::symlink_metadata(directory).is_err() {
        match DirBuilder::new().mode(mode).create(directory) {
            Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(why),
            _ => {}
        }
    }
    let is = fs::symlink_metadata(directory)?;
    // SAFETY: geteuid takes nothing and cannot fail.
    let us = unsafe { libc::geteuid() };
    if !is.is_dir() || is.uid() != us {
        return Err(io::Error::other(format!(
            "{} is not a directory of this user's own",
            directory.display()
        )));
    }
    // The umask may have removed some.
    let wrong = match readers {
        Readers::User => is.mode() & 0o077 != 0,
        Readers::All => is.mode() & 0o777 != mode,
    };
    if wrong {
        fs::set_permissions(directory, Permissions::from_mode(mode))?;
    }
    Ok(())
}

fn fill(directory: PathBuf, temporary: bool, readers: Readers) -> io::Result<Placed> {
    let placed = Placed::at(directory, temporary);
    own(&placed.python, readers)?;
    let script = placed.python.join("sitecustomize.py");
    for (path, bytes) in [(&placed.shim, SHIM), (&script, SITECUSTOMIZE)] {
        put(path, bytes)?;
        // Only if they differ: a change is noticed by those that have mapped the file.
        if readers == Readers::All && fs::metadata(path)?.mode() & 0o777 != 0o644 {
            fs::set_permissions(path, Permissions::from_mode(0o644))?;
        }
    }
    Ok(placed)
}

/// Have a file with these bytes. One that has them already is left alone: programs may
/// have it mapped. Any other is replaced as a whole.
pub fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|is| is.is_file());
    if is_file && fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    replace(path, bytes)
}

/// Write a file of the user's own anew, as a whole.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension(format!("new-{}-{}", std::process::id(), clock::now()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

fn remove_unused(ours: &Path, but: &Path) {
    let Ok(entries) = fs::read_dir(ours) else {
        return;
    };
    for entry in entries.flatten() {
        let named = entry.file_name().as_bytes().starts_with(PREFIX.as_bytes());
        let old = fs::symlink_metadata(entry.path()).is_ok_and(|is| {
            let unused = is.modified().ok().and_then(|time| time.elapsed().ok());
            is.is_dir() && unused.is_some_and(|time| time > UNUSED)
        });
        if named && old && entry.path() != but {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// FNV-1a: a name, no proof. What is found under it is compared as a whole.
fn hash(parts: &[&[u8]]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for &byte in parts.iter().copied().flatten() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    hash
}

#[cfg(test)]
mod tests;
