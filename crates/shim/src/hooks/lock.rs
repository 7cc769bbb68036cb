//! A lock that is only tried for a while.
//!
//! Nothing here may hang a program: in a forked child the thread that held the lock may
//! be gone. Who does not get it does without.

use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) struct Lock(AtomicBool);

/// The lock is held until this is dropped.
pub(crate) struct Held<'a>(&'a AtomicBool);

impl Lock {
    pub(crate) const fn new() -> Lock {
        Lock(AtomicBool::new(false))
    }

    pub(crate) fn take(&self) -> Option<Held<'_>> {
        for _ in 0..10_000 {
            if !self.0.swap(true, Ordering::Acquire) {
                return Some(Held(&self.0));
            }
            // SAFETY: no memory is involved.
            unsafe { libc::sched_yield() };
        }
        None
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_is_given_up_on() {
        let lock = Lock::new();
        let held = lock.take();
        assert!(held.is_some());
        assert!(lock.take().is_none());
        drop(held);
        assert!(lock.take().is_some());
    }
}
