//! One start: the command in a fresh process, looked at from outside until it ends.

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
use crate::samples::{Sampler, Samples, Seen};
use crate::signals::{self, Held, Signals};
use crate::{LaunchError, clock, inherited};

mod wait;

/// What is to be started, and how.
pub(crate) struct Start<'a> {
    pub program: &'a Program,
    pub command: &'a [std::ffi::OsString],
    /// Set for this start; all else is inherited.
    pub variables: Variables,
    pub input: Stdio,
    /// Whether its output goes nowhere.
    pub quiet: bool,
    /// Where its standard error goes then; nowhere if there is none.
    pub errors: Option<File>,
    /// The way of its output through preheat, and the expressions that its lines are
    /// matched with.
    pub lines: Option<(Through, Pattern)>,
    /// Where the samples go.
    pub directory: &'a Path,
    pub limit: u64,
}

/// How it went.
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
    /// Run it to its end.
    pub(crate) fn run(mut self, signals: &Signals) -> Result<Ended, LaunchError> {
        let mut notes = Vec::new();
        let samples = Samples::create(self.directory, self.limit)
            .map_err(|why| notes.push(format!("threads and processes were not sampled: {why}")))
            .ok();
        let own_peak = wait::own_peak_resident();
        let (command, clock) = self.prepare(signals).map_err(cannot_begin)?;
        // From before the child is there until signals can be passed to it, and so that
        // the threads that are started here never get any.
        let held = Held::new();
        if signals::interrupted() {
            // It came when there was nobody to pass it to.
            let why = "preheat was asked to end before the command was started";
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
        drop(held);

        wait::until_ended(pid);
        let end = clock::now();
        let seen = sampler.map_or_else(Seen::default, Sampler::end);
        signals::pass_to_nobody();
        let (exit_code, peak) = wait::reap(pid).map_err(cannot_begin)?;
        if let Some(relay) = relay {
            relay.end();
        }
        notes.extend(seen.notes);
        if let Some(samples) = samples {
            notes.extend(samples.lock().finish().map(str::to_owned));
        }
        Ok(Ended {
            exec: exec.unwrap_or(end),
            end,
            pid,
            exit_code,
            // A process begins as a copy of this one, whose size counts as its own.
            peak_resident: match peak <= own_peak && seen.peak_resident > 0 {
                true => seen.peak_resident,
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
        // What this start gets from us is not closed again; an input that was closed is
        // none that we could give.
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
        // clock_gettime and write are called, which are async-signal-safe. What is
        // closed is what the standard library opened in its place, and nobody's.
        unsafe {
            command
                .pre_exec(signals.inherit())
                .pre_exec(inherited::close_again(given))
                .pre_exec(clock.writer());
        }
        Ok((command, clock))
    }

    /// Start it. The command, and with it our copies of what is only the child's, goes.
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

/// When the child was about to become the command: it says so itself, through a pipe
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

    /// In the child, last before `exec`.
    fn writer(&self) -> impl Fn() -> io::Result<()> + Send + Sync + 'static {
        let fd = self.theirs.as_raw_fd();
        move || {
            let now = clock::now().to_ne_bytes();
            // SAFETY: write reads eight bytes, which are there. The descriptor is that
            // of a pipe which the parent holds open until the child was started. A pipe
            // that takes nothing only leaves the time unknown.
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

/// What was begun, or a note that it was not.
fn or_note<T>(begun: io::Result<T>, what: &str, notes: &mut Vec<String>) -> Option<T> {
    begun
        .map_err(|why| notes.push(format!("{what}: {why}")))
        .ok()
}
