//! CUDA events that a native program records to time itself, and the times between them.
//!
//! A program mostly records an event through the CUDA runtime, which is a library or part
//! of the executable. The recorder keeps every return address of the executable that lies
//! on the stack: the one that has a source line is the program's own. Python programs have
//! their own hooks ([`crate::python`]).

use super::words::Words;
use crate::callers::{Caller, on_stack};
use crate::clocks;
use crate::recorder::system::Errno;

/// Addresses that are kept of a call.
const MOST: usize = 6;

/// An event was recorded.
#[cold]
pub(super) fn recorded(words: Words) {
    if !clocks::has_own_code() || !clocks::may_record() {
        return;
    }
    let _errno = Errno::keep();
    let mut callers = [Caller::default(); MOST];
    let count = on_stack(words.stack(), &mut callers);
    let callers = callers.get(..count).unwrap_or_default();
    if !callers.is_empty() {
        clocks::keep_event(callers, words.get(0) as u64);
    }
}

/// The program has asked for the time between two events.
#[cold]
pub(super) fn elapsed(words: Words) {
    if !clocks::has_own_code() || !clocks::may_record() {
        return;
    }
    if let Some(milliseconds) = words.out::<f32>(0) {
        let nanoseconds = (f64::from(milliseconds) * 1e6) as u64;
        clocks::keep_elapsed(words.get(1) as u64, words.get(2) as u64, nanoseconds, 0);
    }
}
