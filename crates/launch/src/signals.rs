//! Signal handling while a command runs: the command gets the signals, and preheat still
//! reports.
//!
//! The command shares preheat's process group and terminal, so signals from a terminal
//! (Ctrl-C, Ctrl-\, Ctrl-Z, a hang-up) reach it directly. Signals from a process are
//! forwarded, unless the command sent them. preheat uses handlers instead of ignoring
//! signals, because `exec` resets them: the command starts with exactly the dispositions
//! that it would have had. signal-hook is not used: forwarding depends on who sent a signal.
//! rustix leaves handlers, actions and masks to the C library.

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use preheat_host::interrupt;

use crate::inherited;

pub mod sender;

/// The process that installed the handlers; in any other, the handler runs in a child
/// before its `exec`.
static OWNER: AtomicI32 = AtomicI32::new(0);
/// The command's process; 0 if none is running.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// Our end of the terminal of the command's output; −1 if there is none.
static TERMINAL: AtomicI32 = AtomicI32::new(-1);
/// Signal handlers are per process: one series of starts at a time.
static ONE: Mutex<()> = Mutex::new(());

const HANDLED: [libc::c_int; 9] = [
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGWINCH,
];

/// Forwards signals while it exists; dropping it restores the previous handlers.
pub(crate) struct Signals {
    before: Vec<(libc::c_int, libc::sigaction)>,
    mask: libc::sigset_t,
    children_ignored: bool,
    _one: MutexGuard<'static, ()>,
}

impl Signals {
    /// Installs the handlers.
    pub(crate) fn install() -> Signals {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        OWNER.store(std::process::id() as i32, Ordering::Relaxed);
        interrupt::clear();
        let mut before = Vec::new();
        for signal in HANDLED {
            let old = action(signal, None);
            // Signals that preheat was started to ignore (`nohup`) are also ignored by the
            // command.
            if old.sa_sigaction != libc::SIG_IGN {
                // SAFETY: a zeroed sigaction is a valid value.
                let mut new: libc::sigaction = unsafe { std::mem::zeroed() };
                new.sa_sigaction = handle as Handler as usize;
                new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                action(signal, Some(&new));
                before.push((signal, old));
            }
        }
        // If this were inherited as ignored, the command could not be waited for.
        let old = action(libc::SIGCHLD, None);
        let children_ignored = old.sa_sigaction == libc::SIG_IGN;
        if children_ignored {
            set(libc::SIGCHLD, libc::SIG_DFL);
            before.push((libc::SIGCHLD, old));
        }
        Signals {
            before,
            mask: set_mask(libc::SIG_BLOCK, None),
            children_ignored,
            _one: one,
        }
    }

    /// In the child, just before `exec`: restores the state that it would have inherited
    /// without preheat and the standard library.
    pub(crate) fn inherit(&self) -> impl Fn() -> io::Result<()> + Send + Sync + 'static {
        let (mask, children_ignored) = (self.mask, self.children_ignored);
        move || {
            if children_ignored {
                set(libc::SIGCHLD, libc::SIG_IGN);
            }
            if inherited::ignores_broken_pipes() {
                set(libc::SIGPIPE, libc::SIG_IGN);
            }
            set_mask(libc::SIG_SETMASK, Some(&mask));
            Ok(())
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, old) in &self.before {
            action(*signal, Some(old));
        }
    }
}

/// While this exists, this thread and the threads that it starts receive no signals.
pub(crate) struct Blocked(libc::sigset_t);

impl Blocked {
    /// Blocks all signals.
    pub(crate) fn new() -> Blocked {
        // SAFETY: a zeroed sigset_t is a valid value, and sigfillset writes one.
        let all = unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut all);
            all
        };
        Blocked(set_mask(libc::SIG_BLOCK, Some(&all)))
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        set_mask(libc::SIG_SETMASK, Some(&self.0));
    }
}

/// Forwards signals to this process, and terminal sizes to this terminal.
pub(crate) fn pass_to(child: u32, terminal: Option<i32>) {
    TERMINAL.store(terminal.unwrap_or(-1), Ordering::Relaxed);
    CHILD.store(child as i32, Ordering::Relaxed);
}

/// Stops forwarding: the process has ended and is about to be waited for, so its pid may be
/// reused.
pub(crate) fn pass_to_nobody() {
    CHILD.store(0, Ordering::Relaxed);
    TERMINAL.store(-1, Ordering::Relaxed);
}

/// Our end of the terminal is about to be closed.
pub(crate) fn forget_terminal() {
    TERMINAL.store(-1, Ordering::Relaxed);
}

/// Stops preheat after the command was stopped by this signal, so that a shell sees its job
/// stopped. When preheat is continued, the handler continues the command.
pub(crate) fn stop_too(child: u32, signal: libc::c_int) {
    if !is_stopped(child) {
        return; // Continued in the meantime.
    }
    match signal {
        libc::SIGTSTP => {
            let ours = action(signal, None);
            set(signal, libc::SIG_DFL);
            raise(signal);
            action(signal, Some(&ours));
        }
        libc::SIGTTIN | libc::SIGTTOU => raise(signal),
        // A process sent it. A shell that waits at this terminal must notice; elsewhere
        // preheat might never be continued.
        _ if in_foreground() => raise(signal),
        _ => {}
    }
}

fn is_stopped(child: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().unwrap_or_default();
    state.starts_with('T')
}

fn in_foreground() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else {
        return false;
    };
    let fd = std::os::fd::AsRawFd::as_raw_fd(&terminal);
    // Not by rustix, in which a process ID is never 0: it is 0 for groups of another namespace.
    // SAFETY: both get only numbers; the descriptor is open.
    unsafe { libc::tcgetpgrp(fd) == libc::getpgrp() }
}

type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: everything called here is async-signal-safe. The kernel passes a valid
    // siginfo to a handler that requested it. errno is thread-local and is restored.
    unsafe {
        let errno = *libc::__errno_location();
        if libc::getpid() != OWNER.load(Ordering::Relaxed) {
            // A child that has not yet become the command: the signal is for the command.
            set(signal, libc::SIG_DFL);
            libc::raise(signal);
            return;
        }
        if matches!(
            signal,
            libc::SIGINT | libc::SIGQUIT | libc::SIGTERM | libc::SIGHUP
        ) {
            interrupt::request();
        }
        let child = CHILD.load(Ordering::Relaxed);
        let terminal = TERMINAL.load(Ordering::Relaxed);
        if signal == libc::SIGWINCH && terminal >= 0 {
            let mut size: libc::winsize = std::mem::zeroed();
            if libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &mut size) == 0 {
                libc::ioctl(terminal, libc::TIOCSWINSZ, &size);
            }
        }
        let sender = (*info).si_pid();
        let by_kernel = (*info).si_code > 0;
        let pass = match signal {
            // The command may have queried the size before it was set.
            libc::SIGWINCH => terminal >= 0,
            libc::SIGCONT => true,
            _ if by_kernel || sender::is_from_command(sender, child) => false,
            // These are counted, so each is forwarded.
            libc::SIGUSR1 | libc::SIGUSR2 => true,
            _ => !sender::is_repeated(signal, sender),
        };
        if pass && child > 0 {
            libc::kill(child, signal);
        }
        *libc::__errno_location() = errno;
    }
}

fn raise(signal: libc::c_int) {
    // SAFETY: raise gets only a number; the action is the default one or our handler.
    unsafe { libc::raise(signal) };
}

/// Sets a disposition; async-signal-safe.
fn set(signal: libc::c_int, disposition: libc::sighandler_t) {
    // SAFETY: a zeroed sigaction is a valid value.
    let mut new: libc::sigaction = unsafe { std::mem::zeroed() };
    new.sa_sigaction = disposition;
    action(signal, Some(&new));
}

/// Sets an action, if given, and returns the previous one; async-signal-safe.
fn action(signal: libc::c_int, new: Option<&libc::sigaction>) -> libc::sigaction {
    let new = new.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: a zeroed sigaction is a valid value; sigaction reads one or none and writes
    // one. All handlers set here are ours or were set before.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, new, &mut old);
        old
    }
}

/// Changes the mask of this thread and returns the previous one; async-signal-safe.
fn set_mask(how: libc::c_int, new: Option<&libc::sigset_t>) -> libc::sigset_t {
    let new = new.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: a zeroed sigset_t is a valid value; pthread_sigmask reads one or none and
    // writes one.
    unsafe {
        let mut old: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(how, new, &mut old);
        old
    }
}
