//! The memory that a process has allocated through the driver, over time.

use std::collections::HashMap;

use super::super::Cause;
use super::super::facts::Facts;
use super::super::trace::SpanKind;

/// Allocations over time.
pub(in crate::run) struct Live {
    /// The state after each change, in chronological order.
    pub steps: Vec<Step>,
}

/// Bytes that are allocated from an instant on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::run) struct Step {
    pub time: u64,
    /// On the device, by the program.
    pub program: u64,
    /// On the device, during library set-up.
    pub libraries: u64,
    /// Page-locked on the host.
    pub pinned: u64,
}

impl Step {
    pub(in crate::run) fn device(&self) -> u64 {
        self.program + self.libraries
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Program,
    Library,
    Pinned,
}

enum Change {
    Made(Kind, u64),
    Freed,
}

impl Live {
    pub(in crate::run) fn of(facts: &Facts) -> Live {
        let mut changes: Vec<(u64, u64, Change)> = Vec::new();
        for (index, thread) in facts.process.threads.iter().enumerate() {
            let some = [SpanKind::Allocate, SpanKind::Free].iter();
            if some.map(|what| facts.count(index, *what)).sum::<u32>() == 0 {
                continue;
            }
            // The end of the current library set-up.
            let mut set_up = 0;
            for span in &thread.spans {
                let at = span.detail as usize;
                match span.what {
                    SpanKind::Heavy => {
                        let judged = facts.judge(span, None);
                        if judged.is_some_and(|judged| judged.cause == Cause::LibrarySetUp) {
                            set_up = span.end.max(set_up);
                        }
                    }
                    SpanKind::Allocate => {
                        let Some(made) = facts.process.allocations.get(at) else {
                            continue;
                        };
                        let judged = facts.judge(span, None).map(|judged| judged.cause);
                        let kind = match judged {
                            Some(Cause::PinnedAllocation) => Kind::Pinned,
                            _ if span.begin < set_up => Kind::Library,
                            _ => Kind::Program,
                        };
                        if made.status == 0 && made.pointer != 0 {
                            let change = Change::Made(kind, made.bytes);
                            changes.push((span.end, made.pointer, change));
                        }
                    }
                    SpanKind::Free => {
                        if let Some(pointer) = facts.process.frees.get(at) {
                            changes.push((span.begin, *pointer, Change::Freed));
                        }
                    }
                    _ => {}
                }
            }
        }
        changes.sort_by_key(|change| change.0);
        Live {
            steps: steps(changes),
        }
    }

    /// The state before the change at this index.
    pub(in crate::run) fn before(&self, place: usize) -> Step {
        let before = place.checked_sub(1).and_then(|at| self.steps.get(at));
        before.copied().unwrap_or_default()
    }

    /// The state at an instant.
    pub(in crate::run) fn at(&self, time: u64) -> Step {
        self.before(self.steps.partition_point(|step| step.time <= time))
    }
}

fn steps(changes: Vec<(u64, u64, Change)>) -> Vec<Step> {
    let mut here: HashMap<u64, (Kind, u64)> = HashMap::new();
    let mut now = Step::default();
    let mut steps: Vec<Step> = Vec::with_capacity(changes.len());
    for (time, pointer, change) in changes {
        let gone = here.remove(&pointer);
        if let Some((kind, bytes)) = gone {
            let sum = now.of(kind);
            *sum = sum.saturating_sub(bytes);
        }
        match change {
            Change::Made(kind, bytes) => {
                *now.of(kind) += bytes;
                here.insert(pointer, (kind, bytes));
            }
            // Freeing an address that was never allocated changes nothing.
            Change::Freed if gone.is_none() => continue,
            Change::Freed => {}
        }
        now.time = time;
        steps.push(now);
    }
    steps
}

impl Step {
    fn of(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Program => &mut self.program,
            Kind::Library => &mut self.libraries,
            Kind::Pinned => &mut self.pinned,
        }
    }
}

// Address ranges, to distinguish device memory from host memory.

/// A set of address ranges. Freed ranges stay: host and device share one address space, so
/// an address never changes sides.
#[derive(Default)]
pub(in crate::run) struct Ranges {
    /// Begin and end of each range; sorted and disjoint after `sort`.
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    pub(in crate::run) fn add(&mut self, first: u64, bytes: u64) {
        if first == 0 || bytes == 0 {
            return;
        }
        let range = (first, first.saturating_add(bytes));
        // Allocators often return the same address again.
        if self.ranges.last() != Some(&range) {
            self.ranges.push(range);
        }
    }

    /// Must be called after the last `add`.
    pub(in crate::run) fn sort(&mut self) {
        self.ranges.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for range in &self.ranges {
            match merged.last_mut() {
                Some(last) if range.0 <= last.1 => last.1 = last.1.max(range.1),
                _ => merged.push(*range),
            }
        }
        self.ranges = merged;
    }

    pub(in crate::run) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns true if one of the ranges contains the address.
    pub(in crate::run) fn holds(&self, address: u64) -> bool {
        let after = self.ranges.partition_point(|range| range.0 <= address);
        after > 0 && address < self.ranges[after - 1].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frees_are_subtracted_and_unknown_ones_ignored() {
        let live = Live {
            steps: steps(vec![
                (10, 1, Change::Made(Kind::Program, 100)),
                (20, 2, Change::Made(Kind::Library, 50)),
                (30, 3, Change::Made(Kind::Pinned, 7)),
                (35, 9, Change::Freed),
                (40, 1, Change::Freed),
                // The same address again, without a recorded free.
                (50, 2, Change::Made(Kind::Program, 60)),
            ]),
        };
        assert_eq!(live.at(0), Step::default());
        let at = |time| {
            let step = live.at(time);
            (step.program, step.libraries, step.pinned)
        };
        assert_eq!(at(10), (100, 0, 0));
        assert_eq!(at(39), (100, 50, 7));
        assert_eq!(at(45), (0, 50, 7));
        assert_eq!(at(99), (60, 0, 7));
        assert_eq!(live.steps.len(), 5);
    }

    #[test]
    fn ranges_hold_their_addresses_and_no_others() {
        let mut ranges = Ranges::default();
        for (first, bytes) in [(100, 10), (200, 5), (105, 20), (0, 50), (300, 0)] {
            ranges.add(first, bytes);
        }
        ranges.sort();
        assert_eq!(ranges.ranges, [(100, 125), (200, 205)]);
        for (address, expected) in [
            (0, false),
            (99, false),
            (100, true),
            (124, true),
            (125, false),
            (204, true),
            (205, false),
            (300, false),
        ] {
            assert_eq!(ranges.holds(address), expected, "{address}");
        }
    }
}
