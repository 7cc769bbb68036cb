//! The environment that `uvx` makes to run preheat in.
//!
//! `uvx preheat run -- python train.py` puts the directory of preheat first in PATH, and with it a
//! Python that has no packages. The command means the user's own Python, which comes later in PATH.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;

/// Looks for commands in the directory of this program last, if it belongs to an environment
/// that was made for preheat alone. This applies to this process and its children.
pub fn search_last() {
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    let (path, active) = (std::env::var_os("PATH"), std::env::var_os("VIRTUAL_ENV"));
    if let Some(path) = path.and_then(|path| reordered(&path, &program, active.as_deref())) {
        // SAFETY: `main` calls this first, so there is no other thread.
        unsafe { std::env::set_var("PATH", path) };
    }
}

/// PATH with its first directory at the end, if that is the one of `program` and holds an
/// environment for preheat alone that is not `active`.
fn reordered(path: &OsStr, program: &Path, active: Option<&OsStr>) -> Option<OsString> {
    let directory = program.parent()?;
    let environment = directory.parent()?;
    let mut all = std::env::split_paths(path);
    let first = all.next().filter(|first| first == directory)?;
    let is_active = active.is_some_and(|active| Path::new(active) == environment);
    if is_active || !holds_only_preheat(environment) {
        return None;
    }
    std::env::join_paths(all.chain([first])).ok()
}

/// Returns true for a virtual environment with no other package, not even pip.
fn holds_only_preheat(environment: &Path) -> bool {
    let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let libraries = entries(&environment.join("lib"));
    let mut packages = libraries
        .flat_map(|library| entries(&library.path().join("site-packages")).collect::<Vec<_>>())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(".dist-info"))
        .peekable();
    environment.join("pyvenv.cfg").exists()
        && packages.peek().is_some()
        && packages.all(|name| name.starts_with("preheat-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(paths: &[&Path]) -> OsString {
        std::env::join_paths(paths).expect("no colons")
    }

    #[test]
    fn an_environment_for_preheat_alone_is_searched_last() {
        let directory = tempfile::tempdir().expect("a directory");
        let environment = directory.path();
        let packages = environment.join("lib/python3.12/site-packages");
        fs::create_dir_all(packages.join("preheat-0.1.0.dist-info")).expect("created");
        let (bin, other) = (environment.join("bin"), Path::new("/usr/bin"));
        let program = bin.join("preheat");
        let path = join(&[&bin, other]);
        // It is not an environment.
        assert_eq!(reordered(&path, &program, None), None);
        fs::write(environment.join("pyvenv.cfg"), "").expect("written");
        let last = Some(join(&[other, &bin]));
        assert_eq!(reordered(&path, &program, None), last);
        assert_eq!(reordered(&path, &program, Some(OsStr::new("/venv"))), last);
        // The user has activated it, or called preheat by its path.
        let active = Some(environment.as_os_str());
        assert_eq!(reordered(&path, &program, active), None);
        assert_eq!(reordered(&join(&[other, &bin]), &program, None), None);
        // `uvx --with numpy` asks for more.
        fs::create_dir_all(packages.join("numpy-2.4.6.dist-info")).expect("created");
        assert_eq!(reordered(&path, &program, None), None);
    }
}
