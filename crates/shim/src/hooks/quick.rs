//! Detects functions that are always quick, so that their calls need not be recorded.
//!
//! cuDNN finalizes hundreds of descriptors in every iteration of a convolutional network,
//! each in less time than its record takes. The few slow calls happen together with
//! something new. So all calls are recorded until a long row of them was quick, and only a
//! sample from then on, to detect if that changes.

use std::sync::atomic::{AtomicU32, Ordering};

/// A call of less than this many nanoseconds is quick.
const QUICK_BELOW_NS: u64 = 10_000;
/// After this many quick calls in a row the function counts as always quick.
const MIN_QUICK_CALLS: u32 = 1024;
/// Then one in this many is recorded.
const ONE_IN: u32 = 16;

/// The number of consecutive quick calls of a function. Concurrent updates may be lost,
/// which does no harm.
pub(crate) struct Quick(AtomicU32);

impl Quick {
    pub(crate) const fn new() -> Quick {
        Quick(AtomicU32::new(0))
    }

    /// Returns whether the next call is worth a record.
    #[inline]
    pub(crate) fn is_worth_it(&self) -> bool {
        let count = self.0.load(Ordering::Relaxed);
        if count < MIN_QUICK_CALLS {
            return true;
        }
        let next = count + 1;
        let worth = next >= MIN_QUICK_CALLS + ONE_IN;
        self.0.store(
            if worth { MIN_QUICK_CALLS } else { next },
            Ordering::Relaxed,
        );
        worth
    }

    /// Updates the count with the duration of a recorded call.
    #[inline]
    pub(crate) fn took(&self, nanoseconds: u64) {
        let count = self.0.load(Ordering::Relaxed);
        if nanoseconds >= QUICK_BELOW_NS {
            self.0.store(0, Ordering::Relaxed);
        } else if count < MIN_QUICK_CALLS {
            self.0.store(count + 1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_calls_are_recorded_until_many_were_quick() {
        let quick = Quick::new();
        for _ in 0..2 * MIN_QUICK_CALLS {
            assert!(quick.is_worth_it());
            quick.took(QUICK_BELOW_NS);
        }
        for _ in 0..MIN_QUICK_CALLS {
            assert!(quick.is_worth_it());
            quick.took(QUICK_BELOW_NS - 1);
        }
        let recorded = (0..10 * ONE_IN).filter(|_| {
            let worth = quick.is_worth_it();
            if worth {
                quick.took(0);
            }
            worth
        });
        assert_eq!(recorded.count(), 10);
        // A slow call that is recorded restores recording of all.
        while !quick.is_worth_it() {}
        quick.took(QUICK_BELOW_NS);
        assert!((0..MIN_QUICK_CALLS).all(|_| quick.is_worth_it()));
    }
}
