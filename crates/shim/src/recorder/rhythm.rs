//! When a program that repeats itself is recorded in detail: by counting its iterations.
//!
//! The first ones are, all of them: that is warm-up, as a rule. Then come windows, so that a
//! steady iteration can still be explained, with more and more iterations between them.
//! Something new that happens in between opens a window, so that what a late slow
//! iteration does is recorded too.
//!
//! Iterations are told by marks, and several things may be marked: calls of two models,
//! steps and ranges around them. One of them leads, the one that most likely is what the
//! analysis will take for the iteration. What cannot be decided stays in detail.

/// So many iterations are in detail at first: what warms up later than that (another
/// shape, a graph) loads or compiles something, which opens a window.
pub(super) const AT_FIRST: u32 = 64;
/// So many are in a window.
pub(super) const WINDOW: u32 = 8;
/// Between the first windows there are so many iterations; each time about twice as many,
/// at most the last number. With a window they make up 32, 64, 128.
const FIRST_GAP: u32 = 24;
const LAST_GAP: u32 = 120;
/// What is new opens a window at most once in so many iterations, in the long run: what
/// comes in every iteration is not new.
const COST: u32 = 32;
/// So many such windows may come close together.
const SAVED: u32 = 16 * COST;

/// Who marks, the most specific last: as the analysis prefers them.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Model = 1,
    Keras = 2,
    Step = 3,
    Range = 4,
}

/// What is marked, and on which thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// 0 for nothing.
    source: u64,
    thread: usize,
}

impl Mark {
    pub(super) fn new(rank: Rank, which: u16, name: u32, thread: usize) -> Mark {
        let source = (rank as u64) << 56 | u64::from(which) << 32 | u64::from(name);
        Mark { source, thread }
    }

    fn rank(self) -> u8 {
        (self.source >> 56) as u8
    }
}

#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    AtFirst = 0,
    Sparse = 1,
    Window = 2,
}

/// Where a process is. Zeros are the beginning.
pub(super) struct Rhythm {
    leader: Mark,
    /// Marks of others since the leader's last.
    others: u32,
    phase: Phase,
    /// Iterations of the leader that have begun in this phase.
    count: u32,
    gap: u32,
    /// What windows have cost that something new has opened.
    spent: u32,
    /// Whoever ranks lower does not lead.
    least: u8,
}

impl Rhythm {
    /// Whether detail is left out.
    pub(super) fn is_sparse(&self) -> bool {
        self.phase == Phase::Sparse
    }

    /// An iteration begins; with `again` where another one has just ended with the mark.
    pub(super) fn mark(&mut self, mark: Mark, again: bool) {
        if mark.rank() < self.least {
            return;
        }
        if mark != self.leader {
            self.others = self.others.saturating_add(1);
            // Whoever led before has not been heard of for long.
            if mark.rank() > self.leader.rank() || self.others >= AT_FIRST {
                self.begin_with(mark, 1 + u32::from(again));
            }
            return;
        }
        self.others = 0;
        self.spent = self.spent.saturating_sub(1);
        self.count = self.count.saturating_add(1);
        let most = match self.phase {
            Phase::AtFirst => AT_FIRST,
            Phase::Window => WINDOW,
            Phase::Sparse => self.gap,
        };
        if self.count <= most {
            return;
        }
        self.count = 1;
        if self.phase == Phase::Sparse {
            self.phase = Phase::Window;
            self.gap = (2 * self.gap + WINDOW).min(LAST_GAP);
        } else {
            self.phase = Phase::Sparse;
        }
    }

    fn begin_with(&mut self, leader: Mark, count: u32) {
        self.leader = leader;
        self.others = 0;
        self.phase = Phase::AtFirst;
        self.count = count;
        self.gap = FIRST_GAP;
    }

    /// Something is new: this iteration and the next ones are worth a look.
    pub(super) fn new_thing(&mut self) {
        let opened = self.phase == Phase::Window && self.count == 0;
        if self.phase == Phase::AtFirst || opened || self.spent + COST > SAVED {
            return;
        }
        self.spent += COST;
        self.phase = Phase::Window;
        self.count = 0;
    }

    /// Iterations will be marked by this rank: nothing below it is one.
    pub(super) fn expect(&mut self, rank: Rank) {
        self.least = self.least.max(rank as u8);
        if self.leader.rank() < self.least {
            self.begin_with(
                Mark {
                    source: 0,
                    thread: 0,
                },
                0,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new() -> Rhythm {
        let nothing = Mark {
            source: 0,
            thread: 0,
        };
        Rhythm {
            leader: nothing,
            others: 0,
            phase: Phase::AtFirst,
            count: 0,
            gap: 0,
            spent: 0,
            least: 0,
        }
    }

    fn model(name: u32) -> Mark {
        Mark::new(Rank::Model, 2, name, 1)
    }

    /// Which of so many iterations are in detail, as lengths of what alternates.
    fn runs(rhythm: &mut Rhythm, mark: Mark, iterations: usize) -> Vec<usize> {
        let mut found = vec![0];
        let mut sparse = false;
        for _ in 0..iterations {
            rhythm.mark(mark, false);
            if rhythm.is_sparse() != sparse {
                sparse = !sparse;
                found.push(0);
            }
            *found.last_mut().unwrap() += 1;
        }
        found
    }

    #[test]
    fn windows_become_rarer() {
        let found = runs(&mut new(), model(1), 64 + 32 + 64 + 128 + 128);
        assert_eq!(found, [64, 24, 8, 56, 8, 120, 8, 120, 8]);
    }

    #[test]
    fn an_end_is_the_beginning_of_the_next() {
        let mut rhythm = new();
        let steps = (0..200).filter(|_| {
            rhythm.mark(Mark::new(Rank::Step, 1, 1, 1), true);
            !rhythm.is_sparse()
        });
        // The first iteration ended with the first mark.
        assert_eq!(steps.count() - 16, 63);
    }

    #[test]
    fn something_new_opens_a_window_but_not_in_every_iteration() {
        let mut rhythm = new();
        runs(&mut rhythm, model(1), 70);
        assert!(rhythm.is_sparse());
        for _ in 0..100 {
            // All within one iteration: one window.
            rhythm.new_thing();
        }
        assert_eq!(runs(&mut rhythm, model(1), 32), [8, 24]);
        let mut detailed = 0;
        for _ in 0..10_000 {
            rhythm.new_thing();
            rhythm.mark(model(1), false);
            detailed += u32::from(!rhythm.is_sparse());
        }
        assert!((1000..4000).contains(&detailed), "{detailed}");
    }

    #[test]
    fn the_most_specific_leads_and_begins_anew() {
        let mut rhythm = new();
        runs(&mut rhythm, model(1), 80);
        let step = Mark::new(Rank::Step, 1, 1, 1);
        rhythm.mark(step, true);
        assert!(!rhythm.is_sparse());
        // Calls within the steps count no longer.
        for _ in 0..62 {
            runs(&mut rhythm, model(1), 3);
            rhythm.mark(step, true);
            assert!(!rhythm.is_sparse());
        }
        rhythm.mark(step, true);
        assert!(rhythm.is_sparse());
        let range = Mark::new(Rank::Range, 0, 7, 1);
        assert_eq!(runs(&mut rhythm, range, 65), [64, 1]);
    }

    #[test]
    fn one_of_several_that_take_turns_leads_on_its_thread() {
        let mut rhythm = new();
        for turn in 0..64 {
            for name in 1..40 {
                rhythm.mark(model(name), false);
            }
            rhythm.mark(Mark::new(Rank::Model, 2, 1, 2), false);
            assert!(!rhythm.is_sparse(), "{turn}");
        }
        rhythm.mark(model(1), false);
        assert!(rhythm.is_sparse());
        // When it is heard of no more, another takes its place.
        assert_eq!(runs(&mut rhythm, model(2), 127), [0, 63, 64]);
    }

    #[test]
    fn what_is_expected_is_waited_for() {
        let mut rhythm = new();
        runs(&mut rhythm, model(1), 70);
        rhythm.expect(Rank::Step);
        assert_eq!(runs(&mut rhythm, model(1), 500), [500]);
        let step = Mark::new(Rank::Step, 1, 1, 1);
        assert_eq!(runs(&mut rhythm, step, 65), [64, 1]);
    }
}
