//! Another thread of the process that is followed: its calls, and how busy it is
//! outside of them.

use std::iter::Peekable;

use super::super::Cause;
use super::super::calls;
use super::super::facts::Facts;
use super::super::leaves::{Leaf, Leaves};
use super::catalogue::ItemId;
use super::sampled::Cursor;
use super::samples::{Load, Samples, Stretch};

/// More calls than this between two looks are not held to see how busy it was outside.
const HELD: usize = 1 << 16;

/// Goes along a thread. Times must not go back.
pub(super) struct Other<'a> {
    leaves: Peekable<Leaves<'a>>,
    /// Its leaves from the stretch that is asked about on.
    held: Vec<Leaf>,
    /// Which of them lie within it; the end of that is how far they were asked for.
    from: usize,
    to: usize,
    samples: Samples<'a>,
    /// The stretch that it was last looked at in.
    stretch: Option<Stretch>,
    pub item: ItemId,
    /// Its sampled stacks.
    pub stacks: Cursor<'a>,
    /// How busy it is outside of calls.
    pub load: Option<Load>,
}

impl<'a> Other<'a> {
    pub(super) fn new(
        facts: &'a Facts<'a>,
        thread: usize,
        item: ItemId,
        stacks: Cursor<'a>,
    ) -> Other<'a> {
        let process = facts.process;
        Other {
            leaves: Leaves::new(facts, thread).peekable(),
            held: Vec::new(),
            from: 0,
            to: 0,
            samples: Samples::new(process, &process.threads[thread]),
            stretch: None,
            item,
            stacks,
            load: None,
        }
    }

    /// Sees how busy it is, and says until when it is so.
    pub(super) fn look(&mut self, now: u64) -> u64 {
        let stretch = self.samples.at(now);
        if self.stretch != Some(stretch) {
            self.stretch = Some(stretch);
            let load = stretch.load.filter(|load| load.busy() > 0.0);
            self.load = match load {
                Some(load) => Some(load.times(self.outside(now, &stretch))),
                None => stretch.load,
            };
        }
        stretch.end
    }

    /// By how much busier than in all it was outside of calls: those that wait are no
    /// part of what it was busy with.
    fn outside(&mut self, now: u64, stretch: &Stretch) -> f64 {
        self.held.drain(..self.from);
        (self.to, self.from) = (self.to.saturating_sub(self.from), 0);
        let all = stretch.end.saturating_sub(stretch.begin) as f64;
        let mut left = all;
        let mut count = |leaf: &Leaf| {
            let (begin, end) = (leaf.begin.max(stretch.begin), leaf.end.min(stretch.end));
            let length = end.saturating_sub(begin) as f64;
            left -= match waits(leaf.judged.cause) {
                true => length,
                false => length * f64::from(leaf.judged.waiting),
            };
        };
        self.held.iter().for_each(&mut count);
        while self.held.len() < HELD
            && let Some(leaf) = self.leaves.next_if(|leaf| leaf.begin < stretch.end)
        {
            count(&leaf);
            if leaf.end > now {
                self.held.push(leaf);
            }
        }
        if self.held.len() >= HELD || left <= 0.0 {
            return 1.0;
        }
        all / left
    }

    /// Asks for its calls within a stretch.
    pub(super) fn ask(&mut self, begin: u64, end: u64) {
        let known = self.to;
        while (self.held.get(self.from)).is_some_and(|leaf| leaf.end <= begin) {
            self.from += 1;
        }
        if self.from < known {
            // It was asked for before: its count and bytes are told.
            let leaf = &mut self.held[self.from];
            (leaf.first, leaf.bytes) = (false, 0);
        }
        if self.from == self.held.len() {
            self.held.clear();
            self.from = 0;
        }
        while let Some(leaf) = self.leaves.next_if(|leaf| leaf.begin < end) {
            if leaf.end > begin {
                self.held.push(leaf);
            }
        }
        self.to = self.from;
        while (self.held.get(self.to)).is_some_and(|leaf| leaf.begin < end) {
            self.to += 1;
        }
    }

    /// The calls that were asked for, in order.
    pub(super) fn calls(&self) -> &[Leaf] {
        &self.held[self.from..self.to]
    }
}

/// Whether a call of this cause waits rather than computes.
pub(super) fn waits(cause: Cause) -> bool {
    calls::waits(cause) || cause == Cause::HostToDevice
}
