//! The pages of one file in the page cache.

use std::fs::{File, Metadata, OpenOptions};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Evicts a file. Returns its bytes in the page cache before and after; `None` if it is not
/// a regular file or cannot be read.
pub(super) fn evict(path: &Path) -> Option<(u64, u64)> {
    let (file, is) = open(path)?;
    let before = sum(&cached(&file, &is));
    // SAFETY: the descriptor is open; posix_fadvise gets no pointers and drops only clean
    // pages.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    Some((before, sum(&cached(&file, &is))))
}

/// The byte ranges of a file that are in the page cache, in order. `None` if it is not a
/// regular file or cannot be read.
pub fn cached_parts(path: &Path) -> Option<Vec<Range<u64>>> {
    let (file, is) = open(path)?;
    Some(cached(&file, &is))
}

fn open(path: &Path) -> Option<(File, Metadata)> {
    // Without O_NONBLOCK, opening a pipe would block; it has no effect on a regular file.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .ok()?;
    let is = file.metadata().ok()?;
    // The files of /proc have no size and no pages.
    (is.is_file() && is.len() > 0).then_some((file, is))
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

fn cached(file: &File, is: &Metadata) -> Vec<Range<u64>> {
    let us = preheat_host::user();
    // For files of other users the kernel reports all pages as resident.
    let exact = if us == 0 || is.uid() == us {
        resident(file, is.len())
    } else {
        None
    };
    exact.unwrap_or_else(|| readable_at_once(file, is.len()))
}

/// Queries `mincore`, page by page.
fn resident(file: &File, length: u64) -> Option<Vec<Range<u64>>> {
    let bytes = usize::try_from(length).ok()?;
    let page = preheat_host::memory::page_size();
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
        let mut byte = 0u8;
        let part = libc::iovec {
            iov_base: (&raw mut byte).cast(),
            iov_len: 1,
        };
        let offset = at as libc::off_t;
        // SAFETY: one iovec with space for one byte, which outlives the call.
        let read = unsafe { libc::preadv2(file.as_raw_fd(), &part, 1, offset, libc::RWF_NOWAIT) };
        if read == 1 {
            add(&mut found, at..(at + STEP).min(length));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(evict(Path::new("/dev/null")), None);
        assert_eq!(evict(Path::new("/proc/self/stat")), None);
        assert_eq!(evict(Path::new("/")), None);
    }
}
