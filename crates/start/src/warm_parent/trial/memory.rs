//! Reads the memory of a traced process, and the paths of its descriptors.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The longest path, and the longest name of a variable.
const LONGEST: usize = 4096;

/// The page size. Strings are read page by page, since the next page may not be mapped.
const PAGE: usize = 4096;

/// Reads up to `length` bytes of a process.
pub(super) fn bytes(process: libc::pid_t, at: u64, length: usize) -> Vec<u8> {
    let mut found = vec![0u8; length];
    let ours = libc::iovec {
        iov_base: found.as_mut_ptr().cast(),
        iov_len: length,
    };
    let theirs = libc::iovec {
        iov_base: at as *mut libc::c_void,
        iov_len: length,
    };
    // SAFETY: the kernel writes at most `length` bytes to our buffer; the remote address is
    // checked by the kernel.
    let read = unsafe { libc::process_vm_readv(process, &ours, 1, &theirs, 1, 0) };
    found.truncate(usize::try_from(read).unwrap_or(0));
    found
}

/// Reads a NUL-terminated string.
pub(super) fn text(process: libc::pid_t, mut at: u64) -> Option<Vec<u8>> {
    let mut found = Vec::new();
    while at != 0 && found.len() < LONGEST {
        let chunk = bytes(process, at, PAGE - at as usize % PAGE);
        if chunk.is_empty() {
            return None;
        }
        if let Some(end) = chunk.iter().position(|&byte| byte == 0) {
            found.extend_from_slice(&chunk[..end]);
            return Some(found);
        }
        at += chunk.len() as u64;
        found.extend_from_slice(&chunk);
    }
    None
}

/// Reads a 64-bit number.
pub(super) fn number(process: libc::pid_t, at: u64) -> Option<u64> {
    let bytes = bytes(process, at, 8);
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

/// The path of an open descriptor; `AT_FDCWD` is the working directory.
pub(super) fn descriptor(process: libc::pid_t, fd: libc::c_int) -> Option<PathBuf> {
    let link = match fd {
        libc::AT_FDCWD => format!("/proc/{process}/cwd"),
        fd => format!("/proc/{process}/fd/{fd}"),
    };
    fs::read_link(link).ok()
}

/// Reads a path argument and makes it absolute; `None` if it is empty.
pub(super) fn path(process: libc::pid_t, directory: libc::c_int, at: u64) -> Option<PathBuf> {
    let text = text(process, at)?;
    if text.is_empty() {
        return None;
    }
    let path = Path::new(OsStr::from_bytes(&text));
    if path.is_absolute() {
        return Some(path.to_owned());
    }
    Some(descriptor(process, directory)?.join(path))
}

/// The value of a numeric line of `/proc/PID/status`.
pub(super) fn status(process: libc::pid_t, name: &str) -> Option<libc::pid_t> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':').trim().parse().ok()
}
