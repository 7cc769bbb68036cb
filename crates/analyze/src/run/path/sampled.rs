//! Sampled stacks along a path: assigns samples to items of own CPU time.

use std::collections::HashMap;

use super::super::Stacks;
use super::tally::ItemId;

/// A sample in an item's own CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) struct Sampled {
    pub item: ItemId,
    /// The innermost frame, as an index into the nodes of [`Stacks`].
    pub node: u32,
    /// True if it is in the first iteration rather than before.
    pub in_first: bool,
}

/// The samples of a start by process and thread, in chronological order.
pub(super) struct ByThread(HashMap<(u32, u32), Vec<(u64, u32)>>);

impl ByThread {
    pub(super) fn of(stacks: &Stacks) -> ByThread {
        let mut threads: HashMap<(u32, u32), Vec<(u64, u32)>> = HashMap::new();
        for sample in &stacks.samples {
            let thread = threads.entry((sample.process, sample.thread)).or_default();
            thread.push((sample.time, sample.node));
        }
        ByThread(threads)
    }

    /// A cursor over the samples of a thread.
    pub(super) fn cursor(&self, process: u32, thread: u32) -> Cursor<'_> {
        Cursor {
            left: self.0.get(&(process, thread)).map_or(&[], Vec::as_slice),
        }
    }
}

/// Iterates over the samples of a thread. Times must not decrease.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    left: &'a [(u64, u32)],
}

impl<'a> Cursor<'a> {
    /// The samples in an interval that were not returned before, as time and node.
    pub(super) fn take(&mut self, begin: u64, end: u64) -> &'a [(u64, u32)] {
        let skipped = self.left.partition_point(|(time, _)| *time < begin);
        let left = &self.left[skipped..];
        let (taken, left) = left.split_at(left.partition_point(|(time, _)| *time < end));
        self.left = left;
        taken
    }
}

#[cfg(test)]
mod tests {
    use preheat_model::run::StackSample;

    use super::*;

    #[test]
    fn every_sample_is_returned_once() {
        let sample = |time, thread| StackSample::from((time, 1, thread, time as u32));
        let stacks = Stacks {
            samples: vec![sample(5, 1), sample(6, 2), sample(10, 1), sample(20, 1)],
            ..Stacks::default()
        };
        let threads = ByThread::of(&stacks);
        let mut cursor = threads.cursor(1, 1);
        assert_eq!(cursor.take(0, 10), [(5, 5)]);
        assert_eq!(cursor.take(5, 11), [(10, 10)]);
        assert!(cursor.take(12, 13).is_empty());
        assert_eq!(cursor.take(12, 30), [(20, 20)]);
        assert!(threads.cursor(2, 1).take(0, 99).is_empty());
    }
}
