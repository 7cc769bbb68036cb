//! One start: the parent side (a fresh process with a time limit), and the child side.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use preheat_device::{Cache, Kind, Options};
use preheat_host::interrupt::interrupted;
use preheat_model::lab::{Outcome, Start};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open,
    set_parent_process_death_signal, waitid,
};

use crate::experiments;
use crate::recorder::{self, Job, Line, Recorder};

/// The way a process ended.
#[derive(Debug)]
pub enum Ended {
    /// It exited or was killed by a signal.
    Exited(ExitStatus),
    /// It was killed because its time was up.
    TimedOut,
    /// It was killed because the run was interrupted.
    Interrupted,
}

/// Runs `command`, which writes lines to `output`, and collects its results. Returns `None`
/// if the run was interrupted meanwhile: a partial start does not count.
pub fn start(mut command: Command, output: &Path, limit: Duration) -> io::Result<Option<Start>> {
    let printed = output.with_extension("log");
    let ended = run_limited(&mut command, &printed, limit)?;
    // A line truncated within a character loses only that line.
    let bytes = fs::read(output).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut start = Start {
        outcome: Outcome::Completed,
        samples: Vec::new(),
        skipped: Vec::new(),
    };
    let mut complete = false;
    let mut reason = None;
    for line in recorder::parse(&text) {
        match line {
            Line::Sample(sample) => start.samples.push(sample),
            Line::Skipped(skipped) => start.skipped.push(skipped),
            Line::Failed { why } => reason = Some(why),
            Line::Void { why } => {
                start.samples.clear();
                reason = Some(why);
            }
            Line::End => complete = true,
        }
    }
    let failure = match ended {
        Ended::Interrupted => return Ok(None),
        Ended::TimedOut => Some(format!(
            "it did not finish within {} s and was killed; allow more time with --start-limit",
            limit.as_secs_f64()
        )),
        Ended::Exited(_) if reason.is_some() => reason,
        Ended::Exited(status) if !complete || !status.success() => {
            Some(describe(status, &last_lines(&printed)))
        }
        Ended::Exited(_) => None,
    };
    if let Some(what) = failure {
        start.outcome = Outcome::Failed(what);
    }
    let _ = fs::remove_file(output);
    let _ = fs::remove_file(printed);
    Ok(Some(start))
}

/// Runs a process in its own process group, with its output going to a file; kills the
/// whole group when the process has ended, its time is up or the run is interrupted:
/// anything left running would disturb later starts.
pub fn run_limited(command: &mut Command, printed: &Path, limit: Duration) -> io::Result<Ended> {
    let log = File::create(printed)?;
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .process_group(0);
    // SAFETY: only prctl is called between fork and exec, directly and without allocating.
    unsafe { command.pre_exec(end_with_parent) };
    let mut child = command.spawn()?;
    let deadline = Instant::now() + limit;
    let ended = loop {
        if has_ended(&child)? {
            break None;
        }
        if interrupted() {
            break Some(Ended::Interrupted);
        }
        let Some(left) = deadline.checked_duration_since(Instant::now()) else {
            break Some(Ended::TimedOut);
        };
        wait_for_exit(child.id(), left.min(Duration::from_millis(200)));
    };
    // The child has not been waited for yet, so its pid, which is also its group's, cannot have
    // been reused.
    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    let status = child.wait()?;
    Ok(ended.unwrap_or(Ended::Exited(status)))
}

/// In the child: requests to be killed when the parent ends, however it ends. This does not
/// cover its own children; failure is harmless.
fn end_with_parent() -> io::Result<()> {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    Ok(())
}

/// Returns true if the child has ended; it can still be waited for.
fn has_ended(child: &Child) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(Pid::from_child(child)), options)?;
    Ok(status.is_some())
}

/// Blocks until the process may have ended, a signal arrived, or the time is over.
fn wait_for_exit(process: u32, at_most: Duration) {
    let wait = |watched: &mut [PollFd<'_>], at_most: Duration| {
        let timeout = Timespec::try_from(at_most.max(Duration::from_millis(1))).ok();
        let _ = poll(watched, timeout.as_ref());
    };
    let process = Pid::from_raw(process as libc::pid_t);
    match process.map(|process| pidfd_open(process, PidfdFlags::empty())) {
        Some(Ok(handle)) => wait(&mut [PollFd::new(&handle, PollFlags::IN)], at_most),
        // The kernel has no pidfds.
        _ => wait(&mut [], at_most.min(Duration::from_millis(5))),
    }
}

fn describe(status: ExitStatus, printed: &str) -> String {
    let how = match (status.signal(), status.code()) {
        (Some(signal), _) => format!("it was killed by signal {signal}{}", signal_hint(signal)),
        (None, Some(code)) => {
            format!("it exited with code {code} before the measurement was complete")
        }
        (None, None) => "it ended before the measurement was complete".to_owned(),
    };
    if printed.is_empty() {
        how
    } else {
        format!("{how}; last output: {printed}")
    }
}

fn signal_hint(signal: i32) -> &'static str {
    match signal {
        libc::SIGKILL => " (SIGKILL: the machine may be out of memory; try --quick)",
        libc::SIGSEGV => " (SIGSEGV: a crash in a driver or library)",
        libc::SIGABRT => " (SIGABRT)",
        _ => "",
    }
}

/// The last lines of a process's output, joined and shortened for a message.
pub fn last_lines(printed: &Path) -> String {
    const MAX_LENGTH: usize = 300;
    let bytes = fs::read(printed).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let joined = lines[lines.len().saturating_sub(2)..].join(" / ");
    let skip = joined.chars().count().saturating_sub(MAX_LENGTH);
    joined.chars().skip(skip).collect()
}

// The child side of a native start: preheat as its own child process.

/// The first argument that turns this program into a lab start.
pub const CHILD_ARGUMENT: &str = "__lab-start";

/// Runs the experiment that the arguments describe. Results and failures go to the job's
/// output file; nothing is printed to stdout.
pub fn child_main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let job = arguments
        .next()
        .and_then(|text| text.into_string().ok())
        .and_then(|text| serde_json::from_str::<Job>(&text).ok());
    let Some(job) = job else {
        eprintln!("preheat: {CHILD_ARGUMENT} is for internal use; see `preheat lab --help`");
        return ExitCode::from(2);
    };
    let mut recorder = match Recorder::create(&job.output) {
        Ok(recorder) => recorder,
        Err(why) => {
            eprintln!(
                "cannot create the result file {}: {why}",
                job.output.display()
            );
            return ExitCode::from(125);
        }
    };
    let Some(kind) = Kind::from_id(&job.device) else {
        eprintln!("unknown device {}", job.device);
        return ExitCode::from(125);
    };
    let options = Options {
        cache: job.cache.clone().map_or(Cache::Off, Cache::Directory),
    };
    let device = preheat_device::open(kind, &options);
    let written = match experiments::run(&job, device, &mut recorder) {
        Ok(()) => recorder.end(),
        Err(why) => recorder.failed(why.to_string()),
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("cannot write the result: {why}");
            ExitCode::from(125)
        }
    }
}

#[cfg(test)]
mod tests {
    use preheat_host::Scratch;

    use super::*;

    fn shell(script: &str, limit: Duration) -> Start {
        let scratch = Scratch::new("lab").expect("a scratch directory");
        let output = scratch.path().join("lines");
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).arg(&output);
        start(command, &output, limit)
            .expect("sh runs")
            .expect("nobody interrupts")
    }

    const SAMPLE: &str =
        r#"echo '{"line":"sample","name":"n","kind":"stage","values":[1.0]}' > "$1""#;

    #[test]
    fn a_crash_keeps_earlier_samples() {
        let start = shell(
            &format!("{SAMPLE}; echo it broke >&2; kill -SEGV $$"),
            Duration::from_secs(60),
        );
        assert_eq!(start.samples.len(), 1);
        let Outcome::Failed(what) = start.outcome else {
            panic!("a crash is a failure");
        };
        assert!(
            what.contains("signal 11") && what.contains("it broke"),
            "{what}"
        );
    }

    #[test]
    fn a_hung_start_is_killed_with_its_children() {
        let start = shell(
            &format!("{SAMPLE}; sleep 1000 & sleep 1000"),
            Duration::from_millis(300),
        );
        assert_eq!(start.samples.len(), 1);
        assert!(matches!(start.outcome, Outcome::Failed(what) if what.contains("--start-limit")));
    }

    #[test]
    fn samples_from_another_device_are_discarded() {
        let void = r#"echo '{"line":"void","why":"it was the CPU"}' >> "$1""#;
        let start = shell(&format!("{SAMPLE}; {void}"), Duration::from_secs(60));
        assert_eq!(start.samples, []);
        assert_eq!(start.outcome, Outcome::Failed("it was the CPU".into()));
    }

    #[test]
    fn background_processes_of_a_start_are_killed() {
        let scratch = Scratch::new("lab").expect("a scratch directory");
        let printed = scratch.path().join("printed");
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo $!"]);
        let ended = run_limited(&mut command, &printed, Duration::from_secs(60)).expect("sh runs");
        assert!(matches!(ended, Ended::Exited(status) if status.success()));
        let orphan = fs::read_to_string(&printed).expect("it printed");
        let process = orphan.trim().parse().expect("a process");
        wait_for_exit(process, Duration::from_secs(60));
        // Ended, or a zombie that has not been reaped yet.
        let state = fs::read_to_string(format!("/proc/{process}/stat"));
        assert!(state.map_or(true, |state| state.contains(") Z ")));
    }

    #[test]
    fn an_end_without_the_end_line_is_a_failure() {
        let start = shell(SAMPLE, Duration::from_secs(60));
        assert!(matches!(start.outcome, Outcome::Failed(_)));
        let whole = format!(r#"{SAMPLE}; echo '{{"line":"end"}}' >> "$1""#);
        assert_eq!(
            shell(&whole, Duration::from_secs(60)).outcome,
            Outcome::Completed
        );
    }
}
