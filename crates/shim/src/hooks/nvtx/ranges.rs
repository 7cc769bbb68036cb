//! Open ranges: those pushed on each thread, and those started, which another thread may
//! end.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use preheat_wire::Kind;

use super::number;
use crate::hooks::handles::Lock;
use crate::recorder::{self, Open};

/// The maximum number of open ranges per thread, and of started ones. Further ones are not
/// recorded.
const MAX_OPEN: usize = 64;
const STARTED: usize = 256;

/// A range that has begun.
#[derive(Clone, Copy)]
struct Range {
    open: Open,
    domain: *const c_void,
}

impl Range {
    /// `outermost` means that it is not inside another range of the default domain.
    fn begin(domain: *const c_void, name: u32, outermost: bool) -> Range {
        let open = recorder::begin(Kind::Range, 0, u64::from(name), 0, &[], false);
        // Libraries use separate domains.
        recorder::detail::range_began(name, outermost && domain.is_null(), open.began());
        Range { open, domain }
    }

    fn end(self) {
        let time = recorder::now();
        self.open.end_at(time, number(self.domain) as i32, None);
    }
}

/// Records a mark.
pub(super) fn mark(domain: *const c_void, name: u32) {
    let domain = number(domain) as i32;
    recorder::instant(Kind::Range, 0, domain, u64::from(name), None, &[]);
}

struct Stack {
    ranges: [Option<Range>; MAX_OPEN],
    depth: usize,
    /// The number of pushed ranges without a free entry.
    beyond: usize,
}

impl Stack {
    const EMPTY: Stack = Stack {
        ranges: [None; MAX_OPEN],
        depth: 0,
        beyond: 0,
    };

    /// Returns whether one of them is in the default domain.
    fn has_own(&self) -> bool {
        let open = self.ranges.get(..self.depth).unwrap_or_default();
        open.iter().flatten().any(|range| range.domain.is_null())
    }

    fn push(&mut self, range: impl FnOnce() -> Range) {
        match self.ranges.get_mut(self.depth) {
            Some(place) => {
                *place = Some(range());
                self.depth += 1;
            }
            None => self.beyond += 1,
        }
    }

    /// Removes the last range of a domain: each domain has a separate stack.
    fn pop(&mut self, domain: *const c_void) -> Option<Range> {
        if self.beyond > 0 {
            self.beyond -= 1;
            return None;
        }
        let open = self.ranges.get_mut(..self.depth)?;
        let at = open
            .iter()
            .rposition(|range| range.is_some_and(|range| range.domain == domain))?;
        let later = open.get_mut(at..)?;
        later.rotate_left(1);
        self.depth -= 1;
        later.last_mut()?.take()
    }
}

thread_local! {
    static STACK: UnsafeCell<Stack> = const { UnsafeCell::new(Stack::EMPTY) };
}

fn with_stack<R>(work: impl FnOnce(&mut Stack) -> R) -> R {
    // SAFETY: this thread's own stack, and nothing done with it calls back. The only other
    // user would be a signal handler that pushes ranges, which NVTX forbids.
    STACK.with(|stack| work(unsafe { &mut *stack.get() }))
}

pub(super) fn push(domain: *const c_void, name: u32) {
    let outermost = !is_within();
    with_stack(|stack| stack.push(|| Range::begin(domain, name, outermost)));
}

pub(super) fn pop(domain: *const c_void) {
    if let Some(range) = with_stack(|stack| stack.pop(domain)) {
        range.end();
    }
}

/// Started ranges, by number.
struct Started {
    lock: Lock,
    next: AtomicU64,
    ranges: UnsafeCell<[Option<(u64, Range)>; STARTED]>,
}

// SAFETY: the ranges are only accessed with the lock. A range contains an address in the
// file of this process and the handle of a domain, which any thread may use.
unsafe impl Sync for Started {}

static RANGES: Started = Started {
    lock: Lock::new(),
    next: AtomicU64::new(1),
    ranges: UnsafeCell::new([None; STARTED]),
};

impl Started {
    fn with<R>(&self, work: impl FnOnce(&mut [Option<(u64, Range)>]) -> R) -> Option<R> {
        let _guard = self.lock.try_lock()?;
        // SAFETY: the lock is held.
        Some(work(unsafe { &mut *self.ranges.get() }))
    }
}

/// The number of started ranges in the default domain.
static STARTED_OWN: AtomicU32 = AtomicU32::new(0);

/// Returns whether this thread is in a range of the default domain, or any thread has
/// started one.
pub(in crate::hooks) fn is_within() -> bool {
    STARTED_OWN.load(Ordering::Relaxed) > 0 || with_stack(|stack| stack.has_own())
}

/// Begins a range that any thread may end with the returned number.
pub(super) fn start(domain: *const c_void, name: u32) -> u64 {
    let number = RANGES.next.fetch_add(1, Ordering::Relaxed);
    let outermost = !is_within();
    RANGES.with(|ranges| {
        if let Some(place) = ranges.iter_mut().find(|place| place.is_none()) {
            *place = Some((number, Range::begin(domain, name, outermost)));
            STARTED_OWN.fetch_add(u32::from(domain.is_null()), Ordering::Relaxed);
        }
    });
    number
}

pub(super) fn end(number: u64) {
    let found = RANGES.with(|ranges| {
        let is_it =
            |place: &&mut Option<(u64, Range)>| place.is_some_and(|(other, _)| other == number);
        ranges.iter_mut().find(is_it)?.take()
    });
    if let Some(Some((_, range))) = found {
        STARTED_OWN.fetch_sub(u32::from(range.domain.is_null()), Ordering::Relaxed);
        range.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(number: usize) -> *const c_void {
        number as *const c_void
    }

    #[test]
    fn domains_have_separate_stacks() {
        let mut stack = Stack::EMPTY;
        for number in [0, 8, 0, 16] {
            stack.push(|| Range::begin(domain(number), 0, true));
        }
        let popped =
            |stack: &mut Stack, number| stack.pop(domain(number)).map(|range| range.domain);
        assert_eq!(popped(&mut stack, 0), Some(domain(0)));
        assert_eq!(popped(&mut stack, 8), Some(domain(8)));
        assert_eq!(popped(&mut stack, 8), None);
        assert_eq!(popped(&mut stack, 16), Some(domain(16)));
        assert_eq!(popped(&mut stack, 0), Some(domain(0)));
        assert_eq!(popped(&mut stack, 0), None);
        assert_eq!(stack.depth, 0);
    }

    #[test]
    fn ranges_beyond_the_limit_are_popped_first() {
        let mut stack = Stack::EMPTY;
        for _ in 0..MAX_OPEN + 2 {
            stack.push(|| Range::begin(domain(0), 0, true));
        }
        let popped = (0..MAX_OPEN + 4)
            .filter(|_| stack.pop(domain(0)).is_some())
            .count();
        assert_eq!(popped, MAX_OPEN);
    }

    #[test]
    fn started_ranges_have_numbers_and_may_be_ended_twice() {
        let (first, second) = (start(domain(0), 0), start(domain(0), 0));
        assert!(first != second && first != 0);
        end(first);
        end(first);
        end(second);
        end(999_999);
    }
}
