//! The user's private directories: one for the sockets and state of running parents, one
//! for stored knowledge about programs.
//!
//! Code is executed from there, by path. A directory is therefore used only if no other user
//! can rename or replace it or one of its ancestors, and its symlinks are resolved once. A
//! directory that another user created first is skipped.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use preheat_host::files::{private, put};
use preheat_host::{trusted, user};

/// The files that Python loads, by name.
const PYTHON: &[(&str, &[u8])] = &[
    (
        "sitecustomize.py",
        include_bytes!("python/sitecustomize.py"),
    ),
    ("bytecode.py", include_bytes!("python/bytecode.py")),
    ("learn.py", include_bytes!("python/learn.py")),
    ("template.py", include_bytes!("python/template.py")),
    ("probe.py", include_bytes!("python/probe.py")),
    ("tracer.py", include_bytes!("python/tracer.py")),
    ("before.py", include_bytes!("python/before.py")),
    ("redirects.py", include_bytes!("python/redirects.py")),
    ("prefix.py", include_bytes!("python/prefix.py")),
    ("watch.py", include_bytes!("python/watch.py")),
    ("draws.py", include_bytes!("python/draws.py")),
    ("temporary.py", include_bytes!("python/temporary.py")),
    ("chance.py", include_bytes!("python/chance.py")),
    ("serve.py", include_bytes!("python/serve.py")),
    ("memory.py", include_bytes!("python/memory.py")),
    ("collector.py", include_bytes!("python/collector.py")),
    ("exits.py", include_bytes!("python/exits.py")),
    ("pages.py", include_bytes!("python/pages.py")),
    ("title.py", include_bytes!("python/title.py")),
    ("state.py", include_bytes!("python/state.py")),
    ("child.py", include_bytes!("python/child.py")),
    ("guard.py", include_bytes!("python/guard.py")),
    ("end.py", include_bytes!("python/end.py")),
    ("generators.py", include_bytes!("python/generators.py")),
    ("inputs.py", include_bytes!("python/inputs.py")),
    ("graph.py", include_bytes!("python/graph.py")),
    ("effects.py", include_bytes!("python/effects.py")),
    ("hidden.py", include_bytes!("python/hidden.py")),
    ("expected.py", include_bytes!("python/expected.py")),
    ("importing.py", include_bytes!("python/importing.py")),
    ("nodes.py", include_bytes!("python/nodes.py")),
    ("places.py", include_bytes!("python/places.py")),
    ("recorder.py", include_bytes!("python/recorder.py")),
    ("search.py", include_bytes!("python/search.py")),
    ("native.py", include_bytes!("python/native.py")),
    ("device_use.py", include_bytes!("python/device_use.py")),
    ("frameworks.py", include_bytes!("python/frameworks.py")),
    ("operations.py", include_bytes!("python/operations.py")),
    ("standby.py", include_bytes!("python/standby.py")),
    ("parking.py", include_bytes!("python/parking.py")),
];

/// The longest path of a directory in which a socket can be named: `sockaddr_un` has room
/// for 107 bytes, and a name is `/`, 16 digits, `-`, a process and `.standby`.
const MAX_DIRECTORY_BYTES: usize = 72;

/// The directory for temporary files if TMPDIR does not name a usable one.
const TEMPORARY: &str = "/tmp";

/// The state directories.
#[derive(Clone, Debug)]
pub(crate) struct Directories {
    /// Sockets, states and locks of parents.
    pub run: PathBuf,
    /// Stored knowledge about programs.
    pub kept: PathBuf,
    /// The directory of our `sitecustomize.py`.
    pub python: PathBuf,
}

impl Directories {
    /// Checks that the code that Python loads is still in a directory which only this user can
    /// change. It is loaded by path, and long after the directory was found.
    pub(crate) fn check_code(&self) -> io::Result<()> {
        if trusted(&self.python)? == self.python
            && [&self.run, &self.python]
                .into_iter()
                .all(|it| is_private(it))
        {
            return Ok(());
        }
        let shown = self.python.display();
        Err(io::Error::other(format!("{shown} was replaced")))
    }
}

/// The user's directories, created if missing.
pub(crate) fn find() -> io::Result<Directories> {
    // With a file size limit, writing must fail rather than kill this process. rustix leaves the
    // actions of signals to the C library.
    // SAFETY: signal only takes numbers; no other thread relies on this signal.
    let before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let directories = find_by(|name| std::env::var_os(name), &temporary());
    // SAFETY: as above; this restores the previous action.
    unsafe { libc::signal(libc::SIGXFSZ, before) };
    directories
}

/// The directory of running parents alone.
pub(crate) fn run_directory() -> io::Result<PathBuf> {
    run_by(&|name| std::env::var_os(name), &temporary())
}

/// Directories for temporary files, the user's choice first.
fn temporary() -> Vec<PathBuf> {
    let mut directories = vec![std::env::temp_dir(), TEMPORARY.into()];
    directories.dedup();
    directories
}

fn run_by(
    variable: &dyn Fn(&str) -> Option<OsString>,
    temporary: &[PathBuf],
) -> io::Result<PathBuf> {
    let runtime = variable("XDG_RUNTIME_DIR").map(PathBuf::from);
    let runtime = runtime.filter(|path| path.is_absolute() && is_private(path));
    if let Some(Ok(run)) = runtime.map(|runtime| below(&runtime, "preheat")) {
        return Ok(run);
    }
    let name = format!("preheat-{}", user());
    let mut reasons = Vec::new();
    for directory in temporary {
        match below(directory, &name) {
            Ok(run) => return Ok(run),
            Err(why) => reasons.push(format!("{}: {why}", directory.display())),
        }
    }
    Err(io::Error::other(reasons.join("; ")))
}

/// A private directory with this name; if that belongs to another user, one whose name
/// begins with it.
fn below(directory: &Path, name: &str) -> io::Result<PathBuf> {
    let directory = trusted(directory)?;
    let run = directory.join(name);
    let run = match private(&run) {
        Ok(()) => run,
        Err(_) if fs::symlink_metadata(&run).is_ok_and(|found| found.uid() != user()) => {
            instead(&directory, name)?
        }
        Err(why) => return Err(why),
    };
    if run.as_os_str().len() > MAX_DIRECTORY_BYTES {
        return Err(io::Error::other("its path is too long for a socket"));
    }
    Ok(run)
}

/// Finds or creates a private directory whose name begins with `name`. Other users cannot
/// create a directory that we own, so the first one that we own is the right one.
fn instead(directory: &Path, name: &str) -> io::Result<PathBuf> {
    let beginning = format!("{name}-");
    let ours = || -> io::Result<Option<PathBuf>> {
        let entries = fs::read_dir(directory)?.flatten();
        let named = entries.filter(|entry| {
            let name = entry.file_name();
            name.as_bytes().starts_with(beginning.as_bytes())
        });
        Ok(named
            .map(|entry| entry.path())
            .filter(|path| is_private(path))
            .min())
    };
    if let Some(found) = ours()? {
        return Ok(found);
    }
    let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    let serial = now.as_nanos() as u64 ^ u64::from(std::process::id()) << 32;
    let new = directory.join(format!("{beginning}{:08x}", serial as u32));
    DirBuilder::new().mode(0o700).create(&new)?;
    // Another process of this user may have created one at the same time.
    ours()?.ok_or_else(|| io::Error::other("it was removed again"))
}

fn find_by(
    variable: impl Fn(&str) -> Option<OsString>,
    temporary: &[PathBuf],
) -> io::Result<Directories> {
    let run = run_by(&variable, temporary)?;
    let absolute = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache =
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    // Without a cache directory, state lives as long as parents run. A cache directory of
    // another user (root with that user's HOME) is not used.
    let kept = cache
        .and_then(|cache| {
            let cache = trusted(&cache).ok()?;
            fs::create_dir_all(&cache).ok()?;
            private(&cache.join("preheat")).ok()?;
            let kept = cache.join("preheat/start");
            private(&kept).ok().map(|()| kept)
        })
        .unwrap_or_else(|| run.clone());
    let python = run.join(format!("python-{}", version()));
    private(&python)?;
    for (name, bytes) in PYTHON {
        put(&python.join(name), bytes)?;
    }
    if python.as_os_str().as_bytes().contains(&b':') {
        return Err(io::Error::other(
            "PYTHONPATH cannot contain a path with a colon",
        ));
    }
    Ok(Directories { run, kept, python })
}

/// The version of the Python files. Parents of another version are not used.
pub(crate) fn version() -> String {
    let bytes = PYTHON.iter().flat_map(|(_, bytes)| bytes.iter().copied());
    crate::identity::name(&bytes.collect::<Vec<u8>>())
}

/// Returns true for a directory of this user that no other user can access.
fn is_private(directory: &Path) -> bool {
    fs::symlink_metadata(directory)
        .is_ok_and(|found| found.is_dir() && found.uid() == user() && found.mode() & 0o077 == 0)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use preheat_host::Scratch;

    use super::*;

    fn scratch() -> Scratch {
        Scratch::new("own").expect("a directory for the test")
    }

    #[test]
    fn the_directories_are_private_and_python_finds_its_files() {
        let scratch = scratch();
        let at = scratch.path().to_owned();
        let variable = |name: &str| (name != "HOME").then(|| at.clone().into_os_string());
        let temporary = [at.clone()];
        let directories = find_by(variable, &temporary).expect("they are created");
        assert_eq!(directories.run, at.join("preheat"));
        assert!(is_private(&directories.run) && is_private(&directories.kept));
        fs::write(directories.python.join("child.py"), "evil").expect("it is ours");
        let again = find_by(variable, &temporary).expect("they exist");
        let child = fs::read(again.python.join("child.py")).expect("it exists");
        assert_ne!(child, b"evil");
    }

    #[test]
    fn a_replaced_directory_is_noticed() {
        let scratch = scratch();
        let at = scratch.path().to_owned();
        let variable = |name: &str| (name != "HOME").then(|| at.clone().into_os_string());
        let directories = find_by(variable, std::slice::from_ref(&at)).expect("they are created");
        directories.check_code().expect("it is as it was");
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
        };
        mode(&at, 0o777);
        assert!(directories.check_code().is_err());
        mode(&at, 0o700);
        mode(&directories.python, 0o777);
        assert!(directories.check_code().is_err());
        mode(&directories.python, 0o700);
        directories.check_code().expect("it is as it was");
        let away = at.join("away");
        fs::rename(&directories.run, &away).expect("it is ours");
        std::os::unix::fs::symlink(&away, &directories.run).expect("a link");
        assert!(directories.check_code().is_err());
    }

    #[test]
    fn directories_that_others_can_change_are_skipped() {
        let scratch = scratch();
        let at = scratch.path().to_owned();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
        };
        mode(&at, 0o755);
        let name = format!("preheat-{}", user());
        let temporary = [at.clone()];
        let run = run_by(&|_| Some(at.clone().into_os_string()), &temporary).expect("elsewhere");
        assert_eq!(run, at.join(&name));
        // Even a symlink of this user is not followed.
        fs::remove_dir_all(&run).expect("the directory can be removed");
        std::os::unix::fs::symlink("/tmp", &run).expect("a link");
        assert!(run_by(&|_| None, &temporary).is_err());
        // In a world-writable directory without the sticky bit, others could replace it.
        let (open, next) = (at.join("all"), at.join("next"));
        for directory in [&open, &next] {
            fs::create_dir(directory).expect("a directory for the test");
        }
        mode(&open, 0o777);
        let runtime = open.join("run");
        fs::create_dir(&runtime).expect("a directory for the test");
        mode(&runtime, 0o700);
        let variable = |_: &str| Some(runtime.clone().into_os_string());
        let run = run_by(&variable, &[open.clone(), next.clone()]).expect("elsewhere");
        assert_eq!(run, next.join(&name));
        let why = run_by(&|_| None, &[open])
            .expect_err("it is world-writable")
            .to_string();
        assert!(why.contains("can be changed by every user"), "{why}");
    }

    #[test]
    fn the_fallback_directory_is_found_again() {
        let scratch = scratch();
        let at = scratch.path().to_owned();
        let first = instead(&at, "preheat-1").expect("it is created");
        assert!(is_private(&first));
        assert_eq!(instead(&at, "preheat-1").expect("it exists"), first);
    }
}
