//! Reads from a traced process: its memory, and the paths that its descriptors stand for.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The longest path, and the longest name of a variable.
const LONGEST: usize = 4096;

/// Strings are read up to the end of a page, behind which there may be nothing.
const PAGE: usize = 4096;

/// Bytes of a process, as many as can be read.
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
    // SAFETY: one buffer of ours, whose length is given; the other addresses are only
    // meaningful in the other process, and the kernel checks them.
    let read = unsafe { libc::process_vm_readv(process, &ours, 1, &theirs, 1, 0) };
    found.truncate(usize::try_from(read).unwrap_or(0));
    found
}

/// A string that ends with a NUL.
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

/// A number.
pub(super) fn number(process: libc::pid_t, at: u64) -> Option<u64> {
    let bytes = bytes(process, at, 8);
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

/// Where an open descriptor leads; `AT_FDCWD` is the current directory.
pub(super) fn descriptor(process: libc::pid_t, fd: libc::c_int) -> Option<PathBuf> {
    let link = match fd {
        libc::AT_FDCWD => format!("/proc/{process}/cwd"),
        fd => format!("/proc/{process}/fd/{fd}"),
    };
    fs::read_link(link).ok()
}

/// A path that is an argument, made absolute; `None` if it is empty.
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

/// A line of `/proc/PID/status` that has one number.
pub(super) fn status(process: libc::pid_t, name: &str) -> Option<libc::pid_t> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':').trim().parse().ok()
}
