//! Ctrl-C: the run ends after what was measured so far.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The signals that ask a run to end: Ctrl-C, a polite kill, a terminal that is gone.
const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// From now on the first of these signals asks the run to end; a second one ends the
/// program at once. A signal that the program was started to ignore (`nohup`) is
/// ignored still.
pub fn install() {
    for signal in SIGNALS {
        // SAFETY: a zeroed sigaction is a valid value, and sigaction writes and reads
        // one; the handler calls nothing but what is async-signal-safe. Without
        // SA_RESTART a wait is woken.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut before);
            if before.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
    // SAFETY: the default action is a valid one. Inherited as ignored, it would keep
    // every child from being waited for.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

extern "C" fn note(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
    for signal in SIGNALS {
        // SAFETY: a zeroed sigaction is a valid value and means the default action;
        // sigaction is async-signal-safe. Only our own handler is taken back.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut now);
            if now.sa_sigaction == note as extern "C" fn(libc::c_int) as usize {
                let default: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, &default, std::ptr::null_mut());
            }
        }
    }
}

/// Whether the run was asked to end.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
