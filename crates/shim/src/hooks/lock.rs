//! A lock with a bounded wait.
//!
//! Nothing here may hang a program: in a forked child the thread that held the lock may not
//! exist. A thread that does not get it continues without.

use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) struct Lock(AtomicBool);

/// Releases the lock when dropped.
pub(crate) struct Guard<'a>(&'a AtomicBool);

impl Lock {
    pub(crate) const fn new() -> Lock {
        Lock(AtomicBool::new(false))
    }

    pub(crate) fn try_lock(&self) -> Option<Guard<'_>> {
        for _ in 0..10_000 {
            if !self.0.swap(true, Ordering::Acquire) {
                return Some(Guard(&self.0));
            }
            // SAFETY: no memory is involved.
            unsafe { libc::sched_yield() };
        }
        None
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_held_lock_ends() {
        let lock = Lock::new();
        let held = lock.try_lock();
        assert!(held.is_some());
        assert!(lock.try_lock().is_none());
        drop(held);
        assert!(lock.try_lock().is_some());
    }
}
