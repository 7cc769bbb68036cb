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
//! - An extension of PyTorch is built by ninja, which goes by times, in a directory of its
//!   own; a file `lock` there makes others wait for as long as it is there.

use std::path::Path;

use preheat_launch::caches::{ALL, CompileCache};

/// What is taken or left together, where something is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Each file: its name says what is in it.
    File,
    /// Each directory at the top.
    Directory,
    /// All of it.
    Whole,
}

/// The cache whose directory has this name.
pub(super) fn by_directory(name: &str) -> Option<&'static CompileCache> {
    ALL.iter().find(|cache| cache.directory() == name)
}

pub(super) fn unit(cache: &CompileCache) -> Unit {
    match cache.variable {
        "CUDA_CACHE_PATH" => Unit::Whole,
        "TORCH_EXTENSIONS_DIR" => Unit::Directory,
        _ => Unit::File,
    }
}

/// Whether entries are only found where they were made, whatever is in them.
pub(super) fn has_path_in_keys(cache: &CompileCache) -> bool {
    cache.variable == "JAX_COMPILATION_CACHE_DIR"
}

/// Whether a file is machine code for the very processor that it was made on, and its key
/// does not say so.
pub(super) fn is_for_the_processor(cache: &CompileCache, file: &str) -> bool {
    let compiled = ["TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR"];
    compiled.contains(&cache.variable) && file.ends_with(".so")
}

/// Whether it is not worth anything, or harmful, on another machine.
pub(super) fn is_passing(cache: &CompileCache, path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    match cache.variable {
        "TORCH_EXTENSIONS_DIR" => name == Some("lock"),
        "TORCHINDUCTOR_CACHE_DIR" => name.is_some_and(|name| name.ends_with(".lock")),
        "POCL_CACHE_DIR" => name.is_some_and(|name| name.starts_with("tempfile_")),
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
        assert_eq!(unit(triton), Unit::File);
        assert!(is_passing(triton, Path::new("/a/tmp.pid_3_x")));
        assert_eq!(by_directory("triton"), None);
        for name in ["CUDA_CACHE_PATH", "TORCH_EXTENSIONS_DIR"] {
            let cache = by_directory(&name.to_ascii_lowercase()).expect("it is known");
            assert_ne!(unit(cache), Unit::File);
        }
        assert!(ALL.iter().any(has_path_in_keys));
    }
}
