//! Signals while a command runs: they are the command's, and preheat still reports.
//!
//! The command shares preheat's process group and terminal, so what a terminal sends
//! (Ctrl-C, Ctrl-\, Ctrl-Z, a hang-up) reaches it without help. What a process sends is
//! passed on, unless the command has sent it itself. Handlers are used rather than ignoring, because `exec` resets
//! them: the command begins with exactly what it would have begun with.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::inherited;

pub mod sender;

/// The process whose handlers these are; another one is a child before its `exec`.
static OWNER: AtomicI32 = AtomicI32::new(0);
/// The command's process; 0 while none runs.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// Our side of the terminal that the command's output goes to; −1 if there is none.
static TERMINAL: AtomicI32 = AtomicI32::new(-1);
/// Whether somebody asked for an end.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Signals are a process's: one series of starts at a time.
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

/// While this lives, signals are passed on; then all is as it was before.
pub(crate) struct Signals {
    before: Vec<(libc::c_int, libc::sigaction)>,
    mask: libc::sigset_t,
    children_ignored: bool,
    _one: MutexGuard<'static, ()>,
}

impl Signals {
    /// Take them.
    pub(crate) fn take() -> Signals {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        OWNER.store(std::process::id() as i32, Ordering::Relaxed);
        INTERRUPTED.store(false, Ordering::Relaxed);
        let mut before = Vec::new();
        for signal in HANDLED {
            let old = action(signal, None);
            // What preheat was started to ignore (`nohup`), the command ignores too.
            if old.sa_sigaction != libc::SIG_IGN {
                // SAFETY: a zeroed sigaction is a valid value.
                let mut new: libc::sigaction = unsafe { std::mem::zeroed() };
                new.sa_sigaction = handle as Handler as usize;
                new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                action(signal, Some(&new));
                before.push((signal, old));
            }
        }
        // Inherited as ignored, it would keep the command from being waited for.
        let old = action(libc::SIGCHLD, None);
        let children_ignored = old.sa_sigaction == libc::SIG_IGN;
        if children_ignored {
            set(libc::SIGCHLD, libc::SIG_DFL);
            before.push((libc::SIGCHLD, old));
        }
        Signals {
            before,
            mask: blocked(libc::SIG_BLOCK, None),
            children_ignored,
            _one: one,
        }
    }

    /// In the child, just before `exec`: what it would have inherited without preheat
    /// and the standard library between.
    pub(crate) fn inherit(&self) -> impl Fn() -> io::Result<()> + Send + Sync + 'static {
        let (mask, children_ignored) = (self.mask, self.children_ignored);
        move || {
            if children_ignored {
                set(libc::SIGCHLD, libc::SIG_IGN);
            }
            if inherited::ignores_broken_pipes() {
                set(libc::SIGPIPE, libc::SIG_IGN);
            }
            blocked(libc::SIG_SETMASK, Some(&mask));
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

/// While this lives, this thread and the threads that it starts get no signals.
pub(crate) struct Held(libc::sigset_t);

impl Held {
    /// Hold them back.
    pub(crate) fn new() -> Held {
        // SAFETY: a zeroed sigset_t is a valid value, and sigfillset writes one.
        let all = unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut all);
            all
        };
        Held(blocked(libc::SIG_BLOCK, Some(&all)))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        blocked(libc::SIG_SETMASK, Some(&self.0));
    }
}

/// From now on signals go to this process, and sizes to this terminal.
pub(crate) fn pass_to(child: u32, terminal: Option<i32>) {
    TERMINAL.store(terminal.unwrap_or(-1), Ordering::Relaxed);
    CHILD.store(child as i32, Ordering::Relaxed);
}

/// The process has ended and is about to be waited for: its number may be another's soon.
pub(crate) fn pass_to_nobody() {
    CHILD.store(0, Ordering::Relaxed);
    TERMINAL.store(-1, Ordering::Relaxed);
}

/// Our side of the terminal is about to be closed.
pub(crate) fn forget_terminal() {
    TERMINAL.store(-1, Ordering::Relaxed);
}

/// Whether somebody asked for an end since the signals were taken.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// The command was stopped by this signal: stop as well, so that a shell sees its job
/// stopped. Continued again, the handler continues the command.
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
        // Somebody's own doing. Where a shell waits at this terminal it must see it;
        // elsewhere nobody might ever continue us.
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
    // SAFETY: both take numbers only; the descriptor is open.
    unsafe { libc::tcgetpgrp(fd) == libc::getpgrp() }
}

type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: everything called here is async-signal-safe. The kernel gives a valid
    // siginfo to a handler that asked for it. errno is this thread's own and is left as
    // it was.
    unsafe {
        let errno = *libc::__errno_location();
        if libc::getpid() != OWNER.load(Ordering::Relaxed) {
            // A child that has not yet become the command: it is the command's signal.
            set(signal, libc::SIG_DFL);
            libc::raise(signal);
            return;
        }
        if matches!(
            signal,
            libc::SIGINT | libc::SIGQUIT | libc::SIGTERM | libc::SIGHUP
        ) {
            INTERRUPTED.store(true, Ordering::Relaxed);
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
            // The command asked for the size when it may not have been set yet.
            libc::SIGWINCH => terminal >= 0,
            libc::SIGCONT => true,
            _ if by_kernel || sender::is_from_command(sender, child) => false,
            // These are counted, and two of them are two.
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
    // SAFETY: raise takes a number only.
    unsafe { libc::raise(signal) };
}

/// Set a disposition; async-signal-safe.
fn set(signal: libc::c_int, disposition: libc::sighandler_t) {
    // SAFETY: a zeroed sigaction is a valid value.
    let mut new: libc::sigaction = unsafe { std::mem::zeroed() };
    new.sa_sigaction = disposition;
    action(signal, Some(&new));
}

/// Set an action, if one is given, and say which there was; async-signal-safe.
fn action(signal: libc::c_int, new: Option<&libc::sigaction>) -> libc::sigaction {
    let new = new.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: a zeroed sigaction is a valid value; sigaction reads one or none and
    // writes one. All handlers that are ever set here are ours or were set before.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, new, &mut old);
        old
    }
}

/// Change this thread's mask, and say what it was; async-signal-safe.
fn blocked(how: libc::c_int, new: Option<&libc::sigset_t>) -> libc::sigset_t {
    let new = new.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: a zeroed sigset_t is a valid value; pthread_sigmask reads one or none and
    // writes one.
    unsafe {
        let mut old: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(how, new, &mut old);
        old
    }
}
