//! What must be known of each cache to carry it: what belongs together in it, and what
//! its entries are tied to.
//!
//! - Triton writes the absolute paths of an entry's files into the entry. They are found
//!   by looking for the path of the place in what is carried.
//! - JAX (0.10) has the path of its cache in the key of every entry, by way of
//!   XLA's directory for autotuning.
//! - Inductor compiles C++ with `-march=native` and has the width of vectors in its keys,
//!   but not the other instructions.
//! - CUDA's driver keeps an index beside its entries.
//! - Extensions of PyTorch are not kept. They are built by ninja, which goes by times: beside
//!   headers of another version with older times it would take what was built for these.

use std::path::Path;

use preheat_launch::caches::{ALL, BYTECODE, CompileCache};

/// All that a place can hold. Bytecode is kept by another remedy, and not by a variable.
pub(super) fn carried() -> impl Iterator<Item = &'static CompileCache> {
    kept().chain([&BYTECODE])
}

/// The caches that variables lead to the place.
pub(super) fn kept() -> impl Iterator<Item = &'static CompileCache> {
    ALL.iter()
        .filter(|cache| cache.variable != "TORCH_EXTENSIONS_DIR")
}

/// The cache whose directory has this name.
pub(super) fn by_directory(name: &str) -> Option<&'static CompileCache> {
    carried().find(|cache| cache.directory() == name)
}

/// Whether it is taken or left as a whole, where something is there already; else file by
/// file, for names say what is in them.
pub(super) fn is_one(cache: &CompileCache) -> bool {
    cache.variable == "CUDA_CACHE_PATH"
}

/// Whether entries are only found where they were made, whatever is in them.
pub(super) fn has_path_in_keys(cache: &CompileCache) -> bool {
    cache.variable == "JAX_COMPILATION_CACHE_DIR"
}

/// Whether a file is machine code for the very processor that it was made on, and its key
/// does not say so.
pub(super) fn is_for_the_processor(cache: &CompileCache, file: &str) -> bool {
    cache.variable == "TORCHINDUCTOR_CACHE_DIR" && file.ends_with(".so")
}

/// Whether it is not worth anything, or harmful, on another machine.
pub(super) fn is_passing(cache: &CompileCache, path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    match cache.variable {
        "TORCHINDUCTOR_CACHE_DIR" => name.is_some_and(|name| name.ends_with(".lock")),
        "POCL_CACHE_DIR" => name.is_some_and(|name| name.starts_with("tempfile_")),
        "PYTHONPYCACHEPREFIX" => name.is_some_and(|name| name.ends_with(".new")),
        "TRITON_CACHE_DIR" => name.is_some_and(|name| name.starts_with("tmp.pid_")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_known_by_their_directories() {
        let triton = by_directory("triton_cache_dir").expect("it is known");
        assert!(!is_one(triton));
        assert!(is_passing(triton, Path::new("/a/tmp.pid_3_x")));
        assert_eq!(by_directory("triton"), None);
        assert_eq!(by_directory("torch_extensions_dir"), None);
        let bytecode = by_directory("pythonpycacheprefix").expect("it is known");
        assert!(is_passing(
            bytecode,
            Path::new("/a/x.cpython-311.pyc.7.9.new")
        ));
        assert!(kept().all(|cache| cache != bytecode));
        assert_eq!(kept().filter(|cache| is_one(cache)).count(), 1);
        assert_eq!(kept().filter(|cache| has_path_in_keys(cache)).count(), 1);
    }
}
