//! One start: the command in a fresh process, sampled from outside until it ends.

use std::fs::File;
use std::io;
use std::io::{PipeReader, PipeWriter, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::inject::Variables;
use crate::lines::{Pattern, Relay, Through};
use crate::program::Program;
use crate::samples::{Sampler, Samples, Summary};
use preheat_host::clock;
use preheat_host::interrupt::interrupted;

use crate::signals::{self, Blocked, Signals};
use crate::{LaunchError, inherited};

mod wait;

/// The parameters of a start.
pub(crate) struct Start<'a> {
    pub program: &'a Program,
    pub command: &'a [std::ffi::OsString],
    /// Variables to set; all others are inherited.
    pub variables: Variables,
    pub input: Stdio,
    /// True if its output is discarded.
    pub quiet: bool,
    /// The file for its standard error in that case; discarded if there is none.
    pub errors: Option<File>,
    /// The streams that forward its output, and the expressions for its lines.
    pub lines: Option<(Through, Pattern)>,
    /// The directory for the samples.
    pub directory: &'a Path,
    pub limit: u64,
}

/// The result of a start.
#[derive(Debug)]
pub(crate) struct Ended {
    pub exec: u64,
    pub end: u64,
    pub pid: u32,
    pub exit_code: i32,
    pub peak_resident: u64,
    pub notes: Vec<String>,
}

impl Start<'_> {
    /// Runs it to its end.
    pub(crate) fn run(mut self, signals: &Signals) -> Result<Ended, LaunchError> {
        let mut notes = Vec::new();
        let samples = Samples::create(self.directory, self.limit)
            .map_err(|why| notes.push(format!("threads and processes were not sampled: {why}")))
            .ok();
        let own_peak = wait::own_peak_resident();
        let (command, clock) = self.prepare(signals).map_err(cannot_begin)?;
        // From before the child exists until signals can be forwarded to it. The threads
        // that are started here never receive any.
        let blocked = Blocked::new();
        if interrupted() {
            // The signal came when there was no process to forward it to.
            let why = "preheat was interrupted before the command was started";
            return Err(LaunchError::Failed(why.into()));
        }
        let pid = self.spawn(command)?;
        let exec = clock.read();
        let relay = self.lines.map(|(through, pattern)| {
            let errors = self.errors.take();
            through.begin(&pattern, self.quiet, errors, samples.clone())
        });
        let relay = relay.and_then(|begun| or_note(begun, "its lines were not read", &mut notes));
        let sampler = samples
            .clone()
            .map(|samples| Sampler::begin(pid, self.directory, samples));
        let sampler = sampler
            .and_then(|begun| or_note(begun, "threads and processes were not sampled", &mut notes));
        signals::pass_to(pid, relay.as_ref().and_then(Relay::terminal));
        drop(blocked);

        wait::until_ended(pid);
        let end = clock::now();
        let summary = sampler.map_or_else(Summary::default, Sampler::end);
        signals::pass_to_nobody();
        let (exit_code, peak) = wait::reap(pid).map_err(cannot_begin)?;
        if let Some(relay) = relay {
            relay.end();
        }
        notes.extend(summary.notes);
        if let Some(samples) = samples {
            notes.extend(samples.lock().finish().map(str::to_owned));
        }
        Ok(Ended {
            exec: exec.unwrap_or(end),
            end,
            pid,
            exit_code,
            // A process starts as a copy of this one, whose size counts for it.
            peak_resident: match peak <= own_peak && summary.peak_resident > 0 {
                true => summary.peak_resident,
                false => peak,
            },
            notes,
        })
    }

    fn prepare(&mut self, signals: &Signals) -> io::Result<(Command, ExecClock)> {
        let clock = ExecClock::new()?;
        let mut command = Command::new(&self.program.path);
        command
            .arg0(&self.command[0])
            .args(&self.command[1..])
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(std::mem::replace(&mut self.input, Stdio::null()));
        // Streams that this start gets from us are not closed again. If standard input was
        // closed, we have none to give.
        let mut given = [false, self.quiet, self.quiet];
        if let Some((through, _)) = &self.lines {
            command.stdout(through.stdout()?);
            given[1] = true;
            if let Some(stderr) = through.stderr()? {
                command.stderr(stderr);
                given[2] = true;
            }
        } else if self.quiet {
            let errors = self.errors.take().map_or_else(Stdio::null, Stdio::from);
            command.stdout(Stdio::null()).stderr(errors);
        }
        // SAFETY: between fork and exec only sigaction, pthread_sigmask, close,
        // clock_gettime and write are called, which are async-signal-safe. Only descriptors
        // that the standard library opened for closed streams are closed; nothing uses
        // them.
        unsafe {
            command
                .pre_exec(signals.inherit())
                .pre_exec(inherited::close_again(given))
                .pre_exec(clock.writer());
        }
        Ok((command, clock))
    }

    /// Spawns the command and drops it, and with it our copies of the child's descriptors.
    fn spawn(&self, mut command: Command) -> Result<u32, LaunchError> {
        command.spawn().map(|child| child.id()).map_err(|why| {
            let shown = self.program.path.display();
            match why.kind() {
                io::ErrorKind::NotFound => {
                    LaunchError::NotFound(format!("{shown} cannot be started: {why}"))
                }
                io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => cannot_begin(why),
                _ => LaunchError::CannotExecute(format!("{shown} cannot be executed: {why}")),
            }
        })
    }
}

/// The time just before the child became the command. The child sends it through a pipe
/// that `exec` closes.
struct ExecClock {
    ours: PipeReader,
    theirs: PipeWriter,
}

impl ExecClock {
    fn new() -> io::Result<ExecClock> {
        let (ours, theirs) = io::pipe()?;
        Ok(ExecClock { ours, theirs })
    }

    /// Runs in the child as the last step before `exec`.
    fn writer(&self) -> impl Fn() -> io::Result<()> + Send + Sync + 'static {
        let fd = self.theirs.as_raw_fd();
        move || {
            let now = clock::now().to_ne_bytes();
            // SAFETY: write reads eight bytes, which exist. The parent keeps the pipe open
            // until the child has started. If the write fails, the time is unknown.
            unsafe { libc::write(fd, now.as_ptr().cast(), now.len()) };
            Ok(())
        }
    }

    fn read(self) -> Option<u64> {
        let ExecClock { mut ours, theirs } = self;
        drop(theirs);
        let mut time = [0; 8];
        ours.read_exact(&mut time).ok()?;
        Some(u64::from_ne_bytes(time))
    }
}

fn cannot_begin(why: io::Error) -> LaunchError {
    LaunchError::Failed(format!("the command could not be started: {why}"))
}

/// The value, or a note about the failure.
fn or_note<T>(begun: io::Result<T>, what: &str, notes: &mut Vec<String>) -> Option<T> {
    begun
        .map_err(|why| notes.push(format!("{what}: {why}")))
        .ok()
}
