//! The file of a process: creates it and extends it by chunks.
//!
//! No descriptor is kept, because programs close descriptors that they do not know. The
//! file is opened by its path for every chunk, which is rare. Its disk space is allocated
//! before it is written to: a full disk is an error here, and never a signal later.

use super::clock;
use super::process::{Process, is_confined};
use super::system::{File, process_number};
use preheat_wire::{FileHeader, HEADER_BYTES, MAGIC, MAJOR, MINOR, State};
use std::sync::atomic::{AtomicU64, Ordering};

/// A path as a C string.
pub(super) type Path = [u8; 4096];

/// The minimum size limit of a file.
pub(super) const MIN_LIMIT: u64 = 64 * 1024;

/// Creates the first free of `PID-0.process`, `PID-1.process`, … and writes its header.
pub(super) fn create(
    directory: &Path,
    path: &mut Path,
    limit: u64,
    began: u64,
    room: &mut Path,
) -> Result<*mut FileHeader, i32> {
    let pid = process_number();
    // One for each program that this process became by exec.
    for number in 0..10_000 {
        write_path(path, directory, pid, number);
        match File::open(path, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL) {
            Ok(file) => {
                // Whatever the program's umask is: only its user may read it.
                file.make_private();
                return begin(&file, pid, limit, began, started_ticks(room));
            }
            Err(libc::EEXIST) => {}
            Err(other) => return Err(other),
        }
    }
    Err(libc::EEXIST)
}

fn begin(
    file: &File,
    pid: u32,
    limit: u64,
    began: u64,
    started_ticks: u64,
) -> Result<*mut FileHeader, i32> {
    file.reserve(0, HEADER_BYTES)?;
    let header: *mut FileHeader = file.map(0, HEADER_BYTES)?.cast();
    let content = FileHeader {
        magic: [0; 8],
        major: MAJOR,
        minor: MINOR,
        header_bytes: HEADER_BYTES as u32,
        pid,
        // SAFETY: no memory is involved.
        parent: (unsafe { libc::getppid() }) as u32,
        began,
        started_ticks,
        boot_offset: clock::boot_offset(),
        // SAFETY: no memory is involved.
        ticks_per_second: (unsafe { libc::sysconf(libc::_SC_CLK_TCK) }) as u32,
        state: State::Recording as u32,
        limit,
        allocated: HEADER_BYTES as u64,
        dropped: 0,
        full_at: 0,
    };
    // SAFETY: the bytes of the header were just mapped, and nothing else uses them. The
    // magic comes last: a file that has it has a header.
    unsafe {
        header.write(content);
        std::sync::atomic::fence(Ordering::Release);
        (&raw mut (*header).magic).write_volatile(MAGIC);
    }
    Ok(header)
}

/// The reason that no chunk is available.
pub(super) enum NoChunk {
    /// The file has reached the bound.
    Full,
    /// Not now, but perhaps later.
    Later,
    /// The program has restricted its system calls.
    Confined,
    /// Never again.
    Never(State),
}

/// Allocates `bytes` (a multiple of 4096) of the file, if it then ends below `bound`.
pub(super) fn chunk(process: &Process, bytes: usize, bound: u64) -> Result<*mut u8, NoChunk> {
    let header = process.header();
    if header.is_null() {
        return Err(NoChunk::Never(State::Off));
    }
    if is_confined() {
        return Err(NoChunk::Confined);
    }
    // SAFETY: the header is never unmapped, and this field is only used atomically.
    let allocated = unsafe { AtomicU64::from_ptr(&raw mut (*header).allocated) };
    // Opened first: a lack of descriptors should not leave a hole in the file.
    let file = match File::open(process.path(), libc::O_RDWR) {
        Ok(file) => file,
        Err(libc::EMFILE | libc::ENFILE | libc::EINTR) => return Err(NoChunk::Later),
        Err(_) => return Err(NoChunk::Never(State::Off)),
    };
    let mut at = allocated.load(Ordering::Relaxed);
    loop {
        let end = at + bytes as u64;
        if end > bound {
            return Err(NoChunk::Full);
        }
        match allocated.compare_exchange_weak(at, end, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => break,
            Err(other) => at = other,
        }
    }
    let room = file.reserve(at, bytes).and_then(|()| file.map(at, bytes));
    room.map_err(|error| {
        // Undone if nothing was allocated after it, so that the file ends with its last
        // chunk.
        let end = at + bytes as u64;
        let _ = allocated.compare_exchange(end, at, Ordering::Relaxed, Ordering::Relaxed);
        match error {
            // The program closed it meanwhile.
            libc::EBADF => NoChunk::Later,
            libc::ENOSPC | libc::EDQUOT | libc::EFBIG => NoChunk::Never(State::NoSpace),
            _ => NoChunk::Never(State::Off),
        }
    })
}

fn write_path(path: &mut Path, directory: &Path, pid: u32, number: u32) {
    let mut writer = Writer { path, at: 0 };
    for &byte in directory.iter().take_while(|&&byte| byte != 0) {
        writer.put(byte);
    }
    writer.put(b'/');
    writer.number(pid);
    writer.put(b'-');
    writer.number(number);
    for &byte in b".process\0" {
        writer.put(byte);
    }
}

/// Writes text without allocating.
struct Writer<'a> {
    path: &'a mut Path,
    at: usize,
}

impl Writer<'_> {
    fn put(&mut self, byte: u8) {
        if let Some(place) = self.path.get_mut(self.at) {
            *place = byte;
            self.at += 1;
        }
    }

    fn number(&mut self, number: u32) {
        if number >= 10 {
            self.number(number / 10);
        }
        self.put(b'0' + (number % 10) as u8);
    }
}

/// Field 22 of `/proc/self/stat`: the creation time of this process.
fn started_ticks(text: &mut Path) -> u64 {
    let Ok(file) = File::open(b"/proc/self/stat\0", libc::O_RDONLY) else {
        return 0;
    };
    let length = file.read(text);
    ticks_in(text.get(..length).unwrap_or_default()).unwrap_or(0)
}

fn ticks_in(stat: &[u8]) -> Option<u64> {
    // The second field is a name in parentheses, which may contain spaces and parentheses.
    let after = stat.iter().rposition(|&byte| byte == b')')? + 2;
    let field = stat.get(after..)?.split(|&byte| byte == b' ').nth(19)?;
    std::str::from_utf8(field).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_creation_time_is_found_after_any_name() {
        let stat = b"12 (a) b ( c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 0 4242 99";
        assert_eq!(ticks_in(stat), Some(4242));
        assert_eq!(ticks_in(b"12 (a"), None);
        assert!(started_ticks(&mut [0; 4096]) > 0);
    }

    #[test]
    fn a_name_has_the_process_and_a_number() {
        let mut directory = [0; 4096];
        directory[..4].copy_from_slice(b"/tmp");
        let mut path = [1; 4096];
        write_path(&mut path, &directory, 1203, 0);
        assert!(path.starts_with(b"/tmp/1203-0.process\0"));
    }
}
