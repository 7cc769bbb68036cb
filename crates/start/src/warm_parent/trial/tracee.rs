//! A traced process: its stops, its memory and its descriptors.
//!
//! rustix has neither `ptrace` nor `process_vm_readv`.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use libc::{c_int, pid_t};

/// Begins to trace a child of this process, with the processes and threads that it starts. They
/// are killed if the tracer exits.
pub(super) fn seize(process: pid_t) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_EXITKILL;
    // SAFETY: ptrace takes numbers here, and touches no memory of this process.
    unsafe {
        if libc::ptrace(libc::PTRACE_SEIZE, process, 0, options) != 0
            || libc::ptrace(libc::PTRACE_INTERRUPT, process, 0, 0) != 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Continues a stopped thread until its next system call, with this signal; 0 is none.
pub(super) fn resume(thread: pid_t, signal: c_int) {
    // SAFETY: ptrace takes numbers here; for a thread that has exited it only fails.
    unsafe { libc::ptrace(libc::PTRACE_SYSCALL, thread, 0, signal) };
}

/// Stops a running thread, and leaves it to run untraced.
pub(super) fn release_running(thread: pid_t) {
    // SAFETY: these take numbers, and waitpid writes one; for a thread that has exited they only
    // fail.
    unsafe {
        libc::ptrace(libc::PTRACE_INTERRUPT, thread, 0, 0);
        let mut status = 0;
        libc::waitpid(thread, &mut status, libc::__WALL);
    }
    release(thread);
}

/// Leaves a stopped thread to run untraced.
pub(super) fn release(thread: pid_t) {
    // SAFETY: ptrace takes numbers here; for a thread that has exited it only fails.
    unsafe { libc::ptrace(libc::PTRACE_DETACH, thread, 0, 0) };
}

/// The stop of a thread at a system call.
pub(super) enum CallStop {
    /// It begins: its number and arguments.
    Entry(libc::c_long, [u64; 6]),
    /// It has returned this result.
    Exit(i64),
}

/// The system call at which a thread has stopped, if that is the reason.
pub(super) fn call_stop(thread: pid_t) -> Option<CallStop> {
    let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    let size = size_of::<libc::ptrace_syscall_info>();
    // SAFETY: ptrace writes at most `size` bytes, and all-zero is a valid value. `op` selects
    // the part of the union that was written.
    unsafe {
        let got = libc::ptrace(
            libc::PTRACE_GET_SYSCALL_INFO,
            thread,
            size,
            info.as_mut_ptr(),
        );
        let info = info.assume_init();
        match info.op {
            _ if got <= 0 => None,
            libc::PTRACE_SYSCALL_INFO_ENTRY => Some(CallStop::Entry(
                info.u.entry.nr as libc::c_long,
                info.u.entry.args,
            )),
            libc::PTRACE_SYSCALL_INFO_EXIT => Some(CallStop::Exit(info.u.exit.sval)),
            _ => None,
        }
    }
}

/// The longest path, and the longest name of a variable.
const MAX_TEXT_BYTES: usize = 4096;

/// The page size. Strings are read page by page, since the next page may not be mapped.
const PAGE: usize = 4096;

/// Reads up to `length` bytes of a process.
pub(super) fn bytes(process: pid_t, at: u64, length: usize) -> Vec<u8> {
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
pub(super) fn text(process: pid_t, mut at: u64) -> Option<Vec<u8>> {
    let mut found = Vec::new();
    while at != 0 && found.len() < MAX_TEXT_BYTES {
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
pub(super) fn number(process: pid_t, at: u64) -> Option<u64> {
    let bytes = bytes(process, at, 8);
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

/// The path of an open descriptor; `AT_FDCWD` is the working directory.
pub(super) fn descriptor(process: pid_t, fd: c_int) -> Option<PathBuf> {
    let link = match fd {
        libc::AT_FDCWD => format!("/proc/{process}/cwd"),
        fd => format!("/proc/{process}/fd/{fd}"),
    };
    fs::read_link(link).ok()
}

/// Reads a path argument and makes it absolute; `None` if it is empty.
pub(super) fn path(process: pid_t, directory: c_int, at: u64) -> Option<PathBuf> {
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
pub(super) fn status(process: pid_t, name: &str) -> Option<pid_t> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':').trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_process_is_read_up_to_its_end() {
        let process = std::process::id() as pid_t;
        let name = c"/etc/passwd";
        let at = name.as_ptr() as u64;
        assert_eq!(text(process, at).as_deref(), Some(name.to_bytes()));
        let directory = libc::AT_FDCWD;
        assert_eq!(path(process, directory, at), Some("/etc/passwd".into()));
        let value = 7u64;
        let at = std::ptr::from_ref(&value) as u64;
        assert_eq!(number(process, at), Some(7));
        // Nothing is mapped there.
        assert_eq!((text(process, 8), number(process, 8)), (None, None));
    }
}
