//! Makes a start as cold as requested, without root privileges.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, IoSliceMut};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use preheat_model::run::Evicted;
use rustix::fs::{Advice, fadvise};
use rustix::io::{ReadWriteFlags, preadv2};

use crate::caches::CompileCache;
use crate::inject::Variables;

/// Evicts files from the page cache. Pages that another process has mapped, or that are not
/// written to disk yet, stay; nothing is ever written here.
pub(crate) fn evict(files: &BTreeSet<PathBuf>, but: &[&Path]) -> Evicted {
    let mut evicted = Evicted::default();
    for path in files {
        if but.iter().any(|ours| path.starts_with(ours)) {
            continue;
        }
        if let Some((before, after)) = evict_file(path) {
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

// The pages of one file in the page cache.

/// Evicts a file. Returns its bytes in the page cache before and after; `None` if it is not
/// a regular file or cannot be read.
fn evict_file(path: &Path) -> Option<(u64, u64)> {
    let (file, metadata) = open(path)?;
    let before = sum(&cached(&file, &metadata));
    // Drops only clean pages. If that fails, they stay, as the result shows.
    let _ = fadvise(&file, 0, None, Advice::DontNeed);
    Some((before, sum(&cached(&file, &metadata))))
}

/// The byte ranges of a file that are in the page cache, in order. `None` if it is not a
/// regular file or cannot be read.
pub fn cached_parts(path: &Path) -> Option<Vec<Range<u64>>> {
    let (file, metadata) = open(path)?;
    Some(cached(&file, &metadata))
}

fn open(path: &Path) -> Option<(File, Metadata)> {
    // Without O_NONBLOCK, opening a pipe would block; it has no effect on a regular file.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .ok()?;
    let metadata = file.metadata().ok()?;
    // The files of /proc have no size and no pages.
    (metadata.is_file() && metadata.len() > 0).then_some((file, metadata))
}

fn sum(parts: &[Range<u64>]) -> u64 {
    parts.iter().map(|part| part.end - part.start).sum()
}

/// Appends a part, merging it with the last if they touch.
fn add(parts: &mut Vec<Range<u64>>, part: Range<u64>) {
    match parts.last_mut() {
        Some(last) if last.end == part.start => last.end = part.end,
        _ => parts.push(part),
    }
}

fn cached(file: &File, metadata: &Metadata) -> Vec<Range<u64>> {
    let us = preheat_host::user();
    // For files of other users the kernel reports all pages as resident.
    let exact = if us == 0 || metadata.uid() == us {
        resident(file, metadata.len())
    } else {
        None
    };
    exact.unwrap_or_else(|| readable_at_once(file, metadata.len()))
}

/// Queries `mincore`, page by page. rustix does not have it.
fn resident(file: &File, length: u64) -> Option<Vec<Range<u64>>> {
    let bytes = usize::try_from(length).ok()?;
    let page = preheat_host::page_size();
    let mut pages = vec![0u8; bytes.div_ceil(page)];
    // SAFETY: a new mapping that nothing reads, so a file that is truncated meanwhile does
    // no harm. mincore writes one byte for each of its pages, and `pages` has as many. The
    // mapping is unmapped only here.
    let known = unsafe {
        let fd = file.as_raw_fd();
        let none = std::ptr::null_mut();
        let address = libc::mmap(none, bytes, libc::PROT_NONE, libc::MAP_SHARED, fd, 0);
        if address == libc::MAP_FAILED {
            return None;
        }
        let code = libc::mincore(address, bytes, pages.as_mut_ptr());
        libc::munmap(address, bytes);
        code == 0
    };
    let mut parts = Vec::new();
    for (index, _) in pages.iter().enumerate().filter(|(_, is)| *is & 1 != 0) {
        let begin = (index * page) as u64;
        add(&mut parts, begin..(begin + page as u64).min(length));
    }
    known.then_some(parts)
}

/// Reads single bytes without waiting for a disk: where that succeeds, the page is cached.
fn readable_at_once(file: &File, length: u64) -> Vec<Range<u64>> {
    const STEP: u64 = 64 << 10;
    let mut found = Vec::new();
    for at in (0..length).step_by(STEP as usize) {
        let mut byte = [0];
        let mut parts = [IoSliceMut::new(&mut byte)];
        if preadv2(file, &mut parts, at, ReadWriteFlags::NOWAIT) == Ok(1) {
            add(&mut found, at..(at + STEP).min(length));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use preheat_host::Scratch;

    use super::*;
    use crate::caches::{ALL, BYTECODE};

    #[test]
    fn bytecode_goes_to_another_directory() {
        let scratch = Scratch::new("pycache").expect("a directory for the test");
        let below = scratch.path();
        let which = std::slice::from_ref(&BYTECODE);
        let caches = Caches::new(below, "start-1", which).expect("no bytecode");
        let set = caches.variables(|_| None).expect("variables");
        assert_eq!(set.len(), 1);
        assert_eq!(set[0].0, "PYTHONPYCACHEPREFIX");
        drop(caches);
    }

    #[test]
    fn caches_are_empty_and_removed_afterwards() {
        let scratch = Scratch::new("caches").expect("a directory for the test");
        let below = scratch.path();
        let caches = Caches::new(below, "start-1", &ALL).expect("empty caches");
        let set = caches.variables(|_| None).expect("variables");
        assert_eq!(set.len(), ALL.len() - 1);
        for (_, directory) in &set {
            assert_eq!(fs::read_dir(directory).expect("it exists").count(), 0);
        }
        // Also beside one that still exists.
        let next = Caches::new(below, "start-2", &ALL).expect("others");
        drop((caches, next));
        let caches = Caches::new(below, "start-1", &ALL).expect("again");
        let set = caches.variables(|_| Some("/x".into())).expect("variables");
        assert!(
            set.iter()
                .any(|(name, _)| name == "JAX_COMPILATION_CACHE_DIR")
        );
        drop(caches);
        assert_eq!(fs::read_dir(below).expect("it exists").count(), 0);
    }

    #[test]
    fn files_are_evicted_except_our_own() {
        // Not in the temporary directory, which may be in memory.
        let below = std::env::current_exe().expect("a path");
        let below = below.parent().expect("a directory");
        let path = below.join(format!("preheat-evict-{}", std::process::id()));
        fs::write(&path, vec![1; 1 << 20]).expect("a file");
        // Pages that are not on disk yet cannot be evicted.
        let file = File::open(&path).expect("it opens");
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

    #[test]
    fn both_methods_are_within_the_file_size() {
        let path = std::env::current_exe().expect("a path");
        let file = File::open(&path).expect("it opens");
        let length = file.metadata().expect("it exists").len();
        // It is running, so parts of it are cached; its size is an upper bound.
        let by_page = sum(&resident(&file, length).expect("it is ours"));
        assert!(by_page > 0 && by_page <= length);
        assert!(sum(&readable_at_once(&file, length)) <= length);
    }

    #[test]
    fn parts_that_touch_are_one() {
        let mut parts = Vec::new();
        for part in [0..4, 4..8, 12..16] {
            add(&mut parts, part);
        }
        assert_eq!(parts, [0..8, 12..16]);
        assert_eq!(sum(&parts), 12);
    }

    #[test]
    fn special_files_are_ignored() {
        assert_eq!(evict_file(Path::new("/dev/null")), None);
        assert_eq!(evict_file(Path::new("/proc/self/stat")), None);
        assert_eq!(evict_file(Path::new("/")), None);
    }
}
