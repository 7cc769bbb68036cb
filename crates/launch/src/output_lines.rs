//! Iterations marked by lines of output: the standard output and standard error of the
//! command go through preheat.
//!
//! A terminal stays a terminal for the command, and a pipe a pipe. If both streams are the
//! same file, the command gets one for both, so that the order of its output is kept. Bytes
//! are forwarded unchanged as they arrive; each line is matched, and the times of matching
//! lines are recorded. On a busy machine those must not be the times at which preheat gets
//! a processor, so the thread that reads runs before others where that is permitted. When
//! the reader of preheat's output goes away, the command gets the same error as without
//! preheat.

mod matcher;

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::process::Stdio;
use std::thread::JoinHandle;

use preheat_host::clock;

use crate::samples::{Samples, waited_for_processor};
use crate::{inherited, signals};
use matcher::{Matched, Matcher};

pub(crate) use matcher::Pattern;

/// The streams that forward the command's output, before the command runs.
pub(crate) struct Through {
    /// Standard output, and standard error if it is another file.
    streams: Vec<Stream>,
    /// The stream that standard error uses; `None` if it is closed.
    errors: Option<usize>,
}

/// One stream of output.
struct Stream {
    /// The command's end; only the command has it open once it runs.
    theirs: OwnedFd,
    ours: File,
    terminal: bool,
    /// The descriptor that its bytes are forwarded to.
    to: RawFd,
}

/// Forwards bytes until it is ended.
pub(crate) struct Relay {
    thread: JoinHandle<()>,
    ended: PipeWriter,
    terminal: Option<RawFd>,
}

impl Stream {
    /// A terminal if `to` is one; otherwise a pipe.
    fn like(to: RawFd) -> io::Result<Stream> {
        if let Some((ours, theirs)) = like(to) {
            return Ok(Stream {
                theirs,
                ours: ours.into(),
                terminal: true,
                to,
            });
        }
        let (ours, theirs) = io::pipe()?;
        Ok(Stream {
            theirs: theirs.into(),
            ours: OwnedFd::from(ours).into(),
            terminal: false,
            to,
        })
    }
}

impl Through {
    /// Streams of the same type as preheat's; `separate` if they do not go to the same
    /// file.
    pub(crate) fn new(separate: bool) -> io::Result<Through> {
        let mut streams = vec![Stream::like(libc::STDOUT_FILENO)?];
        let errors = match inherited::is_closed(libc::STDERR_FILENO) {
            true => None,
            false if !separate && same_file(libc::STDOUT_FILENO, libc::STDERR_FILENO) => Some(0),
            false => {
                streams.push(Stream::like(libc::STDERR_FILENO)?);
                Some(1)
            }
        };
        Ok(Through { streams, errors })
    }

    /// Returns whether the command's standard output is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.streams[0].terminal
    }

    /// The command's standard output.
    pub(crate) fn stdout(&self) -> io::Result<Stdio> {
        self.streams[0].theirs.try_clone().map(Stdio::from)
    }

    /// The command's standard error, unless it is closed.
    pub(crate) fn stderr(&self) -> io::Result<Option<Stdio>> {
        let stream = self.errors.map(|at| &self.streams[at]);
        let stream = stream.map(|stream| stream.theirs.try_clone().map(Stdio::from));
        stream.transpose()
    }

    /// Starts to forward. With `quiet`, standard output is only matched, and standard error
    /// goes to `errors`, if given.
    pub(crate) fn begin(
        self,
        pattern: &Pattern,
        quiet: bool,
        errors: Option<File>,
        samples: Option<Samples>,
    ) -> io::Result<Relay> {
        let (wait, ended) = io::pipe()?;
        let terminal = self.streams.iter().find(|stream| stream.terminal);
        let terminal = terminal.map(|stream| stream.ours.as_raw_fd());
        let mut errors = errors;
        let passed = self.streams.into_iter().map(|stream| {
            let to = match (quiet, stream.to) {
                (false, to) => To::Stream(to),
                (true, libc::STDERR_FILENO) => errors.take().map_or(To::Nowhere, To::File),
                (true, _) => To::Nowhere,
            };
            Passed {
                from: Some(stream.ours),
                to,
                matcher: Matcher::new(pattern.clone()),
                after_end: 0,
            }
        });
        let passed = passed.collect();
        let thread = std::thread::Builder::new()
            .name("lines".into())
            .spawn(move || relay(passed, &wait, samples.as_ref()))?;
        // The command's ends are closed here, so that end of file comes when the command
        // closes them.
        Ok(Relay {
            thread,
            ended,
            terminal,
        })
    }
}

/// Returns whether two descriptors refer to the same file.
fn same_file(one: RawFd, other: RawFd) -> bool {
    let file = |fd: RawFd| {
        // SAFETY: a zeroed stat is a valid value, and fstat writes one.
        unsafe {
            let mut stat: libc::stat = std::mem::zeroed();
            (libc::fstat(fd, &mut stat) == 0).then_some((stat.st_dev, stat.st_ino))
        }
    };
    file(one).is_some_and(|found| Some(found) == file(other))
}

impl Relay {
    /// Our end of the terminal, for its size.
    pub(crate) fn terminal(&self) -> Option<RawFd> {
        self.terminal
    }

    /// Ends the relay after the command: forwards the remaining output. Processes that the
    /// command left running are not waited for.
    pub(crate) fn end(self) {
        drop(self.ended);
        // The thread does not panic; if it did, nothing could be forwarded any more.
        let _ = self.thread.join();
    }
}

/// The capacity of a pipe: more output than this after the command's end comes from
/// processes that it left running.
const MAX_AFTER_END: usize = 1 << 20;

/// A destination of output.
enum To {
    Nowhere,
    /// One of preheat's streams.
    Stream(RawFd),
    File(File),
}

/// A stream while it is forwarded.
struct Passed {
    /// Our end; `None` after end of file.
    from: Option<File>,
    to: To,
    matcher: Matcher,
    /// Bytes that arrived after the command's end.
    after_end: usize,
}

fn relay(mut streams: Vec<Passed>, wait: &PipeReader, samples: Option<&Samples>) {
    let prompt = run_promptly();
    let mut buffer = vec![0; 64 << 10];
    let mut lines = Lines::default();
    while streams.iter().any(|stream| stream.from.is_some()) {
        let waited = if prompt { 0 } else { waited_for_processor() };
        let (readable, ended) = poll(&streams, wait.as_raw_fd());
        if ended && !readable.contains(&true) {
            break;
        }
        // Between the arrival of the bytes and now, the thread may have waited.
        let late = match prompt {
            true => 0,
            false => waited_for_processor().saturating_sub(waited),
        };
        for (stream, _) in streams.iter_mut().zip(readable).filter(|(_, is)| *is) {
            let Some((time, matched)) = stream.pass(&mut buffer, ended) else {
                // With our end closed, the command gets an error when it writes.
                stream.from = None;
                continue;
            };
            lines.add(time.saturating_sub(late), matched);
        }
        lines.write(samples, false);
    }
    signals::forget_terminal();
    for stream in &mut streams {
        lines.add(clock::now(), stream.matcher.end());
    }
    lines.write(samples, true);
}

/// Lets this thread run before others as soon as there is output. Returns whether that is
/// permitted.
fn run_promptly() -> bool {
    let priority: libc::c_int = 1;
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel reads one number; 0 is the calling thread.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) == 0 }
}

/// Matching lines that are not in the file yet.
#[derive(Default)]
struct Lines(Vec<(u64, Matched)>);

impl Lines {
    /// Adds lines in order: times never decrease.
    fn add(&mut self, time: u64, matched: Vec<Matched>) {
        let time = self.0.last().map_or(time, |(last, _)| time.max(*last));
        (self.0).extend(matched.into_iter().map(|matched| (time, matched)));
    }

    /// Writes the lines to the file; unless it must, not while the file is in use: further
    /// output may arrive meanwhile.
    fn write(&mut self, samples: Option<&Samples>, must: bool) {
        let Some(samples) = samples else {
            self.0.clear();
            return;
        };
        if self.0.is_empty() {
            return;
        }
        let writer = match must {
            true => Some(samples.lock()),
            false => samples.try_lock(),
        };
        let Some(mut writer) = writer else { return };
        for (time, matched) in self.0.drain(..) {
            match matched {
                Matched::Begin => writer.line_begin(time),
                Matched::End => writer.line(time),
            }
        }
        writer.flush();
    }
}

impl Passed {
    /// Forwards the available bytes. Returns their time and matching lines; `None` at end
    /// of file.
    fn pass(&mut self, buffer: &mut [u8], ended: bool) -> Option<(u64, Vec<Matched>)> {
        let length = loop {
            match self.from.as_mut()?.read(buffer) {
                Ok(0) => return None,
                Ok(length) => break length,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                // A terminal that the command has closed returns an error.
                Err(_) => return None,
            }
        };
        let time = clock::now();
        let bytes = &buffer[..length];
        self.after_end += if ended { length } else { 0 };
        let read = match &self.to {
            To::Nowhere => true,
            To::Stream(fd) => pass_on(*fd, bytes),
            To::File(file) => pass_on(file.as_raw_fd(), bytes),
        };
        if !read || self.after_end > MAX_AFTER_END {
            return None;
        }
        Some((time, self.matcher.feed(bytes)))
    }
}

/// Waits until there is something to read or the command has ended. Returns which streams
/// are readable, and whether the command has ended.
fn poll(streams: &[Passed], wait: RawFd) -> (Vec<bool>, bool) {
    let ours = streams.iter().map(|stream| stream.from.as_ref());
    // A negative descriptor is ignored.
    let ours = ours.map(|from| from.map_or(-1, AsRawFd::as_raw_fd));
    let mut fds: Vec<libc::pollfd> = (ours.chain([wait]))
        .map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    // SAFETY: `fds` contains this many valid pollfds with open descriptors.
    unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, -1) };
    let mut ready: Vec<bool> = fds.iter().map(|fd| fd.revents != 0).collect();
    let ended = ready.pop().unwrap_or(true);
    (ready, ended)
}

/// Writes all bytes to a descriptor; false if nobody reads them.
fn pass_on(to: RawFd, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        // The standard library's output is buffered, which would delay bytes.
        // SAFETY: write reads this many bytes of the slice.
        let written = unsafe { libc::write(to, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(_) => match io::Error::last_os_error().kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => {
                    let mut fd = libc::pollfd {
                        fd: to,
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

// A pseudo-terminal of the same size as the real one, which changes no bytes.

/// Our end and the command's end of a new terminal like `real`; `None` if that is not a
/// terminal, or none is available.
fn like(real: RawFd) -> Option<(OwnedFd, OwnedFd)> {
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
