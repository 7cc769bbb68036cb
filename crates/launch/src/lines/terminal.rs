//! A pseudo-terminal of the same size as the real one, which changes no bytes.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Our end and the command's end of a new terminal like `real`; `None` if that is not a
/// terminal, or none is available.
pub(super) fn like(real: RawFd) -> Option<(OwnedFd, OwnedFd)> {
    // SAFETY: zeroed termios and winsize are valid values; tcgetattr, ioctl, cfmakeraw and
    // openpty read and write one each. The descriptors from openpty are new and are owned
    // only here.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(real, &mut settings) != 0 {
            return None;
        }
        // The real terminal processes the bytes.
        libc::cfmakeraw(&mut settings);
        let mut size: libc::winsize = std::mem::zeroed();
        let sized = libc::ioctl(real, libc::TIOCGWINSZ, &mut size) == 0;
        let size = if sized { &size } else { std::ptr::null() };
        let (mut ours, mut theirs) = (-1, -1);
        let none = std::ptr::null_mut();
        if libc::openpty(&mut ours, &mut theirs, none, &settings, size) != 0 {
            return None;
        }
        for fd in [ours, theirs] {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        Some((OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)))
    }
}
