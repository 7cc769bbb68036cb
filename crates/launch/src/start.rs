//! One start: the command in a fresh process, sampled from outside until it ends.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use preheat_host::clock;
use preheat_host::interrupt::interrupted;
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::inject::Variables;
use crate::output_lines::{Pattern, Relay, Through};
use crate::program::Program;
use crate::samples::{Sampler, Samples, Summary};
use crate::signals::{self, Blocked, Signals};
use crate::stacks::Collector;
use crate::{LaunchError, inherited};

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
    /// Programs that cannot be recorded, with the reasons.
    pub unrecorded: Vec<(PathBuf, &'static str)>,
    pub notes: Vec<String>,
}

impl Start<'_> {
    /// Runs it to its end.
    pub(crate) fn run(mut self, signals: &Signals) -> Result<Ended, LaunchError> {
        let mut notes = Vec::new();
        let samples = Samples::create(self.directory, self.limit)
            .map_err(|why| notes.push(format!("Threads and processes were not sampled: {why}.")))
            .ok();
        let (command, clock) = self.prepare(signals).map_err(cannot_begin)?;
        // From before the child exists until signals can be forwarded to it. The threads
        // that are started here never receive any.
        let blocked = Blocked::new();
        if interrupted() {
            // The signal came when there was no process to forward it to.
            let why = "preheat was interrupted before the command was started";
            return Err(LaunchError::Failed(why.into()));
        }
        // The kernel counts the child's size before `exec`, too: it should be below that of
        // any command.
        preheat_host::release_free_memory();
        let stacks = samples.is_some().then(Collector::of_next_child);
        let pid = self.spawn(command)?;
        let before_exec = clock.read();
        let relay = self.lines.map(|(through, pattern)| {
            let errors = self.errors.take();
            through.begin(&pattern, self.quiet, errors, samples.clone())
        });
        let relay =
            relay.and_then(|begun| or_note(begun, "The lines of output were not read", &mut notes));
        let sampler = (samples.clone().zip(stacks))
            .map(|(samples, stacks)| Sampler::begin(pid, self.directory, samples, stacks));
        let sampler = sampler
            .and_then(|begun| or_note(begun, "Threads and processes were not sampled", &mut notes));
        signals::pass_to(pid, relay.as_ref().and_then(Relay::terminal));
        drop(blocked);

        until_ended(pid);
        let end = clock::now();
        let summary = sampler.map_or_else(Summary::default, Sampler::end);
        signals::pass_to_nobody();
        let (exit_code, peak) = reap(pid).map_err(cannot_begin)?;
        if let Some(relay) = relay {
            relay.end();
        }
        notes.extend(summary.notes);
        if let Some(samples) = samples {
            notes.extend(samples.lock().finish().map(str::to_owned));
        }
        Ok(Ended {
            exec: before_exec.map_or(end, |before| before.time),
            end,
            pid,
            exit_code,
            peak_resident: peak_since_exec(
                peak,
                before_exec.map_or(0, |before| before.resident),
                summary.peak_resident,
            ),
            unrecorded: summary.unrecorded,
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
        // clock_gettime, getrusage and write are called. All are async-signal-safe:
        // getrusage is a plain system call. Only descriptors that the standard library
        // opened for closed streams are closed; nothing uses them.
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
                // The standard library opens it for streams that the command does not get.
                io::ErrorKind::NotFound if !Path::new("/dev/null").exists() => {
                    LaunchError::Failed(format!("{shown} cannot be started: /dev/null is missing"))
                }
                io::ErrorKind::NotFound => {
                    LaunchError::NotFound(format!("{shown} cannot be started: {why}"))
                }
                io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => cannot_begin(why),
                _ => LaunchError::CannotExecute(format!("{shown} cannot be executed: {why}")),
            }
        })
    }
}

/// The peak resident size of the command, given the one that the kernel reports. That
/// includes the time before `exec`, when the process was a copy of this one and `inherited`
/// bytes in size. A command that never exceeded this is as large as it was sampled.
fn peak_since_exec(reported: u64, inherited: u64, sampled: u64) -> u64 {
    match reported <= inherited && sampled > 0 {
        true => sampled,
        false => reported,
    }
}

/// The child just before it became the command.
#[derive(Clone, Copy)]
struct BeforeExec {
    time: u64,
    /// Its peak resident size, in bytes.
    resident: u64,
}

/// Reads the time and the size of the child just before it became the command. The child
/// sends them through a pipe that `exec` closes.
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
            let resident = own_peak_resident();
            let sent = [clock::now(), resident].map(u64::to_ne_bytes);
            // SAFETY: write reads sixteen bytes, which exist. The parent keeps the pipe
            // open until the child has started. If the write fails, both are unknown.
            unsafe { libc::write(fd, sent.as_ptr().cast(), size_of_val(&sent)) };
            Ok(())
        }
    }

    fn read(self) -> Option<BeforeExec> {
        let ExecClock { mut ours, theirs } = self;
        drop(theirs);
        let mut number = || {
            let mut bytes = [0; 8];
            ours.read_exact(&mut bytes).ok()?;
            Some(u64::from_ne_bytes(bytes))
        };
        Some(BeforeExec {
            time: number()?,
            resident: number()?,
        })
    }
}

fn cannot_begin(why: io::Error) -> LaunchError {
    LaunchError::Failed(format!("the command could not be started: {why}"))
}

/// The value, or a note about the failure.
fn or_note<T>(begun: io::Result<T>, what: &str, notes: &mut Vec<String>) -> Option<T> {
    begun
        .map_err(|why| notes.push(format!("{what}: {why}.")))
        .ok()
}

// Waits for the command: its stops, its end, and its total usage.

/// Blocks until the process has ended. It is not reaped, so that it can be sampled once
/// more and its pid is not reused.
fn until_ended(pid: u32) {
    let Some(process) = Pid::from_raw(pid as libc::pid_t) else {
        return;
    };
    loop {
        let options = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(process), options);
        match status.map(|status| status.and_then(|status| status.stopping_signal())) {
            Ok(Some(signal)) => {
                // Consumes the event, so that it is not reported again.
                let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
                let _ = waitid(WaitId::Pid(process), options);
                signals::stop_too(pid, signal);
            }
            Err(Errno::INTR) => {}
            // It has ended, or there is nothing to wait for.
            Ok(None) | Err(_) => return,
        }
    }
}

/// Reaps a process that has ended. Returns its exit code (128 + n for signal n), and the
/// peak resident size of it and of the children that it waited for, in bytes.
fn reap(pid: u32) -> io::Result<(i32, u64)> {
    let mut status = 0;
    // rustix returns no usage.
    // SAFETY: a zeroed rusage is a valid value; wait4 writes one and a status.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        while libc::wait4(pid as libc::pid_t, &mut status, 0, &mut usage) < 0 {
            let why = io::Error::last_os_error();
            if why.kind() != io::ErrorKind::Interrupted {
                return Err(why);
            }
        }
        usage
    };
    let code = match libc::WIFSIGNALED(status) {
        true => 128 + libc::WTERMSIG(status),
        false => libc::WEXITSTATUS(status),
    };
    Ok((code, peak_resident(&usage)))
}

/// The peak resident size of this process.
fn own_peak_resident() -> u64 {
    // SAFETY: a zeroed rusage is a valid value, and getrusage writes one.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    peak_resident(&usage)
}

fn peak_resident(usage: &libc::rusage) -> u64 {
    u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024
}
