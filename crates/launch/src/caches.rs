//! Caches of compiled code: which there are, and the variables that lead to them.

use std::ffi::OsString;

/// A cache of compiled code: a directory that a variable names.
#[derive(Debug, PartialEq, Eq)]
pub struct CompileCache {
    /// The variable that leads to it.
    pub variable: &'static str,
    /// Who compiles, for people.
    pub title: &'static str,
    /// Whether nothing is cached where the variable is not set.
    pub only_if_set: bool,
}

/// All that are known.
pub const ALL: [CompileCache; 8] = [
    known("CUDA_CACHE_PATH", "CUDA's driver"),
    known("CUPY_CACHE_DIR", "CuPy"),
    CompileCache {
        only_if_set: true,
        ..known("JAX_COMPILATION_CACHE_DIR", "JAX")
    },
    known("NUMBA_CACHE_DIR", "Numba"),
    known("POCL_CACHE_DIR", "PoCL"),
    known("TORCHINDUCTOR_CACHE_DIR", "Inductor"),
    known("TORCH_EXTENSIONS_DIR", "PyTorch's extensions"),
    known("TRITON_CACHE_DIR", "Triton"),
];

/// Where Python keeps the bytecode of modules, in place of the directories beside them.
pub static BYTECODE: CompileCache = known("PYTHONPYCACHEPREFIX", "Python");

const fn known(variable: &'static str, title: &'static str) -> CompileCache {
    CompileCache {
        variable,
        title,
        only_if_set: false,
    }
}

impl CompileCache {
    /// The name of its directory, where caches are put beside each other. It is one that
    /// means nothing to anybody else.
    pub fn directory(&self) -> String {
        self.variable.to_ascii_lowercase()
    }

    /// Whether a program would use it; `user` tells what is set.
    pub(crate) fn is_used(&self, user: impl Fn(&str) -> Option<OsString>) -> bool {
        !self.only_if_set || user(self.variable).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_directory_of_its_own() {
        let names: std::collections::BTreeSet<_> =
            ALL.iter().map(CompileCache::directory).collect();
        assert_eq!(names.len(), ALL.len());
        assert!(names.contains("triton_cache_dir"), "{names:?}");
    }

    #[test]
    fn jax_caches_nothing_unless_it_is_told_to() {
        let jax = |user: Option<&str>| {
            let used = |cache: &&CompileCache| cache.is_used(|_| user.map(OsString::from));
            ALL.iter().filter(used).any(|cache| cache.title == "JAX")
        };
        assert!(jax(Some("/x")) && !jax(None));
    }
}
