//! Reads files into the page cache, in order, with a few threads. Files are read in blocks,
//! so that several threads share a large file and the program's reads are not delayed.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Advice, fadvise, sendfile};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use rustix::process::{Pid, test_kill_process};

use super::MAX_UNKNOWN_RANGE;
use crate::observations::Observations;

const THREADS: usize = 8;

/// The number of bytes that a thread reads at a time.
const BLOCK: u64 = 1 << 20;

/// The largest number of bytes that the kernel reads ahead per request.
const REQUEST: u64 = 128 << 10;

/// A range of a file to read; `None` for a file whose ranges are unknown.
struct Work<'a> {
    path: &'a Path,
    part: Option<Range<u64>>,
}

/// Reads the observed files: at most `budget` bytes, and only while the process `program`
/// runs.
pub(super) fn all(observed: &Observations, budget: u64, program: u32) {
    let Ok(nowhere) = OpenOptions::new().write(true).open("/dev/null") else {
        return;
    };
    let mut queue = VecDeque::new();
    for path in &observed.files {
        match observed.ranges.get(path) {
            Some(parts) => parts.iter().for_each(|part| {
                let blocks = blocks(part.clone());
                queue.extend(blocks.map(|part| Work {
                    path,
                    part: Some(part),
                }));
            }),
            None => queue.push_back(Work { path, part: None }),
        }
    }
    let (queue, left) = (Mutex::new(queue), AtomicU64::new(budget));
    let next = || queue.lock().ok()?.pop_front();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let read_some = || {
                while let Some(work) = next() {
                    if !runs(program) || !one(work, &queue, &left, &nowhere) {
                        return;
                    }
                }
            };
            // If a thread cannot be started, the others read everything.
            let _ = std::thread::Builder::new().spawn_scoped(scope, read_some);
        }
    });
}

fn blocks(part: Range<u64>) -> impl DoubleEndedIterator<Item = Range<u64>> {
    let count = (part.end.saturating_sub(part.start)).div_ceil(BLOCK);
    (0..count).map(move |number| {
        let begin = part.start + number * BLOCK;
        begin..(begin + BLOCK).min(part.end)
    })
}

/// Reads one block if it is not cached; returns false once the budget is spent.
fn one<'a>(
    work: Work<'a>,
    queue: &Mutex<VecDeque<Work<'a>>>,
    left: &AtomicU64,
    nowhere: &File,
) -> bool {
    let Some(file) = open(work.path) else {
        return true;
    };
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let part = match work.part {
        Some(part) => part.start.min(length)..part.end.min(length),
        None => {
            // Queue the rest of the file for any thread.
            let mut rest = blocks(0..length.min(MAX_UNKNOWN_RANGE));
            let first = rest.next().unwrap_or(0..0);
            if let Ok(mut queue) = queue.lock() {
                for part in rest.rev() {
                    let (path, part) = (work.path, Some(part));
                    queue.push_front(Work { path, part });
                }
            }
            first
        }
    };
    if part.is_empty() || is_part_there(&file, &part) {
        return true;
    }
    let bytes = part.end - part.start;
    let spent = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
        left.checked_sub(bytes)
    });
    if spent.is_err() {
        return false;
    }
    ask_for(&file, &part);
    wait_for(&file, &part, nowhere);
    true
}

/// Opens a regular file to read ahead, without updating its access time if possible.
pub(super) fn open(path: &Path) -> Option<File> {
    let open = |flags| {
        let flags = flags | libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
        file.ok()
    };
    let file = open(libc::O_NOATIME).or_else(|| open(0))?;
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    is_file.then_some(file)
}

/// Makes the kernel read the range, without waiting.
fn ask_for(file: &File, part: &Range<u64>) {
    for begin in (part.start..part.end).step_by(REQUEST as usize) {
        let bytes = NonZeroU64::new(REQUEST.min(part.end - begin));
        // Without it, the next step reads them.
        let _ = fadvise(file, begin, bytes, Advice::WillNeed);
    }
}

/// Waits until the range is cached, by sending it to /dev/null, which copies nothing.
fn wait_for(file: &File, part: &Range<u64>, nowhere: &File) {
    let mut at = part.start;
    while at < part.end {
        // The kernel advances the offset.
        let bytes = (part.end - at) as usize;
        if !matches!(sendfile(nowhere, file, Some(&mut at), bytes), Ok(1..)) {
            return;
        }
    }
}

/// Returns true while the process exists.
fn runs(program: u32) -> bool {
    let program = Pid::from_raw(program as libc::pid_t);
    program.is_none_or(|program| test_kill_process(program) != Err(Errno::SRCH))
}

/// Returns true if a byte can be read without waiting for a disk.
pub(super) fn is_byte_there(file: &File, at: u64) -> bool {
    let mut byte = [0];
    let mut parts = [IoSliceMut::new(&mut byte)];
    preadv2(file, &mut parts, at, ReadWriteFlags::NOWAIT).is_ok()
}

/// Returns true if a range is in the page cache, as far as the kernel reports it.
fn is_part_there(file: &File, part: &Range<u64>) -> bool {
    // The same number on every architecture, since Linux 6.5.
    const CACHESTAT: libc::c_long = 451;
    let (range, mut found) = (
        [part.start, part.end - part.start],
        MaybeUninit::<[u64; 5]>::uninit(),
    );
    // rustix does not have this call.
    // SAFETY: the kernel reads two numbers and, if it returns 0, writes five, the first of
    // which is the number of cached pages.
    let pages = unsafe {
        let fd = libc::c_long::from(file.as_raw_fd());
        let failed = libc::syscall(CACHESTAT, fd, range.as_ptr(), found.as_mut_ptr(), 0u32);
        (failed == 0).then(|| found.assume_init()[0])
    };
    let page = preheat_host::page_size() as u64;
    let whole = part.end.div_ceil(page) - part.start / page;
    match pages {
        Some(pages) => pages >= whole,
        // An older kernel, or a file of another user: check three bytes.
        None => [part.start, part.start.midpoint(part.end), part.end - 1]
            .into_iter()
            .all(|at| is_byte_there(file, at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_split_into_blocks() {
        let all: Vec<_> = blocks(5..2 * BLOCK + 7).collect();
        assert_eq!(
            all,
            [
                5..BLOCK + 5,
                BLOCK + 5..2 * BLOCK + 5,
                2 * BLOCK + 5..2 * BLOCK + 7
            ]
        );
        assert_eq!(blocks(3..3).count(), 0);
    }

    #[test]
    fn only_regular_files_are_opened() {
        assert!(open(Path::new("/dev/null")).is_none());
        assert!(open(Path::new("/")).is_none());
        assert!(open(Path::new("/nowhere")).is_none());
        assert!(open(&std::env::current_exe().expect("a path")).is_some());
    }
}
