//! Ctrl-C: the run ends after what was measured so far.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The signals that ask a run to end: Ctrl-C, a polite kill, a terminal that is gone.
const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// From now on the first of these signals asks the run to end; a second one ends the
/// program at once.
pub fn install() {
    for signal in SIGNALS {
        // SAFETY: a zeroed sigaction is a valid value; the handler calls nothing but
        // what is async-signal-safe. Without SA_RESTART a wait is woken.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

extern "C" fn note(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
    for signal in SIGNALS {
        // SAFETY: signal() is async-signal-safe, and the default action is a valid one.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Whether the run was asked to end.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
