//! The device's memory, looked at after calls that may have changed it.
//!
//! The driver is asked, which takes time: so not too often, never while a graph is
//! captured (the question might spoil it), never where the thread has no context, and by
//! one thread at a time.

use super::driver;
use super::handles::Handles;
use crate::recorder;
use crate::recorder::system::Errno;
use preheat_wire::{DeviceMemory, Kind};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// How much a look is worth.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worth {
    /// Something large and rare has happened.
    Much,
    /// Something may have happened.
    Little,
}

/// The least time between two looks that are worth little.
const SELDOM: u64 = 200_000;
/// Of the time, at most one part in so many is spent looking.
const SHARE: u64 = 50;

static LAST: AtomicU64 = AtomicU64::new(0);
/// The least that a look has taken: what took longer was interrupted.
static COST: AtomicU64 = AtomicU64::new(u64::MAX);
static LOOKING: AtomicBool = AtomicBool::new(false);
static CAPTURES: AtomicI32 = AtomicI32::new(0);

pub(crate) fn capture_began() {
    CAPTURES.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn capture_ended() {
    let less = |captures: i32| Some((captures - 1).max(0));
    let _ = CAPTURES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
}

pub(crate) fn is_capturing() -> bool {
    CAPTURES.load(Ordering::Relaxed) > 0
}

/// Looks at the memory of this thread's device, after a call of that symbol.
#[cold]
pub(crate) fn look(symbol: u16, worth: Worth) {
    if is_capturing() || !is_time(worth) || LOOKING.swap(true, Ordering::Acquire) {
        return;
    }
    let _errno = Errno::keep();
    if driver::current_context().is_some() {
        record(symbol);
    }
    LOOKING.store(false, Ordering::Release);
}

/// Looks within a context that was just made, which need not be this thread's: retaining
/// a device's primary context does not make it current. For each device once.
#[cold]
pub(crate) fn look_in(context: usize, symbol: u16) {
    static SEEN: Handles<64> = Handles::new();
    if context == 0 || is_capturing() || !SEEN.is_new(context) {
        return;
    }
    let _errno = Errno::keep();
    if driver::current_context() == Some(context) {
        look(symbol, Worth::Much);
    } else {
        driver::within(context, || look(symbol, Worth::Much));
    }
}

fn is_time(worth: Worth) -> bool {
    let last = LAST.load(Ordering::Relaxed);
    if last == 0 {
        return true;
    }
    let past = recorder::now().saturating_sub(last);
    let cost = COST.load(Ordering::Relaxed);
    match worth {
        Worth::Much => past >= cost.saturating_mul(2),
        Worth::Little => past >= SELDOM.max(cost.saturating_mul(SHARE)),
    }
}

fn record(symbol: u16) {
    let open = recorder::begin(Kind::Memory, symbol, 0, 1, &[], false);
    if !open.is_recording() {
        return;
    }
    let found = driver::memory();
    let end = recorder::now();
    LAST.store(end, Ordering::Relaxed);
    COST.fetch_min(end.saturating_sub(open.began()), Ordering::Relaxed);
    let Some(found) = found else {
        // Nothing is said of a device of no memory.
        open.end_at(end, 1, None);
        return;
    };
    let slot = DeviceMemory {
        total: found.total,
        device: found.device,
        after: u32::from(symbol),
        reserved: [0; 2],
    };
    open.put(0, &slot);
    open.end_at(end, 0, Some(found.free));
}

/// Functions that were launched.
static LAUNCHED: Handles<8192> = Handles::new();

/// Whether this function was not launched before, as far as is remembered; it is then.
#[inline]
pub(crate) fn is_first_launch(function: usize) -> bool {
    LAUNCHED.is_new(function)
}

/// Whether it was, or is more than can be remembered.
#[inline]
pub(crate) fn was_launched(function: usize) -> bool {
    LAUNCHED.is_known(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_are_counted_and_never_below_none() {
        capture_ended();
        assert!(!is_capturing());
        capture_began();
        capture_began();
        capture_ended();
        assert!(is_capturing());
        capture_ended();
        assert!(!is_capturing());
    }
}
