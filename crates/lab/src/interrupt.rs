//! Ctrl-C: the run ends after what was measured so far.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on the first SIGINT or SIGTERM asks the run to end; a second one ends
/// the program at once.
pub fn install() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: a zeroed sigaction is a valid value; the handler only stores to
        // an atomic, which is async-signal-safe. SA_RESETHAND restores the default
        // action after the first signal. Without SA_RESTART a wait is woken.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_RESETHAND;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

extern "C" fn note(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Whether the run was asked to end.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
