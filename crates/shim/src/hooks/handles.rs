//! Structures that cannot make a program wait forever: sets of handles without locks, and a lock
//! with a bounded wait.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A set of handles, without locks and of fixed size. If it is full, a handle is not new.
pub(crate) struct Handles<const N: usize>([AtomicUsize; N]);

impl<const N: usize> Handles<N> {
    /// The maximum distance of a handle from its ideal index.
    const MAX_DISTANCE: usize = 16;

    pub(crate) const fn new() -> Self {
        Handles([const { AtomicUsize::new(0) }; N])
    }

    /// Returns whether the handle is in the set, or the set is full.
    #[inline]
    pub(crate) fn is_known(&self, handle: usize) -> bool {
        for step in 0..Self::MAX_DISTANCE {
            let place = self.0.get(Self::place(handle, step));
            match place.map(|place| place.load(Ordering::Relaxed)) {
                Some(0) => return handle == 0,
                Some(found) if found != handle => {}
                _ => return true,
            }
        }
        true
    }

    #[inline]
    fn place(handle: usize, step: usize) -> usize {
        let hash = (handle >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) >> 24;
        hash.wrapping_add(step) % N
    }

    /// Adds the handle; whether it was not in the set before.
    #[inline]
    pub(crate) fn is_new(&self, handle: usize) -> bool {
        for step in 0..Self::MAX_DISTANCE {
            let Some(place) = self.0.get(Self::place(handle, step)) else {
                return false;
            };
            match place.load(Ordering::Relaxed) {
                found if found == handle => return false,
                0 => {
                    match place.compare_exchange(0, handle, Ordering::Relaxed, Ordering::Relaxed) {
                        Ok(_) => return true,
                        Err(found) if found == handle => return false,
                        Err(_) => {}
                    }
                }
                _ => {}
            }
        }
        false
    }
}

// A lock with a bounded wait.
//
// Nothing here may hang a program: in a forked child the thread that held the lock may not
// exist. A thread that does not get it continues without.

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
    fn a_handle_is_new_once() {
        let handles = Handles::<64>::new();
        assert!(!handles.is_known(0x1000));
        assert!(handles.is_new(0x1000));
        assert!(!handles.is_new(0x1000));
        assert!(!handles.is_new(0));
        assert!(handles.is_known(0x1000) && handles.is_known(0));
        let added = (1..200)
            .filter(|&handle| handles.is_new(handle * 64))
            .count();
        assert!((16..64).contains(&added), "{added}");
        // A handle without a free entry is not new, and therefore known.
        let known = |handle: usize| handles.is_known(handle * 64) || handles.is_new(handle * 64);
        assert!((1..200).all(known));
    }

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
