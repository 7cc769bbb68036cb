//! Time that is not accounted for yet.

use super::samples::portion;

/// Disjoint intervals, in order.
#[derive(Default)]
pub(super) struct Free {
    intervals: Vec<(u64, u64)>,
    scratch: Vec<(u64, u64)>,
}

impl Free {
    /// Makes everything between two instants free.
    pub(super) fn reset(&mut self, begin: u64, end: u64) {
        self.intervals.clear();
        self.intervals.push((begin, end));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// The free intervals.
    pub(super) fn rest(&self) -> impl Iterator<Item = (u64, u64)> {
        self.intervals.iter().copied()
    }

    /// Removes disjoint, ordered intervals from the free time, and calls `taken` for each
    /// removed part.
    pub(super) fn take<T: Copy>(
        &mut self,
        intervals: impl Iterator<Item = (u64, u64, T)>,
        taken: impl FnMut(u64, u64, T),
    ) {
        self.take_share(intervals, 1.0, taken);
    }

    /// Removes only a share of the free time in each interval. It is unknown which part was
    /// used, so the first part is removed.
    pub(super) fn take_share<T: Copy>(
        &mut self,
        intervals: impl Iterator<Item = (u64, u64, T)>,
        share: f64,
        mut taken: impl FnMut(u64, u64, T),
    ) {
        let mut intervals = intervals.peekable();
        if intervals.peek().is_none() {
            return;
        }
        self.scratch.clear();
        for (from, to) in &self.intervals {
            let mut now = *from;
            while let Some((begin, end, what)) = intervals.peek().copied() {
                if begin >= *to {
                    break;
                }
                let (low, high) = (begin.max(now), end.min(*to));
                let part = if low < high {
                    portion(high - low, share)
                } else {
                    0
                };
                if part > 0 {
                    if now < low {
                        self.scratch.push((now, low));
                    }
                    taken(low, low + part, what);
                    now = low + part;
                }
                // A longer interval may also overlap the next free one.
                if end > *to {
                    break;
                }
                intervals.next();
            }
            if now < *to {
                self.scratch.push((now, *to));
            }
        }
        std::mem::swap(&mut self.intervals, &mut self.scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_leaves_the_rest_free() {
        let mut free = Free::default();
        free.reset(0, 100);
        let mut taken = Vec::new();
        let intervals = [(0, 40, 'a'), (60, 80, 'b')];
        free.take_share(intervals.into_iter(), 0.5, |begin, end, what| {
            taken.push((begin, end, what));
        });
        assert_eq!(taken, [(0, 20, 'a'), (60, 70, 'b')]);
        assert_eq!(free.rest().collect::<Vec<_>>(), [(20, 60), (70, 100)]);
        free.take_share([(0, 100, ())].into_iter(), 0.01, |_, _, ()| unreachable!());
    }

    #[test]
    fn used_time_is_removed() {
        let mut free = Free {
            intervals: vec![(0, 10), (20, 30)],
            scratch: Vec::new(),
        };
        let mut taken = Vec::new();
        let intervals = [(1, 2, 'a'), (5, 25, 'b'), (25, 26, 'c')];
        free.take(intervals.into_iter(), |begin, end, what| {
            taken.push((begin, end, what));
        });
        assert_eq!(
            taken,
            [(1, 2, 'a'), (5, 10, 'b'), (20, 25, 'b'), (25, 26, 'c')]
        );
        let rest: Vec<_> = free.rest().collect();
        assert_eq!(rest, [(0, 1), (2, 5), (26, 30)]);
        free.take([(0, 100, ())].into_iter(), |_, _, ()| {});
        assert!(free.is_empty());
        free.take([(0, 100, ())].into_iter(), |_, _, ()| unreachable!());
    }
}
