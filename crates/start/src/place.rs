//! Directories of the user's own: one for sockets and what belongs to running parents,
//! one for what is kept. Nothing is followed or used there that another user could have
//! put.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use preheat_launch::{private_directory as private, put_file};

/// What Python loads, by name.
const PYTHON: [(&str, &[u8]); 12] = [
    (
        "sitecustomize.py",
        include_bytes!("python/sitecustomize.py"),
    ),
    ("learn.py", include_bytes!("python/learn.py")),
    ("template.py", include_bytes!("python/template.py")),
    ("probe.py", include_bytes!("python/probe.py")),
    ("watch.py", include_bytes!("python/watch.py")),
    ("chance.py", include_bytes!("python/chance.py")),
    ("serve.py", include_bytes!("python/serve.py")),
    ("memory.py", include_bytes!("python/memory.py")),
    ("pages.py", include_bytes!("python/pages.py")),
    ("title.py", include_bytes!("python/title.py")),
    ("state.py", include_bytes!("python/state.py")),
    ("child.py", include_bytes!("python/child.py")),
];

/// The longest path of a directory in which a socket can be named.
const LONGEST: usize = 60;

/// Where things are.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// Sockets, states and locks of parents.
    pub run: PathBuf,
    /// What was learned of programs.
    pub kept: PathBuf,
    /// The directory of our `sitecustomize.py`.
    pub python: PathBuf,
}

/// The user's directories; made where they are not there yet.
pub(crate) fn places() -> io::Result<Places> {
    // Where files may not grow, writing is to fail, and not to be the end of us.
    // SAFETY: signal takes numbers; no other thread has an interest in this one.
    let before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let places = places_by(|name| std::env::var_os(name), &std::env::temp_dir());
    // SAFETY: as above; it is what it was.
    unsafe { libc::signal(libc::SIGXFSZ, before) };
    places
}

/// Only where running parents are, if there is such a place.
pub(crate) fn run_directory() -> io::Result<PathBuf> {
    run_by(&|name| std::env::var_os(name), &std::env::temp_dir())
}

fn run_by(variable: &dyn Fn(&str) -> Option<OsString>, temporary: &Path) -> io::Result<PathBuf> {
    let is_short = |path: &Path| path.is_absolute() && path.as_os_str().len() <= LONGEST;
    let runtime = variable("XDG_RUNTIME_DIR").map(PathBuf::from);
    if let Some(runtime) = runtime.filter(|path| is_short(path) && is_private(path)) {
        let run = runtime.join("preheat");
        private(&run)?;
        return Ok(run);
    }
    let below = if is_short(temporary) {
        temporary
    } else {
        Path::new("/tmp")
    };
    let run = below.join(format!("preheat-{}", user()));
    private(&run)?;
    Ok(run)
}

fn places_by(variable: impl Fn(&str) -> Option<OsString>, temporary: &Path) -> io::Result<Places> {
    let run = run_by(&variable, temporary)?;
    let absolute = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache =
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    // Without a cache things are kept as long as parents run.
    let kept = cache
        .and_then(|cache| {
            fs::create_dir_all(&cache).ok()?;
            private(&cache.join("preheat")).ok()?;
            let kept = cache.join("preheat/start");
            private(&kept).ok().map(|()| kept)
        })
        .unwrap_or_else(|| run.clone());
    let python = run.join(format!("python-{}", version()));
    private(&python)?;
    for (name, bytes) in PYTHON {
        put_file(&python.join(name), bytes)?;
    }
    if python.as_os_str().as_bytes().contains(&b':') {
        return Err(io::Error::other(
            "PYTHONPATH cannot name a path with a colon in it",
        ));
    }
    Ok(Places { run, kept, python })
}

/// Parents of another version are not talked to.
pub(crate) fn version() -> String {
    let bytes = PYTHON.iter().flat_map(|(_, bytes)| bytes.iter().copied());
    crate::identity::name(&bytes.collect::<Vec<u8>>())
}

fn user() -> libc::uid_t {
    // SAFETY: geteuid takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// Whether it is a directory of this user's, and nobody else's.
fn is_private(directory: &Path) -> bool {
    fs::symlink_metadata(directory)
        .is_ok_and(|is| is.is_dir() && is.uid() == user() && is.mode() & 0o077 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{DirBuilder, Permissions};
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("ps-{}-{name}", std::process::id()));
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .expect("a directory for the test");
        path
    }

    #[test]
    fn the_directories_are_private_and_python_finds_its_files() {
        let at = scratch("places");
        let variable = |name: &str| (name != "HOME").then(|| at.clone().into_os_string());
        let places = places_by(variable, &at).expect("they are made");
        assert_eq!(places.run, at.join("preheat"));
        assert!(is_private(&places.run) && is_private(&places.kept));
        fs::write(places.python.join("child.py"), "evil").expect("it is ours");
        let again = places_by(variable, &at).expect("they are there");
        let child = fs::read(again.python.join("child.py")).expect("it is there");
        assert_ne!(child, b"evil");
        fs::remove_dir_all(&at).expect("it goes");
    }

    #[test]
    fn what_others_may_write_to_is_not_trusted() {
        let at = scratch("open");
        fs::set_permissions(&at, Permissions::from_mode(0o755)).expect("it is ours");
        let run = run_by(&|_| Some(at.clone().into_os_string()), &at).expect("elsewhere");
        assert_eq!(run, at.join(format!("preheat-{}", user())));
        // A link is not followed, wherever it leads.
        fs::remove_dir_all(&run).expect("it goes");
        std::os::unix::fs::symlink("/tmp", &run).expect("a link");
        assert!(run_by(&|_| None, &at).is_err());
        fs::remove_dir_all(&at).expect("it goes");
    }
}
