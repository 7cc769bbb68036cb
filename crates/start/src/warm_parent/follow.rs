//! Acts as the proxy of a running program: forwards signals to it, stops when it stops, and
//! exits the way it exits.
//!
//! With a terminal, this process shares a process group with the program, which then gets
//! signals from the terminal directly. Signals sent to this process alone are forwarded.
//!
//! Masks, actions and values of signals go through libc: rustix leaves them to the C library.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use preheat_launch::sender;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Resource, Rlimit, Signal, pidfd_open, pidfd_send_signal,
    set_dumpable_behavior, setrlimit,
};

use super::socket::Connection;
use crate::background::redirect;

/// The exit status of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It exited with this code.
    Code(i32),
    /// It was killed by this signal.
    Signal(i32),
    /// Unknown: its supervisor was killed.
    Unknown,
}

/// A child of the warm parent that becomes the program. If it is dropped before it was sent
/// `go`, it has run nothing, and is killed, which closes the descriptors that it received.
pub(crate) struct Child {
    process: libc::pid_t,
    supervisor: libc::pid_t,
    /// A pidfd, which becomes readable when the process exits.
    handle: Option<OwnedFd>,
    /// It must not be killed on drop.
    released: bool,
}

impl Child {
    /// The child with the process ID that it reported; `None` unless it is a grandchild of
    /// the parent, since signals will be sent to it.
    pub(crate) fn new(process: libc::pid_t, parent: u32) -> Option<Child> {
        if process < 2 {
            return None;
        }
        let supervisor = parent_of(process)?;
        if parent_of(supervisor)? != parent as libc::pid_t {
            return None;
        }
        let handle = pidfd_open(Pid::from_raw(process)?, PidfdFlags::empty());
        Some(Child {
            process,
            supervisor,
            handle: handle.ok(),
            released: false,
        })
    }

    /// The process ID of the supervisor.
    pub(crate) fn supervisor(&self) -> u32 {
        self.supervisor.unsigned_abs()
    }

    /// Keeps it from being killed on drop: it was only inspected.
    pub(crate) fn keep_alive(&mut self) {
        self.released = true;
    }

    /// Waits until it exits, at most until the deadline; returns true if it has exited.
    pub(crate) fn has_exited_by(&self, deadline: Instant) -> bool {
        let Some(handle) = &self.handle else {
            return stat(self.process).is_empty(); // The kernel has no pidfds.
        };
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if wait(&[handle.as_fd()], Some(left)) == [true] {
                return true;
            }
            if left.is_zero() {
                return false;
            }
        }
    }

    /// The process ID.
    pub(crate) fn process(&self) -> u32 {
        self.process.unsigned_abs()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let (false, Some(handle)) = (self.released, &self.handle) {
            // If it has exited, there is nothing to kill.
            let _ = pidfd_send_signal(handle, Signal::KILL);
        }
    }
}

/// A program that is ready or running.
pub(crate) struct RunningProgram {
    connection: Connection,
    child: Child,
    signals: OwnedFd,
    /// The program is in our process group, so signals to the group reach it too.
    shares_group: bool,
    /// The signal mask of this process before.
    mask: libc::sigset_t,
}

impl RunningProgram {
    /// A program that is ready. From now on signals are blocked.
    pub(crate) fn ready(
        connection: Connection,
        child: Child,
        shares_group: bool,
    ) -> io::Result<RunningProgram> {
        // SAFETY: sigfillset writes the set, and signalfd reads it; its new descriptor is
        // owned at once.
        unsafe {
            let mut all = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigfillset(all.as_mut_ptr());
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            let signals = libc::signalfd(-1, all.as_ptr(), flags);
            if signals < 0 {
                return Err(io::Error::last_os_error());
            }
            let signals = OwnedFd::from_raw_fd(signals);
            let mut mask: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), &mut mask);
            Ok(RunningProgram {
                mask,
                connection,
                child,
                signals,
                shares_group,
            })
        }
    }

    /// Sends `go`. On an error the program does not run, and signals are unblocked again.
    pub(crate) fn go(&mut self) -> io::Result<()> {
        let sent = self.connection.send(b"g", &[]);
        self.child.released = sent.is_ok();
        if sent.is_err() {
            // SAFETY: the mask was written by the kernel.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.mask, std::ptr::null_mut()) };
        }
        sent
    }

    /// Waits until the program exits. First closes the inherited descriptors, so that a pipe
    /// closes as soon as the program closes it.
    pub(crate) fn follow(mut self, descriptors: &[RawFd]) -> End {
        close_inherited(descriptors);
        loop {
            while let Some(line) = self.connection.next_line() {
                let status = line
                    .strip_prefix("status ")
                    .and_then(|text| text.parse().ok());
                match status {
                    Some(status) if libc::WIFEXITED(status) => {
                        return End::Code(libc::WEXITSTATUS(status));
                    }
                    Some(status) if libc::WIFSIGNALED(status) => {
                        return End::Signal(libc::WTERMSIG(status));
                    }
                    Some(status) if libc::WIFSTOPPED(status) => self.stop(libc::WSTOPSIG(status)),
                    _ => {}
                }
            }
            wait(&[self.connection.as_fd(), self.signals.as_fd()], None);
            self.pass_signals();
            if self.connection.fill().is_err() {
                return self.wait_without_supervisor();
            }
        }
    }

    /// Waits for the program after its supervisor was killed.
    fn wait_without_supervisor(&self) -> End {
        while let Some(handle) = &self.child.handle {
            let ready = wait(&[handle.as_fd(), self.signals.as_fd()], None);
            self.pass_signals();
            if ready.first() == Some(&true) {
                break;
            }
        }
        End::Unknown
    }

    fn pass_signals(&self) {
        loop {
            let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
            let size = size_of::<libc::signalfd_siginfo>();
            // SAFETY: read writes at most the size of the struct, and signalfd returns whole
            // structs.
            let info = unsafe {
                let read = libc::read(self.signals.as_raw_fd(), info.as_mut_ptr().cast(), size);
                if read != size as isize {
                    return;
                }
                info.assume_init()
            };
            self.pass(&info);
        }
    }

    fn pass(&self, info: &libc::signalfd_siginfo) {
        let (signal, sender) = (info.ssi_signo as i32, info.ssi_pid as libc::pid_t);
        let pass = match signal {
            libc::SIGCHLD => false,
            // A shell continues the whole group.
            libc::SIGCONT => is_stopped(self.child.process),
            // In another group, the program has received nothing.
            _ if !self.shares_group => true,
            // `sigqueue` addresses one process, so the program has not received it either, and
            // each signal has its own value.
            _ if info.ssi_code == libc::SI_QUEUE => true,
            _ if info.ssi_code > 0 => !is_of_terminals(signal),
            _ if sender::is_from_command(sender, self.child.process) => false,
            libc::SIGUSR1 | libc::SIGUSR2 => true,
            _ => !sender::is_repeated(signal, sender),
        };
        if !pass {
            return;
        }
        let process = self.child.process;
        // SAFETY: kill takes numbers only, and rt_sigqueueinfo reads one struct that is as large
        // as the kernel expects. The process is the program or, just after its exit, a process
        // ID that cannot have been reused yet.
        unsafe {
            let is_queued = Queued::of(info).is_some_and(|queued| {
                let queued = &raw const queued;
                libc::syscall(libc::SYS_rt_sigqueueinfo, process, signal, queued) == 0
            });
            // A filter of system calls may forbid it, or the queue may be full. The signal
            // itself matters more than its value.
            if !is_queued {
                libc::kill(process, signal);
            }
        }
    }

    /// Stops this process after the program was stopped, so that the waiting shell sees it.
    fn stop(&self, signal: i32) {
        if is_stopped(self.child.process) {
            let held = set_default_and_unblock(signal);
            // SAFETY: raise takes a number; the mask was written by the kernel.
            unsafe {
                libc::raise(signal);
                libc::pthread_sigmask(libc::SIG_SETMASK, &held, std::ptr::null_mut());
            }
        }
    }
}

/// A `siginfo_t` of a signal that was sent with a value (`sigqueue`).
#[repr(C, align(8))]
struct Queued {
    signal: libc::c_int,
    error: libc::c_int,
    code: libc::c_int,
    padding: libc::c_int,
    process: libc::pid_t,
    user: libc::uid_t,
    value: u64,
    rest: [u64; 12],
}

const _: () = assert!(size_of::<Queued>() == size_of::<libc::siginfo_t>());

impl Queued {
    /// The same signal, with its value and sender; `None` if it was sent in another way.
    fn of(info: &libc::signalfd_siginfo) -> Option<Queued> {
        (info.ssi_code == libc::SI_QUEUE).then_some(Queued {
            signal: info.ssi_signo as libc::c_int,
            error: info.ssi_errno,
            code: info.ssi_code,
            padding: 0,
            process: info.ssi_pid as libc::pid_t,
            user: info.ssi_uid,
            value: info.ssi_ptr,
            rest: [0; 12],
        })
    }
}

/// Kills this process with the signal that killed the program; without a core file, which
/// would be that of this process.
pub(crate) fn die(signal: i32) {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = setrlimit(Resource::Core, none);
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    set_default_and_unblock(signal);
    // SAFETY: raise takes a number, and the action of the signal is the default one.
    unsafe { libc::raise(signal) };
}

/// Resets a signal to its default action and unblocks it; returns the previous mask.
fn set_default_and_unblock(signal: i32) -> libc::sigset_t {
    // SAFETY: zeroed sets and actions are valid values, and each function reads or writes
    // one of them.
    unsafe {
        let mut before: libc::sigset_t = std::mem::zeroed();
        let mut one: libc::sigset_t = std::mem::zeroed();
        let action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, &action, std::ptr::null_mut());
        libc::sigemptyset(&mut one);
        libc::sigaddset(&mut one, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &one, &mut before);
        before
    }
}

/// Closes the descriptors; standard streams are redirected to /dev/null.
fn close_inherited(descriptors: &[RawFd]) {
    let null = File::options().read(true).write(true).open("/dev/null");
    for &fd in descriptors {
        if fd > 2 {
            // SAFETY: close takes a number. This process inherited the descriptor, and nothing in
            // it uses it any more.
            unsafe { libc::close(fd) };
        } else if let Ok(null) = &null {
            let _ = redirect(fd, null);
        }
    }
}

/// Waits until a descriptor is readable or closed, without a limit if there is no `timeout`;
/// returns which ones are.
fn wait(descriptors: &[BorrowedFd<'_>], timeout: Option<Duration>) -> Vec<bool> {
    let watched = descriptors.iter().map(|fd| PollFd::new(fd, PollFlags::IN));
    let mut polls: Vec<PollFd<'_>> = watched.collect();
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    // A signal may interrupt it; then none is ready.
    let _ = poll(&mut polls, timeout.as_ref());
    polls.iter().map(|it| !it.revents().is_empty()).collect()
}

/// Returns true for signals that the kernel sends to a whole group on behalf of its terminal.
fn is_of_terminals(signal: i32) -> bool {
    matches!(
        signal,
        libc::SIGINT
            | libc::SIGQUIT
            | libc::SIGTSTP
            | libc::SIGTTIN
            | libc::SIGTTOU
            | libc::SIGHUP
            | libc::SIGWINCH
            | libc::SIGCONT
    )
}

/// Returns true if a process is stopped.
pub(crate) fn is_stopped(process: libc::pid_t) -> bool {
    matches!(stat(process).first(), Some(b'T' | b't'))
}

/// The parent process, or the one that has adopted it.
fn parent_of(process: libc::pid_t) -> Option<libc::pid_t> {
    let stat = String::from_utf8(stat(process)).ok()?;
    stat.split(' ').nth(1)?.parse().ok()
}

/// The contents of `/proc/PID/stat`, beginning with the state.
fn stat(process: libc::pid_t) -> Vec<u8> {
    let mut stat = std::fs::read(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name before the state, in brackets, may contain any bytes.
    let end = stat.iter().rposition(|&byte| byte == b')').unwrap_or(0);
    stat.drain(..(end + 2).min(stat.len()));
    stat
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_grandchild_is_accepted() {
        let this = std::process::id() as libc::pid_t;
        let parent = parent_of(this).expect("it has one");
        assert!(!is_stopped(this));
        assert!(Child::new(this, this as u32).is_none());
        let above = parent_of(parent).filter(|&above| above > 0);
        // Dropping it unreleased would kill this process.
        if let Some(mut child) = above.and_then(|above| Child::new(this, above as u32)) {
            child.released = true;
        }
        for wrong in [-5, 0, 1, libc::pid_t::MAX] {
            assert!(Child::new(wrong, 1).is_none(), "{wrong}");
        }
    }
}
