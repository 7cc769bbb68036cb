//! While the program runs: this process stands for it. Signals that are meant for the
//! program reach it, its stops are ours, and we end as it ends.
//!
//! Who shares a group with the program (there is a terminal) leaves to it what the
//! terminal sends. What somebody sends to us alone is passed on.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use preheat_launch::sender;

use super::socket::Connection;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Its supervisor was killed: nobody knows.
    Unknown,
}

/// A child that is to become the program, or has. One that is not told to go has done
/// nothing, and goes with what it was sent: nobody is to wait for that to be closed.
pub(crate) struct Child {
    process: libc::pid_t,
    supervisor: libc::pid_t,
    /// Tells of its end, even if nobody else can.
    handle: Option<OwnedFd>,
    goes: bool,
}

impl Child {
    /// It has said that it is this process; if it is the child of a child of the parent,
    /// as it must be to be sent signals.
    pub(crate) fn new(process: libc::pid_t, parent: u32) -> Option<Child> {
        if process < 2 {
            return None;
        }
        let supervisor = parent_of(process)?;
        if parent_of(supervisor)? != parent as libc::pid_t {
            return None;
        }
        // SAFETY: pidfd_open takes numbers and gives a new descriptor, which is owned at
        // once.
        let handle = unsafe {
            let handle = libc::syscall(libc::SYS_pidfd_open, process, 0) as RawFd;
            (handle >= 0).then(|| OwnedFd::from_raw_fd(handle))
        };
        Some(Child {
            process,
            supervisor,
            handle,
            goes: false,
        })
    }

    /// The process that stays behind it.
    pub(crate) fn supervisor(&self) -> u32 {
        self.supervisor.unsigned_abs()
    }

    /// Leaves it alone, though it was not told to go: it was only looked up.
    pub(crate) fn spare(&mut self) {
        self.goes = true;
    }

    /// Its number.
    pub(crate) fn process(&self) -> u32 {
        self.process.unsigned_abs()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let (false, Some(handle)) = (self.goes, &self.handle) {
            let (none, kill) = (std::ptr::null::<libc::siginfo_t>(), libc::SIGKILL);
            // SAFETY: the descriptor is that of the process; the rest are numbers, and
            // there is no information.
            unsafe {
                libc::syscall(
                    libc::SYS_pidfd_send_signal,
                    handle.as_raw_fd(),
                    kill,
                    none,
                    0,
                )
            };
        }
    }
}

/// The program that runs, before it is told to.
pub(crate) struct Program {
    connection: Connection,
    child: Child,
    signals: OwnedFd,
    /// Whether the program is in our group: what is sent to the group reaches it as well.
    shares_group: bool,
    /// What this process held back before.
    mask: libc::sigset_t,
}

impl Program {
    /// It is ready. From now on signals are held.
    pub(crate) fn ready(
        connection: Connection,
        child: Child,
        shares_group: bool,
    ) -> io::Result<Program> {
        // SAFETY: the set functions write the set, and signalfd reads it; its new
        // descriptor is owned at once.
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
            Ok(Program {
                mask,
                connection,
                child,
                signals,
                shares_group,
            })
        }
    }

    /// Tell it to go. It goes, unless this is an error, after which signals are not held
    /// any more.
    pub(crate) fn go(&mut self) -> io::Result<()> {
        let sent = self.connection.send(b"g", &[]);
        self.child.goes = sent.is_ok();
        if sent.is_err() {
            // SAFETY: the mask is one that the kernel gave.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.mask, std::ptr::null_mut()) };
        }
        sent
    }

    /// Until its end. What this process has open goes first: nobody is to wait for us
    /// where the program has closed something.
    pub(crate) fn follow(mut self, descriptors: &[RawFd]) -> End {
        leave(descriptors);
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
            let connection = self.connection.as_fd().as_raw_fd();
            wait(&[connection, self.signals.as_raw_fd()]);
            self.pass_signals();
            if self.connection.fill().is_err() {
                return self.outlive();
            }
        }
    }

    /// The supervisor is gone, and with it all news: the program may still run.
    fn outlive(&self) -> End {
        while let Some(handle) = &self.child.handle {
            let ready = wait(&[handle.as_raw_fd(), self.signals.as_raw_fd()]);
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
            // SAFETY: read writes at most as many bytes as the struct has, and signalfd
            // gives whole ones.
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
            // Nothing else than what is sent to us has reached the program.
            _ if !self.shares_group => true,
            _ if info.ssi_code > 0 => !is_of_terminals(signal),
            _ if sender::is_from_command(sender, self.child.process) => false,
            libc::SIGUSR1 | libc::SIGUSR2 => true,
            _ => !sender::is_repeated(signal, sender),
        };
        if pass {
            // SAFETY: kill takes numbers only. The process is the program or, between its
            // end and our learning of it, nobody: its supervisor has not waited long.
            unsafe { libc::kill(self.child.process, signal) };
        }
    }

    /// The program was stopped: stop as well, so that whoever waits for it sees that.
    fn stop(&self, signal: i32) {
        if is_stopped(self.child.process) {
            let held = set_default_and_unblock(signal);
            // SAFETY: raise takes a number; the mask is one that the kernel gave.
            unsafe {
                libc::raise(signal);
                libc::pthread_sigmask(libc::SIG_SETMASK, &held, std::ptr::null_mut());
            }
        }
    }
}

/// End as the program did, by the same signal; without a core file, which would be one of
/// this process.
pub(crate) fn die(signal: i32) {
    // SAFETY: all of these take numbers, or a struct that is there.
    unsafe {
        let none = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        set_default_and_unblock(signal);
        libc::raise(signal);
    }
}

/// Have a signal do what it does to a process that does not care; the mask before that.
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

/// Close them all; the standard streams become /dev/null.
fn leave(descriptors: &[RawFd]) {
    // SAFETY: the path ends with a NUL. The descriptors are those that this process was
    // started with: nothing in it has or wants any of them from here on, but the standard
    // streams, which stay valid.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        for &fd in descriptors {
            if fd > 2 {
                libc::close(fd);
            } else if null >= 0 {
                libc::dup2(null, fd);
            }
        }
    }
}

/// Until one of them can be read or has ended; which.
fn wait(descriptors: &[RawFd]) -> Vec<bool> {
    let mut polls: Vec<libc::pollfd> = descriptors
        .iter()
        .map(|&fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    // SAFETY: poll reads and writes as many structs as there are.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, -1) };
    polls.iter().map(|poll| poll.revents != 0).collect()
}

/// Whether the kernel sends this to all in a group, because of their terminal.
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

/// Whether a process is stopped.
pub(crate) fn is_stopped(process: libc::pid_t) -> bool {
    matches!(stat(process).first(), Some(b'T' | b't'))
}

/// The process that has made it, or has taken its place.
fn parent_of(process: libc::pid_t) -> Option<libc::pid_t> {
    let stat = String::from_utf8(stat(process)).ok()?;
    stat.split(' ').nth(1)?.parse().ok()
}

/// What the kernel says of a process, beginning with its state.
fn stat(process: libc::pid_t) -> Vec<u8> {
    let mut stat = std::fs::read(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name before that, in brackets, may have any bytes in it.
    let end = stat.iter().rposition(|&byte| byte == b')').unwrap_or(0);
    stat.drain(..(end + 2).min(stat.len()));
    stat
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_child_of_a_child_is_believed() {
        let this = std::process::id() as libc::pid_t;
        let parent = parent_of(this).expect("it has one");
        assert!(!is_stopped(this));
        assert!(Child::new(this, this as u32).is_none());
        let above = parent_of(parent).filter(|&above| above > 0);
        // One that is dropped before it goes is ended: this one is not to be.
        if let Some(mut child) = above.and_then(|above| Child::new(this, above as u32)) {
            child.goes = true;
        }
        for wrong in [-5, 0, 1, libc::pid_t::MAX] {
            assert!(Child::new(wrong, 1).is_none(), "{wrong}");
        }
    }
}
