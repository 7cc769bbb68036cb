//! The inherited state that the standard library changes before `main`: it ignores SIGPIPE,
//! and opens /dev/null for closed standard streams. The command gets back the original
//! state.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

static IGNORES_BROKEN_PIPES: AtomicBool = AtomicBool::new(false);
/// A bit for each of the three standard streams.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// The loader calls this before the standard library starts.
#[used]
#[unsafe(link_section = ".init_array")]
static CAPTURE: extern "C" fn() = capture;

extern "C" fn capture() {
    // SAFETY: a zeroed sigaction is a valid value, and sigaction writes one; fcntl gets
    // only numbers.
    unsafe {
        let mut pipes: libc::sigaction = std::mem::zeroed();
        let known = libc::sigaction(libc::SIGPIPE, std::ptr::null(), &mut pipes) == 0;
        let ignored = known && pipes.sa_sigaction == libc::SIG_IGN;
        IGNORES_BROKEN_PIPES.store(ignored, Ordering::Relaxed);
        for stream in 0..3 {
            if libc::fcntl(stream, libc::F_GETFD) < 0 {
                CLOSED.fetch_or(1 << stream, Ordering::Relaxed);
            }
        }
    }
}

/// Returns whether this process was started with SIGPIPE ignored.
pub fn ignores_broken_pipes() -> bool {
    IGNORES_BROKEN_PIPES.load(Ordering::Relaxed)
}

/// Returns whether this process was started without this standard stream.
pub fn is_closed(stream: libc::c_int) -> bool {
    CLOSED.load(Ordering::Relaxed) & (1 << stream) != 0
}

/// In the child, before `exec`: closes the standard streams that were closed before, except
/// for those that it was `given`.
pub(crate) fn close_again(given: [bool; 3]) -> impl Fn() -> io::Result<()> + Send + Sync + 'static {
    move || {
        for (stream, given) in (0..).zip(given) {
            if is_closed(stream) && !given {
                // SAFETY: close gets only a number. Nothing else in this child uses it: it
                // replaces a stream that was closed.
                unsafe { libc::close(stream) };
            }
        }
        Ok(())
    }
}
