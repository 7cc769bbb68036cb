//! Properties of each cache that matter for carrying it to another machine: which of its
//! files belong together, and what its entries depend on.
//!
//! - Triton writes the absolute paths of an entry's files into the entry. They are found by
//!   searching the files for the path of the cache directory.
//! - JAX (0.10) includes the path of its cache in the key of every entry, through the
//!   autotuning directory of XLA.
//! - Inductor compiles C++ with `-march=native`. Its keys include the vector width, but not
//!   the other instructions.
//! - The CUDA driver keeps an index next to its entries.
//! - PyTorch extensions are not kept. They are built by ninja, which relies on mtimes and
//!   could reuse objects that were built against headers of another version.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use preheat_launch::caches::{ALL, BYTECODE, CompileCache};

/// All caches that a cache directory can hold, including bytecode, which another remedy
/// keeps.
pub(super) fn carried() -> impl Iterator<Item = &'static CompileCache> {
    kept().chain([&BYTECODE])
}

/// The caches that are redirected to the cache directory by a variable.
pub(super) fn kept() -> impl Iterator<Item = &'static CompileCache> {
    ALL.iter()
        .filter(|cache| cache.variable != "TORCH_EXTENSIONS_DIR")
}

/// The cache whose directory has this name.
pub(super) fn by_directory(name: &str) -> Option<&'static CompileCache> {
    carried().find(|cache| cache.directory() == name)
}

/// Returns true for caches that can only be unpacked as a whole, into an empty directory.
/// The others are merged file by file, since their file names identify the contents.
pub(super) fn is_one(cache: &CompileCache) -> bool {
    cache.variable == "CUDA_CACHE_PATH"
}

/// Returns true for caches whose entries are found only under their original path.
pub(super) fn has_path_in_keys(cache: &CompileCache) -> bool {
    cache.variable == "JAX_COMPILATION_CACHE_DIR"
}

/// Returns true for machine code for the processor it was compiled on, if the key of the
/// entry does not include the processor.
pub(super) fn is_for_the_processor(cache: &CompileCache, file: &str) -> bool {
    cache.variable == "TORCHINDUCTOR_CACHE_DIR" && file.ends_with(".so")
}

/// Returns true for temporary files, which are useless or harmful on another machine.
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

// Searches for a path in a stream of bytes, chunk by chunk.

/// A search for a path.
pub(super) struct Mentions<'a> {
    path: &'a [u8],
    /// The end of the previous chunks, where the path may begin.
    end: Vec<u8>,
    pub found: bool,
}

impl<'a> Mentions<'a> {
    pub(super) fn of(path: &'a Path) -> Mentions<'a> {
        Mentions {
            path: path.as_os_str().as_bytes(),
            end: Vec::new(),
            found: false,
        }
    }

    pub(super) fn scan(&mut self, bytes: &[u8]) {
        if self.found || self.path.is_empty() {
            return;
        }
        let most = self.path.len() - 1;
        self.end.extend(&bytes[..bytes.len().min(most)]);
        self.found = has(&self.end, self.path) || has(bytes, self.path);
        if bytes.len() >= most {
            self.end.clear();
            self.end.extend(&bytes[bytes.len() - most..]);
        } else {
            self.end.drain(..self.end.len().saturating_sub(most));
        }
    }
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|&byte| byte == part[0]) {
        at += next;
        if bytes[at..].starts_with(part) {
            return true;
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_found_by_directory_name() {
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

    #[test]
    fn a_path_is_found_across_chunks() {
        let text = b"//kept/a \0 /kept/caches/x";
        for length in 1..text.len() {
            let mut mentions = Mentions::of(Path::new("/kept/caches"));
            text.chunks(length).for_each(|piece| mentions.scan(piece));
            assert!(mentions.found, "pieces of {length}");
            let mut mentions = Mentions::of(Path::new("/kept/cachet"));
            text.chunks(length).for_each(|piece| mentions.scan(piece));
            assert!(!mentions.found, "pieces of {length}");
        }
    }
}
