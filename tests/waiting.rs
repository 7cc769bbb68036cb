//! Waits for a state that other processes bring about, with a deadline. Tests of several crates
//! include this file by its path.

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// A test that waits longer has failed.
const DEADLINE: Duration = Duration::from_secs(180);
/// The time between two checks of a state that the kernel does not report, in milliseconds.
const UNREPORTED: libc::c_int = 20;

/// Waits until `holds` returns true: checks it whenever something in the `directories` changes,
/// and from time to time, because the state of a process is not a file.
pub fn until(what: &str, directories: &[&Path], mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    // SAFETY: inotify_init1 takes a number, and returns a new descriptor.
    let changes = unsafe {
        let fd = libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC);
        assert!(fd >= 0, "the kernel has inotify");
        OwnedFd::from_raw_fd(fd)
    };
    for directory in directories {
        let path = CString::new(directory.as_os_str().as_bytes()).expect("a path");
        let any = libc::IN_CREATE | libc::IN_MOVED_TO | libc::IN_DELETE | libc::IN_MODIFY;
        // SAFETY: it reads the path, which ends with NUL.
        unsafe { libc::inotify_add_watch(changes.as_raw_fd(), path.as_ptr(), any) };
    }
    while !holds() {
        assert!(began.elapsed() < DEADLINE, "never: {what}");
        let mut poll = libc::pollfd {
            fd: changes.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut bytes = [0u8; 4096];
        // SAFETY: poll gets one struct, and read a buffer with its length.
        unsafe {
            libc::poll(&mut poll, 1, UNREPORTED);
            libc::read(poll.fd, bytes.as_mut_ptr().cast(), bytes.len());
        }
    }
}
