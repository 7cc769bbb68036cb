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
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::process::Stdio;
use std::thread::JoinHandle;

use preheat_host::clock;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags, fstat};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, ptsname, unlockpt};
use rustix::stdio::{stderr, stdout};
use rustix::termios::{OptionalActions, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};

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
    to: BorrowedFd<'static>,
}

/// Forwards bytes until it is ended.
pub(crate) struct Relay {
    thread: JoinHandle<()>,
    ended: PipeWriter,
    terminal: Option<RawFd>,
}

impl Stream {
    /// A terminal if `to` is one; otherwise a pipe.
    fn like(to: BorrowedFd<'static>) -> io::Result<Stream> {
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
        let mut streams = vec![Stream::like(stdout())?];
        let errors = match inherited::is_closed(libc::STDERR_FILENO) {
            true => None,
            false if !separate && is_same_file(stdout(), stderr()) => Some(0),
            false => {
                streams.push(Stream::like(stderr())?);
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
            let is_error = stream.to.as_raw_fd() == libc::STDERR_FILENO;
            let to = match (quiet, is_error) {
                (false, _) => To::Stream(stream.to),
                (true, true) => errors.take().map_or(To::Nowhere, To::File),
                (true, false) => To::Nowhere,
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
fn is_same_file(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    let file = |fd| fstat(fd).map(|stat| (stat.st_dev, stat.st_ino));
    file(one).is_ok_and(|found| Ok(found) == file(other))
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
    Stream(BorrowedFd<'static>),
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
        let (readable, ended) = poll(&streams, wait);
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
    // rustix does not have this call.
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
            To::File(file) => pass_on(file.as_fd(), bytes),
        };
        if !read || self.after_end > MAX_AFTER_END {
            return None;
        }
        Some((time, self.matcher.feed(bytes)))
    }
}

/// Waits until there is something to read or the command has ended. Returns which streams
/// are readable, and whether the command has ended.
fn poll(streams: &[Passed], wait: &PipeReader) -> (Vec<bool>, bool) {
    let mut fds = vec![PollFd::new(wait, PollFlags::IN)];
    let ours = streams.iter().filter_map(|stream| stream.from.as_ref());
    fds.extend(ours.map(|from| PollFd::new(from, PollFlags::IN)));
    // A signal may interrupt it; then nothing is ready.
    let _ = rustix::event::poll(&mut fds, None);
    let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
    let ended = ready.next().unwrap_or(true);
    let readable = streams.iter();
    let readable = readable.map(|stream| stream.from.is_some() && ready.next().unwrap_or(false));
    (readable.collect(), ended)
}

/// Writes all bytes to a descriptor; false if nobody reads them.
fn pass_on(to: BorrowedFd<'_>, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        // The standard library's output is buffered, which would delay bytes.
        match rustix::io::write(to, bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let _ = rustix::event::poll(&mut [PollFd::new(&to, PollFlags::OUT)], None);
            }
            Err(_) => return false,
        }
    }
    true
}

// A pseudo-terminal of the same size as the real one, which changes no bytes.

/// Our end and the command's end of a new terminal like `real`; `None` if that is not a
/// terminal, or none is available.
fn like(real: BorrowedFd<'_>) -> Option<(OwnedFd, OwnedFd)> {
    let mut settings = tcgetattr(real).ok()?;
    // The real terminal processes the bytes.
    settings.make_raw();
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags).ok()?;
    unlockpt(&ours).ok()?;
    let by_name = || {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        rustix::fs::open(ptsname(&ours, Vec::new())?, flags, Mode::empty())
    };
    // Linux before 4.13 opens it only by its name.
    let theirs = ioctl_tiocgptpeer(&ours, flags).or_else(|_| by_name());
    let theirs = theirs.ok()?;
    let _ = tcsetattr(&theirs, OptionalActions::Flush, &settings);
    if let Ok(size) = tcgetwinsize(real) {
        let _ = tcsetwinsize(&theirs, size);
    }
    Some((ours, theirs))
}
