//! A terminal for tests: types like a user, and reads the output.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Milliseconds without output after which a test fails instead of hanging, even on a busy
/// machine.
const TOO_LONG: libc::c_int = 120_000;

/// A program in a separate terminal.
pub struct Terminal {
    ours: File,
    seen: String,
    pub child: Child,
}

impl Terminal {
    /// Starts a command as the leader of a session with a terminal.
    pub fn new(mut command: Command) -> Terminal {
        let (mut ours, mut theirs) = (-1, -1);
        let size = libc::winsize {
            ws_row: 33,
            ws_col: 77,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        // SAFETY: openpty writes two descriptors, which are owned below, and reads a
        // size. Between fork and exec only setsid and ioctl are called, which are
        // async-signal-safe.
        let (ours, theirs) = unsafe {
            let none = std::ptr::null_mut();
            let code = libc::openpty(&mut ours, &mut theirs, none, std::ptr::null(), &size);
            assert_eq!(code, 0, "a terminal");
            for fd in [ours, theirs] {
                libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
            }
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
            (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
        };
        let clone = || theirs.try_clone().expect("another descriptor");
        command.stdin(clone()).stdout(clone()).stderr(clone());
        let child = command.spawn().expect("it runs");
        Terminal {
            ours,
            seen: String::new(),
            child,
        }
    }

    /// Waits for this output, and discards everything before it.
    pub fn expect(&mut self, text: &str) {
        self.until(text);
    }

    /// Waits for this output, and returns everything before it.
    pub fn until(&mut self, text: &str) -> String {
        while !self.seen.contains(text) {
            assert!(self.read(), "{text:?} was not shown, but: {:?}", self.seen);
        }
        let begin = self.seen.find(text).unwrap_or_default();
        let before = self.seen.drain(..begin).collect();
        self.seen.drain(..text.len());
        before
    }

    fn read(&mut self) -> bool {
        let mut bytes = [0; 1024];
        let mut poll = libc::pollfd {
            fd: self.ours.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: poll reads and writes one struct.
        if unsafe { libc::poll(&mut poll, 1, TOO_LONG) } == 0 {
            return false;
        }
        match self.ours.read(&mut bytes) {
            Ok(length @ 1..) => {
                let text = String::from_utf8_lossy(&bytes[..length]);
                self.seen.push_str(&text);
                true
            }
            // The other end is closed.
            _ => false,
        }
    }

    pub fn type_in(&mut self, text: &str) {
        self.ours.write_all(text.as_bytes()).expect("it is typed");
    }

    pub fn resize(&mut self, rows: u16, columns: u16) {
        let size = libc::winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let fd = self.ours.as_raw_fd();
        // SAFETY: the ioctl reads one winsize.
        assert_eq!(unsafe { libc::ioctl(fd, libc::TIOCSWINSZ, &size) }, 0);
    }

    /// The remaining output, and the exit code.
    pub fn end(mut self) -> (String, Option<i32>) {
        while self.read() {}
        let status = self.child.wait().expect("an end");
        (self.seen, status.code())
    }
}
