//! Iterations by lines of output: the command's standard output goes through preheat.
//!
//! A terminal stays a terminal to the command and a pipe a pipe. Bytes are passed on as
//! they come, unchanged; each line is matched, and when a matching one came is written
//! down. When nobody reads preheat's own output any more, the command finds that out as
//! it would have without preheat.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::process::Stdio;
use std::thread::JoinHandle;

use regex_lite::Regex;

use crate::samples::Samples;
use crate::{clock, signals};

mod matcher;
mod terminal;

use matcher::Matcher;

/// The command's standard output on its way through preheat, before the command runs.
pub(crate) struct Through {
    /// What the command writes to; its own once it runs.
    theirs: OwnedFd,
    ours: File,
    terminal: bool,
}

/// Its bytes are passed on until it is told that the command has ended.
pub(crate) struct Relay {
    thread: JoinHandle<()>,
    ended: PipeWriter,
    terminal: Option<RawFd>,
}

impl Through {
    /// A terminal where preheat's own output is one; else a pipe.
    pub(crate) fn new() -> io::Result<Through> {
        if let Some((ours, theirs)) = terminal::like(libc::STDOUT_FILENO) {
            return Ok(Through {
                theirs,
                ours: ours.into(),
                terminal: true,
            });
        }
        let (ours, theirs) = io::pipe()?;
        Ok(Through {
            theirs: theirs.into(),
            ours: OwnedFd::from(ours).into(),
            terminal: false,
        })
    }

    /// Whether the command sees a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// What the command is given.
    pub(crate) fn stdout(&self) -> io::Result<Stdio> {
        self.theirs.try_clone().map(Stdio::from)
    }

    /// Begin to pass on, or only to match where `quiet`.
    pub(crate) fn begin(
        self,
        pattern: Regex,
        quiet: bool,
        samples: Option<Samples>,
    ) -> io::Result<Relay> {
        let (wait, ended) = io::pipe()?;
        let ours = self.ours;
        let terminal = self.terminal.then(|| ours.as_raw_fd());
        let thread = std::thread::Builder::new()
            .name("lines".into())
            .spawn(move || relay(ours, &wait, pattern, quiet, samples.as_ref()))?;
        // `theirs` is closed here: the end comes when the command has closed its own.
        Ok(Relay {
            thread,
            ended,
            terminal,
        })
    }
}

impl Relay {
    /// Our side of the terminal, for its size.
    pub(crate) fn terminal(&self) -> Option<RawFd> {
        self.terminal
    }

    /// The command has ended: pass on what it has written, and end. What it left running
    /// is not waited for.
    pub(crate) fn end(self) {
        drop(self.ended);
        // It does not panic; if it did, there would be nothing more to pass on.
        let _ = self.thread.join();
    }
}

/// What a pipe can hold at most: more than that after the command's end comes from what
/// it left running.
const MOST_AFTER_END: usize = 1 << 20;

fn relay(
    mut ours: File,
    wait: &PipeReader,
    pattern: Regex,
    quiet: bool,
    samples: Option<&Samples>,
) {
    let mut matcher = Matcher::new(pattern);
    let mut buffer = vec![0; 64 << 10];
    let mut after_end = 0;
    loop {
        let (readable, ended) = poll(ours.as_raw_fd(), wait.as_raw_fd());
        if ended && (!readable || after_end > MOST_AFTER_END) {
            break;
        }
        if !readable {
            continue;
        }
        let length = match ours.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
            // A terminal that the command has closed says so with an error.
            Err(_) => break,
        };
        let time = clock::now();
        let bytes = &buffer[..length];
        after_end += if ended { length } else { 0 };
        // Nobody reads any more: closing our side, the command finds out.
        if !quiet && !pass_on(bytes) {
            break;
        }
        note(samples, time, matcher.feed(bytes));
    }
    signals::forget_terminal();
    note(samples, clock::now(), matcher.end());
}

fn note(samples: Option<&Samples>, time: u64, matched: usize) {
    if let (Some(samples), 1..) = (samples, matched) {
        let mut writer = samples.lock();
        (0..matched).for_each(|_| writer.line(time));
        writer.flush();
    }
}

/// Wait until there is something to read or the command has ended: whether each is so.
fn poll(ours: RawFd, wait: RawFd) -> (bool, bool) {
    let mut fds = [ours, wait].map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    // SAFETY: two valid pollfds with open descriptors.
    unsafe { libc::poll(fds.as_mut_ptr(), 2, -1) };
    (fds[0].revents != 0, fds[1].revents != 0)
}

/// Write all to standard output; false if nobody reads it.
fn pass_on(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        // The standard library's own output has a buffer, which would hold bytes back.
        // SAFETY: write reads so many bytes of the slice.
        let written =
            unsafe { libc::write(libc::STDOUT_FILENO, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(_) => match io::Error::last_os_error().kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => {
                    let mut fd = libc::pollfd {
                        fd: libc::STDOUT_FILENO,
                        events: libc::POLLOUT,
                        revents: 0,
                    };
                    // SAFETY: one valid pollfd.
                    unsafe { libc::poll(&mut fd, 1, -1) };
                }
                _ => return false,
            },
        }
    }
    true
}
