//! The sampling schedule: decides by counting iterations when a program that repeats itself
//! is recorded in detail.
//!
//! The first iterations are recorded completely, since they are usually the warm-up. Then
//! come windows, so that a steady iteration can still be explained, with more and more
//! iterations between them. New events in between open a window, so that a late slow
//! iteration is recorded too.
//!
//! Iterations are detected by marks, and several things may be marked: calls of two models,
//! steps, and ranges around them. One of them leads, the one that the analysis most likely
//! uses as the iteration. If that is undecided, everything is recorded in detail.

/// The number of iterations recorded in detail at first. A later warm-up (another shape, a
/// graph) loads or compiles something, which opens a window.
pub(super) const AT_FIRST: u32 = 64;
/// The number of iterations in a window.
pub(super) const WINDOW: u32 = 8;
/// The number of iterations between the first windows. It grows to the last gap, so that gap and
/// window together are 32, 64 and then 128 iterations.
const FIRST_GAP: u32 = 24;
const LAST_GAP: u32 = 120;
/// New events open a window at most once in this many iterations in the long run (a token
/// bucket): what happens in every iteration is not new.
const COST: u32 = 32;
/// At most 16 such windows may follow each other closely.
const SAVED: u32 = 16 * COST;

/// The sources of marks, in ascending order of preference: the analysis prefers the most specific
/// one, which is the last.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Model = 1,
    Keras = 2,
    Step = 3,
    Range = 4,
    Named = 5,
}

/// A marked operation, and its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// 0 for none.
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

/// The state of a process. All zeros is the initial state.
pub(super) struct Schedule {
    leader: Mark,
    /// Marks of others since the leader's last.
    others: u32,
    phase: Phase,
    /// Iterations of the leader that began in this phase.
    count: u32,
    gap: u32,
    /// The cost of the windows that new events have opened.
    spent: u32,
    /// Marks of a lower rank cannot lead.
    least: u8,
}

impl Schedule {
    /// Returns whether detail is left out.
    pub(super) fn is_sparse(&self) -> bool {
        self.phase == Phase::Sparse
    }

    /// Counts the beginning of an iteration.
    pub(super) fn mark(&mut self, mark: Mark, also_ends: bool) {
        if mark.rank() < self.least {
            return;
        }
        if mark != self.leader {
            self.others = self.others.saturating_add(1);
            // A more specific source, or the previous leader has been silent for a long time.
            if mark.rank() > self.leader.rank() || self.others >= AT_FIRST {
                self.begin_with(mark, 1 + u32::from(also_ends));
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

    /// Opens a window for a new event: this iteration and the next ones are recorded in
    /// detail.
    pub(super) fn request_window(&mut self) {
        let opened = self.phase == Phase::Window && self.count == 0;
        if self.phase == Phase::AtFirst || opened || self.spent + COST > SAVED {
            return;
        }
        self.spent += COST;
        self.phase = Phase::Window;
        self.count = 0;
    }

    /// Expects marks of this rank: lower ranks are not iterations.
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

    fn new() -> Schedule {
        let nothing = Mark {
            source: 0,
            thread: 0,
        };
        Schedule {
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

    /// The numbers of iterations that are alternately in detail and sparse.
    fn runs(schedule: &mut Schedule, mark: Mark, iterations: usize) -> Vec<usize> {
        let mut found = vec![0];
        let mut sparse = false;
        for _ in 0..iterations {
            schedule.mark(mark, false);
            if schedule.is_sparse() != sparse {
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
        let mut schedule = new();
        let steps = (0..200).filter(|_| {
            schedule.mark(Mark::new(Rank::Step, 1, 1, 1), true);
            !schedule.is_sparse()
        });
        // The first iteration ended with the first mark.
        assert_eq!(steps.count() - 16, 63);
    }

    #[test]
    fn something_new_opens_a_window_but_not_in_every_iteration() {
        let mut schedule = new();
        runs(&mut schedule, model(1), 70);
        assert!(schedule.is_sparse());
        for _ in 0..100 {
            // All in one iteration: one window.
            schedule.request_window();
        }
        assert_eq!(runs(&mut schedule, model(1), 32), [8, 24]);
        let mut detailed = 0;
        for _ in 0..10_000 {
            schedule.request_window();
            schedule.mark(model(1), false);
            detailed += u32::from(!schedule.is_sparse());
        }
        assert!((1000..4000).contains(&detailed), "{detailed}");
    }

    #[test]
    fn the_most_specific_leads_and_begins_anew() {
        let mut schedule = new();
        runs(&mut schedule, model(1), 80);
        let step = Mark::new(Rank::Step, 1, 1, 1);
        schedule.mark(step, true);
        assert!(!schedule.is_sparse());
        // Calls inside the steps no longer count.
        for _ in 0..62 {
            runs(&mut schedule, model(1), 3);
            schedule.mark(step, true);
            assert!(!schedule.is_sparse());
        }
        schedule.mark(step, true);
        assert!(schedule.is_sparse());
        let range = Mark::new(Rank::Range, 0, 7, 1);
        assert_eq!(runs(&mut schedule, range, 65), [64, 1]);
    }

    #[test]
    fn one_of_several_interleaved_marks_leads_on_its_thread() {
        let mut schedule = new();
        for turn in 0..64 {
            for name in 1..40 {
                schedule.mark(model(name), false);
            }
            schedule.mark(Mark::new(Rank::Model, 2, 1, 2), false);
            assert!(!schedule.is_sparse(), "{turn}");
        }
        schedule.mark(model(1), false);
        assert!(schedule.is_sparse());
        // When it falls silent, another takes its place.
        assert_eq!(runs(&mut schedule, model(2), 127), [0, 63, 64]);
    }

    #[test]
    fn lower_ranks_do_not_lead_while_steps_are_expected() {
        let mut schedule = new();
        runs(&mut schedule, model(1), 70);
        schedule.expect(Rank::Step);
        assert_eq!(runs(&mut schedule, model(1), 500), [500]);
        let step = Mark::new(Rank::Step, 1, 1, 1);
        assert_eq!(runs(&mut schedule, step, 65), [64, 1]);
    }
}
