//! The known compile caches, and the environment variables that set their directories.

use std::ffi::OsString;

/// A cache of compiled code: a directory that an environment variable sets.
#[derive(Debug, PartialEq, Eq)]
pub struct CompileCache {
    /// The variable with its path.
    pub variable: &'static str,
    /// The compiler, for display.
    pub title: &'static str,
    /// True if nothing is cached unless the variable is set.
    pub only_if_set: bool,
}

/// All known caches.
pub const ALL: [CompileCache; 8] = [
    known("CUDA_CACHE_PATH", "CUDA driver"),
    known("CUPY_CACHE_DIR", "CuPy"),
    CompileCache {
        only_if_set: true,
        ..known("JAX_COMPILATION_CACHE_DIR", "JAX")
    },
    known("NUMBA_CACHE_DIR", "Numba"),
    known("POCL_CACHE_DIR", "PoCL"),
    known("TORCHINDUCTOR_CACHE_DIR", "Inductor"),
    known("TORCH_EXTENSIONS_DIR", "PyTorch extensions"),
    known("TRITON_CACHE_DIR", "Triton"),
];

/// The directory for the bytecode of Python modules, instead of the ones beside the
/// sources.
pub static BYTECODE: CompileCache = known("PYTHONPYCACHEPREFIX", "Python");

const fn known(variable: &'static str, title: &'static str) -> CompileCache {
    CompileCache {
        variable,
        title,
        only_if_set: false,
    }
}

impl CompileCache {
    /// The name of its directory below a common one. Nothing else interprets this name.
    pub fn directory(&self) -> String {
        self.variable.to_ascii_lowercase()
    }

    /// Returns whether a program would use it; `user` returns the user's value of a
    /// variable.
    pub(crate) fn is_used(&self, user: impl Fn(&str) -> Option<OsString>) -> bool {
        !self.only_if_set || user(self.variable).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_distinct() {
        let names: std::collections::BTreeSet<_> =
            ALL.iter().map(CompileCache::directory).collect();
        assert_eq!(names.len(), ALL.len());
        assert!(names.contains("triton_cache_dir"), "{names:?}");
    }

    #[test]
    fn jax_caches_only_if_configured() {
        let jax = |user: Option<&str>| {
            let used = |cache: &&CompileCache| cache.is_used(|_| user.map(OsString::from));
            ALL.iter().filter(used).any(|cache| cache.title == "JAX")
        };
        assert!(jax(Some("/x")) && !jax(None));
    }
}
