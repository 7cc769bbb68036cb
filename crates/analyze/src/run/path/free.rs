//! Time that nobody has accounted for yet.

use super::samples::portion;

/// Stretches of time, in order and apart.
#[derive(Default)]
pub(super) struct Free {
    stretches: Vec<(u64, u64)>,
    spare: Vec<(u64, u64)>,
}

impl Free {
    /// Everything between two instants is free.
    pub(super) fn reset(&mut self, begin: u64, end: u64) {
        self.stretches.clear();
        self.stretches.push((begin, end));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    /// What is left.
    pub(super) fn rest(&self) -> impl Iterator<Item = (u64, u64)> {
        self.stretches.iter().copied()
    }

    /// Takes stretches, which are in order and apart, out of what is free; `taken` is
    /// told of each part that was.
    pub(super) fn take<T: Copy>(
        &mut self,
        stretches: impl Iterator<Item = (u64, u64, T)>,
        taken: impl FnMut(u64, u64, T),
    ) {
        self.take_share(stretches, 1.0, taken);
    }

    /// Takes only a share of what is free of each stretch, and leaves the rest. Which
    /// part of it was used is not known; it is the first.
    pub(super) fn take_share<T: Copy>(
        &mut self,
        stretches: impl Iterator<Item = (u64, u64, T)>,
        share: f64,
        mut taken: impl FnMut(u64, u64, T),
    ) {
        let mut stretches = stretches.peekable();
        if stretches.peek().is_none() {
            return;
        }
        self.spare.clear();
        for (from, to) in &self.stretches {
            let mut now = *from;
            while let Some((begin, end, what)) = stretches.peek().copied() {
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
                        self.spare.push((now, low));
                    }
                    taken(low, low + part, what);
                    now = low + part;
                }
                // One that goes on may take of the next free stretch too.
                if end > *to {
                    break;
                }
                stretches.next();
            }
            if now < *to {
                self.spare.push((now, *to));
            }
        }
        std::mem::swap(&mut self.stretches, &mut self.spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_share_the_rest_is_left() {
        let mut free = Free::default();
        free.reset(0, 100);
        let mut taken = Vec::new();
        let stretches = [(0, 40, 'a'), (60, 80, 'b')];
        free.take_share(stretches.into_iter(), 0.5, |begin, end, what| {
            taken.push((begin, end, what));
        });
        assert_eq!(taken, [(0, 20, 'a'), (60, 70, 'b')]);
        assert_eq!(free.rest().collect::<Vec<_>>(), [(20, 60), (70, 100)]);
        free.take_share([(0, 100, ())].into_iter(), 0.01, |_, _, ()| unreachable!());
    }

    #[test]
    fn what_is_taken_is_gone() {
        let mut free = Free {
            stretches: vec![(0, 10), (20, 30)],
            spare: Vec::new(),
        };
        let mut taken = Vec::new();
        let stretches = [(1, 2, 'a'), (5, 25, 'b'), (25, 26, 'c')];
        free.take(stretches.into_iter(), |begin, end, what| {
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
