//! Collects the pieces of the path: adds them to the tally of their region, and to the path
//! itself up to its limit.

use super::super::Cause;
use super::parts::{Part, Parts};
use super::sampled::Sampled;
use super::tally::{CAUSES, ItemId, Sum, Tally};

/// A piece of the path with one cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    pub begin: u64,
    pub end: u64,
    pub cause: Cause,
    pub item: ItemId,
    /// The share of it that was waiting.
    pub waiting: f32,
    pub bytes: u64,
    /// True if it is the first piece of its span.
    pub first: bool,
}

/// A region of the path with a separate tally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    /// Before the first iteration.
    Before,
    /// The first iteration.
    First,
    /// One of the later iterations.
    Later(usize),
    /// Not needed.
    Nothing,
}

/// Receives pieces in chronological order.
pub(super) struct Sink {
    /// The ends of the regions, in order.
    cuts: Vec<(u64, Region)>,
    /// The region of the next piece, and that of the last `wants` call.
    at: usize,
    queried: usize,
    path_until: u64,
    pub(super) before: Tally,
    pub(super) first: Tally,
    pub(super) later: Vec<[u64; CAUSES]>,
    pub(super) parts: Parts,
    /// Nanoseconds until the end of the first iteration in which the path waited for a
    /// processor, including time within calls.
    pub(super) waited: f64,
    /// The part of it in the first iteration.
    pub(super) waited_in_first: f64,
    /// Samples of own CPU time until then.
    pub(super) sampled: Vec<Sampled>,
    before_until: u64,
    first_until: u64,
}

impl Sink {
    /// A sink for iterations, with separate tallies for those in `later`. Without
    /// iterations, everything until `end` is `Before`.
    pub(super) fn new(iterations: &[(u64, u64)], later: &[usize], end: u64) -> Sink {
        let mut cuts = Vec::new();
        let mut path_until = end;
        if let Some(first) = iterations.first() {
            cuts = vec![(first.0, Region::Before), (first.1, Region::First)];
            for (place, index) in later.iter().enumerate() {
                let iteration = iterations[*index];
                cuts.push((iteration.0, Region::Nothing));
                cuts.push((iteration.1, Region::Later(place)));
            }
            path_until = iterations[iterations.len().min(3) - 1].1;
            // The path may extend beyond the last region.
            if cuts.last().is_some_and(|last| last.0 < path_until) {
                cuts.push((path_until, Region::Nothing));
            }
        } else {
            cuts.push((end, Region::Before));
        }
        Sink {
            cuts,
            at: 0,
            queried: 0,
            path_until,
            before: Tally::new(),
            first: Tally::new(),
            later: vec![[0; CAUSES]; later.len()],
            parts: Parts::default(),
            waited: 0.0,
            waited_in_first: 0.0,
            sampled: Vec::new(),
            before_until: iterations.first().map_or(end, |first| first.0),
            first_until: iterations.first().map_or(end, |first| first.1),
        }
    }

    /// Records that this share of an interval was spent waiting for a processor.
    pub(super) fn waited_for_processor(&mut self, begin: u64, end: u64, share: f64) {
        let length = end.min(self.first_until).saturating_sub(begin);
        self.waited += length as f64 * share;
        let of_first = (end.min(self.first_until)).saturating_sub(begin.max(self.before_until));
        self.waited_in_first += of_first as f64 * share;
    }

    /// Records a stack sample in an item's own CPU time.
    pub(super) fn sampled(&mut self, item: ItemId, (time, node): (u64, u32)) {
        if time < self.first_until {
            self.sampled.push(Sampled {
                item,
                node,
                in_first: time >= self.before_until,
            });
        }
    }

    /// The time until which pieces are needed.
    pub(super) fn until(&self) -> u64 {
        let cuts = self.cuts.iter().map(|cut| cut.0);
        cuts.max().unwrap_or(0).max(self.path_until)
    }

    /// Returns true if any of this interval is needed. Times must not decrease.
    pub(super) fn needs(&mut self, begin: u64, end: u64) -> bool {
        while (self.cuts.get(self.queried)).is_some_and(|cut| cut.0 <= begin) {
            self.queried += 1;
        }
        if begin < self.path_until {
            return true;
        }
        let cut = self.cuts.get(self.queried);
        cut.is_some_and(|(until, region)| *region != Region::Nothing || end > *until)
    }

    pub(super) fn add(&mut self, mut piece: Piece) {
        if piece.begin >= piece.end {
            return;
        }
        if piece.begin < self.path_until {
            self.parts.add(Part {
                begin: piece.begin,
                end: piece.end.min(self.path_until),
                cause: piece.cause,
                item: piece.item,
            });
        }
        while piece.begin < piece.end {
            while (self.cuts.get(self.at)).is_some_and(|cut| cut.0 <= piece.begin) {
                self.at += 1;
            }
            let Some((until, region)) = self.cuts.get(self.at) else {
                return;
            };
            let nanoseconds = piece.end.min(*until) - piece.begin;
            let tally = match region {
                Region::Before => &mut self.before,
                Region::First => &mut self.first,
                Region::Later(place) => {
                    self.later[*place][piece.cause.index()] += nanoseconds;
                    piece.begin += nanoseconds;
                    continue;
                }
                Region::Nothing => {
                    piece.begin += nanoseconds;
                    continue;
                }
            };
            let sum = Sum {
                nanoseconds,
                waiting: f64::from(piece.waiting) * nanoseconds as f64,
                bytes: piece.bytes,
                count: u64::from(piece.first),
            };
            tally.add(piece.cause, piece.item, &sum);
            piece.begin += nanoseconds;
            (piece.bytes, piece.first) = (0, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(begin: u64, end: u64, cause: Cause) -> Piece {
        Piece {
            begin,
            end,
            cause,
            item: ItemId(0),
            waiting: 0.5,
            bytes: 8,
            first: true,
        }
    }

    #[test]
    fn pieces_are_cut_at_the_borders_of_iterations() {
        let iterations = [(10, 20), (20, 30), (35, 40), (40, 50), (50, 60)];
        let mut sink = Sink::new(&iterations, &[1, 4], 100);
        assert_eq!(sink.until(), 60);
        sink.add(piece(0, 45, Cause::Idle));
        sink.add(piece(45, 100, Cause::OwnCpu));
        assert_eq!(sink.before.causes[Cause::Idle.index()], 10);
        assert_eq!(sink.first.causes[Cause::Idle.index()], 10);
        assert_eq!(sink.later[0][Cause::Idle.index()], 10);
        assert_eq!(sink.later[1][Cause::OwnCpu.index()], 10);
        let (_, _, sum) = sink.before.items().next().unwrap();
        assert_eq!((sum.bytes, sum.count, sum.waiting), (8, 1, 5.0));
        let (_, _, sum) = sink.first.items().next().unwrap();
        assert_eq!((sum.bytes, sum.count), (0, 0));
        assert_eq!(sink.parts.done().last().unwrap().end, 40);
    }

    #[test]
    fn time_between_summed_iterations_is_not_needed() {
        let iterations: Vec<(u64, u64)> = (0..100).map(|i| (i * 10, i * 10 + 10)).collect();
        let mut sink = Sink::new(&iterations, &[50], 1000);
        assert!(sink.needs(0, 5));
        assert!(sink.needs(29, 31));
        assert!(!sink.needs(30, 31));
        assert!(sink.needs(499, 501));
        assert!(sink.needs(505, 506));
        assert!(!sink.needs(510, 520));
    }

    #[test]
    fn without_iterations_everything_is_before_the_first() {
        let mut sink = Sink::new(&[], &[], 100);
        sink.add(piece(0, 100, Cause::Idle));
        assert_eq!(sink.before.causes[Cause::Idle.index()], 100);
        assert_eq!(sink.parts.done().len(), 1);
    }
}
