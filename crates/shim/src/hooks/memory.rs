//! Samples the device memory after calls that may have changed it.
//!
//! Querying the driver takes time: so not too often, never during the capture of a graph
//! (which it might invalidate), never on a thread without a context, and on one thread at a
//! time.

use super::driver;
use super::handles::Handles;
use crate::recorder;
use crate::recorder::system::Errno;
use preheat_wire::{DeviceMemory, Kind};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// The priority of a sample.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    /// After something large and rare.
    High,
    /// After something that may have changed it.
    Low,
}

/// The minimum time between two samples of low priority.
const INTERVAL: u64 = 200_000;
/// At most one part in this many of the time is spent on sampling.
const SHARE: u64 = 50;

static LAST: AtomicU64 = AtomicU64::new(0);
/// The minimum cost of a sample: longer ones were interrupted.
static COST: AtomicU64 = AtomicU64::new(u64::MAX);
static SAMPLING: AtomicBool = AtomicBool::new(false);
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

/// Samples the memory of this thread's device, after a call of this symbol.
#[cold]
pub(crate) fn sample(symbol: u16, priority: Priority) {
    if is_capturing() || !is_time(priority) || SAMPLING.swap(true, Ordering::Acquire) {
        return;
    }
    let _errno = Errno::keep();
    if driver::current_context().is_some() {
        record(symbol);
    }
    SAMPLING.store(false, Ordering::Release);
}

/// Samples in a context that was just created, which may not be that of this thread:
/// retaining the primary context of a device does not make it current. Once per device.
#[cold]
pub(crate) fn sample_in(context: usize, symbol: u16) {
    static SEEN: Handles<64> = Handles::new();
    if context == 0 || is_capturing() || !SEEN.is_new(context) {
        return;
    }
    let _errno = Errno::keep();
    if driver::current_context() == Some(context) {
        sample(symbol, Priority::High);
    } else {
        driver::within(context, || sample(symbol, Priority::High));
    }
}

fn is_time(priority: Priority) -> bool {
    let last = LAST.load(Ordering::Relaxed);
    if last == 0 {
        return true;
    }
    let past = recorder::now().saturating_sub(last);
    let cost = COST.load(Ordering::Relaxed);
    match priority {
        Priority::High => past >= cost.saturating_mul(2),
        Priority::Low => past >= INTERVAL.max(cost.saturating_mul(SHARE)),
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
        // A device without memory information is not reported.
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

/// Adds a launched function; whether it was not launched before.
#[inline]
pub(crate) fn is_first_launch(function: usize) -> bool {
    LAUNCHED.is_new(function)
}

/// Returns whether it was launched, or the set is full.
#[inline]
pub(crate) fn was_launched(function: usize) -> bool {
    LAUNCHED.is_known(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_captures_is_never_negative() {
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
