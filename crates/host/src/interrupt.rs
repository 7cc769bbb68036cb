//! Ctrl-C ends a run and keeps the results so far.
//!
//! `preheat lab` installs the handlers here. The recorder of commands has its own, because it
//! forwards signals to the command; it sets the same flag.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The signals that end a run: Ctrl-C, SIGTERM, and a closed terminal.
const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// From now on, the first of these signals requests the run to end; a second one ends the
/// program immediately. Signals that were ignored when the program started (`nohup`) stay
/// ignored.
pub fn install() {
    for signal in SIGNALS {
        // SAFETY: a zeroed sigaction is a valid value, and sigaction reads and writes one;
        // the handler calls only async-signal-safe functions. Without SA_RESTART, a signal
        // interrupts waiting system calls.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut before);
            if before.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
    // SAFETY: the default action is valid. If SIGCHLD were inherited as ignored, no child
    // could be waited for.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

extern "C" fn handle(_signal: libc::c_int) {
    request();
    for signal in SIGNALS {
        // SAFETY: a zeroed sigaction is a valid value and means the default action;
        // sigaction is async-signal-safe. Only our own handler is removed.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut now);
            if now.sa_sigaction == handle as extern "C" fn(libc::c_int) as usize {
                let default: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, &default, std::ptr::null_mut());
            }
        }
    }
}

/// Notes that the run was requested to end. Async-signal-safe.
pub fn request() {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Forgets earlier requests.
pub fn clear() {
    INTERRUPTED.store(false, Ordering::Relaxed);
}

/// Returns true if the run was requested to end.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
