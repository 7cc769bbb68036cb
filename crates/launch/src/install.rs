//! Installs the embedded files where programs can load them: the recorder and the Python
//! `sitecustomize`.
//!
//! They go to a private directory below the user's cache directory, named after their
//! content, so that several versions can coexist. Existing files are compared byte by byte
//! before each use, because they are loaded into programs. If the cache directory is not
//! usable, a new temporary directory is created instead.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::hash::Hasher;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use rustix::fs::StatVfsMountFlags;
use twox_hash::XxHash64;

use preheat_host::files::{Readers, own, put};
use preheat_host::{Scratch, trusted};

use crate::LaunchError;

const SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libpreheat.so"));
const SITECUSTOMIZE: &[u8] = include_bytes!("python/sitecustomize.py");

/// The prefix of the directories in the cache, before the hash of the content.
const PREFIX: &str = "recorder-";

/// Directories of other versions are removed after this time without use.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);

/// The installed recorder.
#[derive(Debug)]
pub(crate) struct Installed {
    /// The directory of all files.
    pub directory: PathBuf,
    /// The recorder's library.
    pub shim: PathBuf,
    /// The library as `LD_PRELOAD` names it.
    pub preload: PathBuf,
    /// The directory of `sitecustomize.py`.
    pub python: PathBuf,
    /// Removes the directory with this value, if it is a temporary one.
    _scratch: Option<Scratch>,
}

/// Returns true for the recorder's `sitecustomize.py`, which is none of the program's files.
pub fn is_recorders(file: &Path) -> bool {
    let python = file.parent();
    let directory = python.and_then(Path::parent).map(Path::to_owned);
    directory.is_some_and(|directory| {
        let installed = Installed::at(directory, None);
        Some(&*installed.python) == python && installed.shim.is_file()
    })
}

impl Installed {
    /// The paths in a directory.
    pub(crate) fn at(directory: PathBuf, scratch: Option<Scratch>) -> Installed {
        let shim = directory.join("libpreheat.so");
        Installed {
            preload: shim.clone(),
            shim,
            python: directory.join("python"),
            directory,
            _scratch: scratch,
        }
    }
}

/// Installs the recorder for the user of this process.
pub(crate) fn install() -> Result<Installed, LaunchError> {
    if let Some(installed) = for_all_users() {
        return Ok(installed);
    }
    let cache = cache_home(|name| std::env::var_os(name));
    let temporary = [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into()];
    install_in(cache.as_deref(), &temporary)
}

/// The system-wide cache directory. The path stays the same, because `preheat start`
/// compares `LD_PRELOAD` with that of the warm parent.
const SYSTEM_CACHE: &str = "/var/cache";

/// Installs the recorder for root, readable by all users: programs started by root may
/// switch to another user, whose loader would complain about an unreadable library. In
/// `XDG_CACHE_HOME`, if all users can reach that directory.
fn for_all_users() -> Option<Installed> {
    if preheat_host::user() != 0 {
        return None;
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = match cache.filter(|cache| cache.is_absolute()) {
        Some(cache) if is_reachable(&cache) => cache,
        _ => SYSTEM_CACHE.into(),
    };
    in_cache(&cache, Readers::All).ok()
}

/// Returns whether all users may enter a directory and those above it, as far as they exist. A file
/// in place of the directory is a separate error.
fn is_reachable(directory: &Path) -> bool {
    let closed =
        |path: &Path| fs::metadata(path).is_ok_and(|found| found.is_dir() && found.mode() & 1 == 0);
    !directory.ancestors().any(closed)
}

/// The recorder's library as `LD_PRELOAD` names it, for programs that outlive this process.
/// It is only installed in the cache directory, since nothing would remove it elsewhere.
pub fn kept_recorder() -> Result<PathBuf, LaunchError> {
    if let Some(installed) = for_all_users() {
        return Ok(installed.preload.clone());
    }
    let failed = |why: String| {
        LaunchError::Failed(format!("the recorder's library cannot be installed: {why}"))
    };
    let cache = cache_home(|name| std::env::var_os(name));
    let cache = cache.ok_or_else(|| failed("neither HOME nor XDG_CACHE_HOME is set".into()))?;
    let installed = in_cache(&cache, Readers::User)
        .map_err(|why| failed(format!("{}: {why}", cache.display())))?;
    Ok(installed.preload.clone())
}

/// The user's cache directory, following the XDG specification.
fn cache_home(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
}

fn install_in(cache: Option<&Path>, temporary: &[PathBuf]) -> Result<Installed, LaunchError> {
    let mut reasons = Vec::new();
    if let Some(cache) = cache {
        match in_cache(cache, Readers::User) {
            Ok(installed) => return Ok(installed),
            Err(why) => reasons.push(format!("{}: {why}", cache.display())),
        }
    }
    for directory in temporary {
        match in_temporary(directory) {
            Ok(installed) => return Ok(installed),
            Err(why) => reasons.push(format!("{}: {why}", directory.display())),
        }
    }
    Err(LaunchError::Failed(format!(
        "the recorder cannot be installed where programs could load it ({}); set XDG_CACHE_HOME to one of your directories, with neither spaces nor colons in its path",
        reasons.join("; ")
    )))
}

fn in_cache(cache: &Path, readers: Readers) -> io::Result<Installed> {
    usable(cache)?;
    let cache = trusted(cache)?;
    fs::create_dir_all(&cache)?;
    let ours = cache.join("preheat");
    own(&ours, readers)?;
    let directory = ours.join(format!("{PREFIX}{:016x}", content_hash()));
    own(&directory, readers)?;
    let installed = fill(directory, None, readers)?;
    // The modification time is the time of the last use. This and the cleanup are optional.
    let _ = File::open(&installed.directory)
        .and_then(|directory| directory.set_modified(SystemTime::now()));
    remove_unused(&ours, &installed.directory);
    Ok(installed)
}

fn in_temporary(below: &Path) -> io::Result<Installed> {
    usable(below)?;
    let scratch = Scratch::below(&trusted(below)?, "recorder")?;
    fill(scratch.path().to_owned(), Some(scratch), Readers::User)
}

/// Checks that a path is usable in `LD_PRELOAD`, where spaces and colons separate entries
/// and a dollar sign is expanded, and that code may be executed there.
fn usable(directory: &Path) -> io::Result<()> {
    let bytes = directory.as_os_str().as_bytes();
    if bytes
        .iter()
        .any(|byte| b" :$;".contains(byte) || byte.is_ascii_control())
    {
        return Err(io::Error::other(
            "LD_PRELOAD cannot contain a path with a space, colon or dollar sign",
        ));
    }
    // The directory may not exist yet; its closest existing parent is on the same file
    // system.
    let existing = directory.ancestors().find(|path| path.exists());
    let system = existing.and_then(|path| rustix::fs::statvfs(path).ok());
    if system.is_some_and(|system| system.f_flag.contains(StatVfsMountFlags::NOEXEC)) {
        return Err(io::Error::other("it is mounted noexec"));
    }
    Ok(())
}

fn fill(directory: PathBuf, scratch: Option<Scratch>, readers: Readers) -> io::Result<Installed> {
    let mut installed = Installed::at(directory, scratch);
    own(&installed.python, readers)?;
    let script = installed.python.join("sitecustomize.py");
    for (path, bytes) in [(&installed.shim, SHIM), (&script, SITECUSTOMIZE)] {
        put(path, bytes)?;
        // Only if they differ: processes that have mapped the file would notice a change.
        if readers == Readers::All && fs::metadata(path)?.mode() & 0o777 != 0o644 {
            fs::set_permissions(path, Permissions::from_mode(0o644))?;
        }
    }
    if let Ok(path) = for_this_loader(&installed.directory, readers) {
        installed.preload = path;
    }
    Ok(installed)
}

/// A path to the library that only the loader of glibc can open: it replaces `$LIB` by its
/// own directory name, while the loader of musl looks for a file of that name and goes on
/// without it. A plain path would end programs for musl, which lacks functions that the
/// library needs.
///
/// # Errors
/// If the links cannot be made, or the loader of this system does not find them.
fn for_this_loader(directory: &Path, readers: Readers) -> io::Result<PathBuf> {
    let path = directory.join("$LIB/libpreheat.so");
    // The stored result of an earlier test of the loader, if there is one.
    let answer = directory.join("expands-lib");
    link_for_loaders(directory, readers)?;
    let is_found = match fs::read(&answer) {
        Ok(known) => known == b"yes",
        Err(_) => {
            let is_found = loader_finds(&path)?;
            put(&answer, if is_found { b"yes" } else { b"no" })?;
            is_found
        }
    };
    match is_found {
        true => Ok(path),
        false => Err(io::Error::other("the loader does not know $LIB")),
    }
}

/// Makes the directories that `$LIB` may name, which depends on the distribution.
fn link_for_loaders(directory: &Path, readers: Readers) -> io::Result<()> {
    let multiarch = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
    for (below, to) in [
        ("lib", "../libpreheat.so"),
        (&*multiarch, "../../libpreheat.so"),
        ("lib64", "../libpreheat.so"),
    ] {
        let below = directory.join(below);
        own(&below, readers)?;
        let link = below.join("libpreheat.so");
        if fs::read_link(&link).is_ok_and(|is| is == Path::new(to)) {
            continue;
        }
        // Another process may be starting a program: there is a link at any time.
        let new = below.join(format!(".{}", std::process::id()));
        let _ = fs::remove_file(&new);
        symlink(to, &new)?;
        fs::rename(&new, &link)?;
    }
    Ok(())
}

/// Asks the loader of this program which libraries it would load, without starting it.
fn loader_finds(preload: &Path) -> io::Result<bool> {
    let listed = Command::new("/proc/self/exe")
        .env_clear()
        .env("LD_TRACE_LOADED_OBJECTS", "1")
        .env("LD_PRELOAD", preload)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()?;
    let found = listed.stdout.windows(13).any(|at| at == b"libpreheat.so");
    Ok(listed.status.success() && found)
}

fn remove_unused(ours: &Path, but: &Path) {
    let Ok(entries) = fs::read_dir(ours) else {
        return;
    };
    for entry in entries.flatten() {
        let named = entry.file_name().as_bytes().starts_with(PREFIX.as_bytes());
        let old = fs::symlink_metadata(entry.path()).is_ok_and(|found| {
            let unused = found.modified().ok().and_then(|time| time.elapsed().ok());
            found.is_dir() && unused.is_some_and(|time| time > UNUSED)
        });
        if named && old && entry.path() != but {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A hash of the content, only for naming: installed files are compared completely.
fn content_hash() -> u64 {
    let mut hash = XxHash64::default();
    hash.write(SHIM);
    hash.write(SITECUSTOMIZE);
    hash.finish()
}

#[cfg(test)]
mod tests;
