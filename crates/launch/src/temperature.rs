//! Makes a start as cold as requested, without root privileges.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use preheat_model::run::Evicted;

use crate::caches::CompileCache;
use crate::inject::Variables;

mod cached;

pub use cached::cached_parts;

/// Evicts files from the page cache. Pages that another process has mapped, or that are not
/// written to disk yet, stay; nothing is ever written here.
pub(crate) fn evict(files: &BTreeSet<PathBuf>, but: &[&Path]) -> Evicted {
    let mut evicted = Evicted::default();
    for path in files {
        if but.iter().any(|ours| path.starts_with(ours)) {
            continue;
        }
        if let Some((before, after)) = cached::evict(path) {
            evicted.files += 1;
            evicted.cached += before;
            evicted.left += after;
        }
    }
    evicted
}

/// Empty caches for one start, removed after it.
pub(crate) struct Caches {
    directory: PathBuf,
    which: &'static [CompileCache],
}

impl Caches {
    /// Creates an empty directory inside the recording, named after the start, so that the
    /// remains of an earlier start do not interfere.
    pub(crate) fn new(
        recording: &Path,
        start: &str,
        which: &'static [CompileCache],
    ) -> io::Result<Caches> {
        let directory = recording.join(format!("{start}-caches"));
        fs::create_dir(&directory)?;
        Ok(Caches { directory, which })
    }

    /// The variables that set their directories; `user` returns the user's values.
    pub(crate) fn variables(
        &self,
        user: impl Fn(&str) -> Option<OsString>,
    ) -> io::Result<Variables> {
        let mut variables = Variables::new();
        for cache in self.which.iter().filter(|cache| cache.is_used(&user)) {
            let directory = self.directory.join(cache.directory());
            fs::create_dir(&directory)?;
            variables.push((cache.variable.into(), directory.into()));
        }
        Ok(variables)
    }
}

impl Drop for Caches {
    fn drop(&mut self) {
        // Anything that cannot be removed only clutters the recording.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::{ALL, BYTECODE};

    #[test]
    fn bytecode_goes_to_another_directory() {
        let below = std::env::temp_dir().join(format!("preheat-pycache-{}", std::process::id()));
        fs::create_dir(&below).expect("a directory");
        let which = std::slice::from_ref(&BYTECODE);
        let caches = Caches::new(&below, "start-1", which).expect("no bytecode");
        let set = caches.variables(|_| None).expect("variables");
        assert_eq!(set.len(), 1);
        assert_eq!(set[0].0, "PYTHONPYCACHEPREFIX");
        drop(caches);
        fs::remove_dir(below).expect("it can be removed");
    }

    #[test]
    fn caches_are_empty_and_removed_afterwards() {
        let below = std::env::temp_dir().join(format!("preheat-caches-{}", std::process::id()));
        fs::create_dir(&below).expect("a directory");
        let caches = Caches::new(&below, "start-1", &ALL).expect("empty caches");
        let set = caches.variables(|_| None).expect("variables");
        assert_eq!(set.len(), ALL.len() - 1);
        for (_, directory) in &set {
            assert_eq!(fs::read_dir(directory).expect("it exists").count(), 0);
        }
        // Also beside one that still exists.
        let next = Caches::new(&below, "start-2", &ALL).expect("others");
        drop((caches, next));
        let caches = Caches::new(&below, "start-1", &ALL).expect("again");
        let set = caches.variables(|_| Some("/x".into())).expect("variables");
        assert!(
            set.iter()
                .any(|(name, _)| name == "JAX_COMPILATION_CACHE_DIR")
        );
        drop(caches);
        assert_eq!(fs::read_dir(&below).expect("it exists").count(), 0);
        fs::remove_dir(below).expect("it can be removed");
    }

    #[test]
    fn files_are_evicted_except_our_own() {
        // Not in the temporary directory, which may be in memory.
        let below = std::env::current_exe().expect("a path");
        let below = below.parent().expect("a directory");
        let path = below.join(format!("preheat-evict-{}", std::process::id()));
        fs::write(&path, vec![1; 1 << 20]).expect("a file");
        // Pages that are not on disk yet cannot be evicted.
        let file = fs::File::open(&path).expect("it opens");
        file.sync_all().expect("it is on disk");
        drop(file);
        let files = BTreeSet::from([path.clone(), "/no/such/file".into(), "/proc/stat".into()]);
        let kept = evict(&files, &[below]);
        let evicted = evict(&files, &[]);
        let again = evict(&files, &[]);
        fs::remove_file(path).expect("it can be removed");
        assert_eq!(kept, Evicted::default());
        assert_eq!(evicted.files, 1, "{evicted:?}");
        assert_eq!(evicted.cached, 1 << 20, "{evicted:?}");
        assert!(evicted.left < evicted.cached, "{evicted:?}");
        assert_eq!(again.cached, evicted.left, "{again:?}");
    }
}
