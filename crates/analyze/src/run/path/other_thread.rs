//! Another thread of the followed process: its calls, and its load outside of them.

use std::iter::Peekable;

use super::super::facts::Facts;
use super::super::nested::{Leaf, Leaves};
use super::super::{Cause, driver_calls};
use super::sampled::Cursor;
use super::samples::{Load, LoadInterval, Samples};
use super::tally::ItemId;

/// With more buffered calls than this, the load outside of calls is not computed.
const MAX_BUFFERED: usize = 1 << 16;

/// Iterates over the calls of a thread. Times must not decrease.
pub(super) struct Other<'a> {
    leaves: Peekable<Leaves<'a>>,
    /// Its leaves from the beginning of the selected interval on.
    buffer: Vec<Leaf>,
    /// The selected leaves.
    from: usize,
    to: usize,
    samples: Samples<'a>,
    /// The interval of the current load.
    interval: Option<LoadInterval>,
    pub item: ItemId,
    /// Its sampled stacks.
    pub stacks: Cursor<'a>,
    /// Its load outside of calls.
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
            buffer: Vec::new(),
            from: 0,
            to: 0,
            samples: Samples::new(process, &process.threads[thread]),
            interval: None,
            item,
            stacks,
            load: None,
        }
    }

    /// Updates the load to `now`, and returns until when it is valid.
    pub(super) fn update(&mut self, now: u64) -> u64 {
        let interval = self.samples.at(now);
        if self.interval != Some(interval) {
            self.interval = Some(interval);
            let load = interval.load.filter(|load| load.busy() > 0.0);
            self.load = match load {
                Some(load) => Some(load.times(self.outside(now, &interval))),
                None => interval.load,
            };
        }
        interval.end
    }

    /// The factor by which its load outside of calls exceeds its overall load: calls that
    /// wait do not contribute to the load.
    fn outside(&mut self, now: u64, interval: &LoadInterval) -> f64 {
        self.buffer.drain(..self.from);
        (self.to, self.from) = (self.to.saturating_sub(self.from), 0);
        let all = interval.end.saturating_sub(interval.begin) as f64;
        let mut left = all;
        let mut count = |leaf: &Leaf| {
            let (begin, end) = (leaf.begin.max(interval.begin), leaf.end.min(interval.end));
            let length = end.saturating_sub(begin) as f64;
            left -= match waits(leaf.judged.cause) {
                true => length,
                false => length * f64::from(leaf.judged.waiting),
            };
        };
        self.buffer.iter().for_each(&mut count);
        while self.buffer.len() < MAX_BUFFERED
            && let Some(leaf) = self.leaves.next_if(|leaf| leaf.begin < interval.end)
        {
            count(&leaf);
            if leaf.end > now {
                self.buffer.push(leaf);
            }
        }
        if self.buffer.len() >= MAX_BUFFERED || left <= 0.0 {
            return 1.0;
        }
        all / left
    }

    /// Selects its calls within an interval.
    pub(super) fn select(&mut self, begin: u64, end: u64) {
        let known = self.to;
        while (self.buffer.get(self.from)).is_some_and(|leaf| leaf.end <= begin) {
            self.from += 1;
        }
        if self.from < known {
            // It was selected before, so its count and bytes are already reported.
            let leaf = &mut self.buffer[self.from];
            (leaf.first, leaf.bytes) = (false, 0);
        }
        if self.from == self.buffer.len() {
            self.buffer.clear();
            self.from = 0;
        }
        while let Some(leaf) = self.leaves.next_if(|leaf| leaf.begin < end) {
            if leaf.end > begin {
                self.buffer.push(leaf);
            }
        }
        self.to = self.from;
        while (self.buffer.get(self.to)).is_some_and(|leaf| leaf.begin < end) {
            self.to += 1;
        }
    }

    /// The selected calls, in order.
    pub(super) fn calls(&self) -> &[Leaf] {
        &self.buffer[self.from..self.to]
    }
}

/// Returns true if calls with this cause wait rather than compute.
pub(super) fn waits(cause: Cause) -> bool {
    driver_calls::waits(cause) || cause == Cause::HostToDevice
}
