//! Sums by cause and by item, in exact nanoseconds.

use std::collections::HashMap;

use super::super::Cause;
use super::catalogue::ItemId;

/// The number of causes.
pub(in crate::run) const CAUSES: usize = Cause::ALL.len();

/// The totals of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::run) struct Sum {
    pub nanoseconds: u64,
    /// The waiting time within it.
    pub waiting: f64,
    pub bytes: u64,
    pub count: u64,
}

impl Sum {
    pub(in crate::run) fn add(&mut self, other: &Sum) {
        self.nanoseconds += other.nanoseconds;
        self.waiting += other.waiting;
        self.bytes += other.bytes;
        self.count += other.count;
    }
}

/// The sums of a region of the path.
pub(in crate::run) struct Tally {
    pub causes: [u64; CAUSES],
    /// Indexed by item: its first cause.
    items: Vec<Option<(Cause, Sum)>>,
    /// Items with several causes, which are rare.
    more: HashMap<(ItemId, Cause), Sum>,
}

impl Tally {
    pub(in crate::run) fn new() -> Tally {
        Tally {
            causes: [0; CAUSES],
            items: Vec::new(),
            more: HashMap::new(),
        }
    }

    pub(in crate::run) fn add(&mut self, cause: Cause, item: ItemId, sum: &Sum) {
        self.causes[cause.index()] += sum.nanoseconds;
        let at = item.0 as usize;
        if at >= self.items.len() {
            self.items.resize(at + 1, None);
        }
        match &mut self.items[at] {
            Some((own, total)) if *own == cause => total.add(sum),
            place @ None => *place = Some((cause, *sum)),
            Some(_) => self.more.entry((item, cause)).or_default().add(sum),
        }
    }

    /// All items with their causes, by id.
    pub(in crate::run) fn items(&self) -> impl Iterator<Item = (Cause, ItemId, Sum)> {
        let first = self.items.iter().enumerate().filter_map(|(at, entry)| {
            let (cause, sum) = (*entry)?;
            Some((cause, ItemId(at as u32), sum))
        });
        let mut more: Vec<_> = (self.more.iter())
            .map(|((item, cause), sum)| (*cause, *item, *sum))
            .collect();
        more.sort_by_key(|(cause, item, _)| (*item, *cause));
        first.chain(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_may_have_several_causes() {
        let sum = |nanoseconds| Sum {
            nanoseconds,
            count: 1,
            ..Sum::default()
        };
        let mut tally = Tally::new();
        tally.add(Cause::Idle, ItemId(3), &sum(5));
        tally.add(Cause::OwnCpu, ItemId(3), &sum(7));
        tally.add(Cause::Idle, ItemId(3), &sum(1));
        let found: Vec<_> = (tally.items())
            .map(|(cause, item, sum)| (cause, item.0, sum.nanoseconds, sum.count))
            .collect();
        assert_eq!(found, [(Cause::Idle, 3, 6, 2), (Cause::OwnCpu, 3, 7, 1)]);
        assert_eq!(tally.causes[Cause::Idle.index()], 6);
    }
}
