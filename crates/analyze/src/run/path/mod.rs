//! The path: from `exec` on, one cause at each instant.
//!
//! The path follows the thread that runs the iterations ([`phases`]). Its innermost span
//! determines the cause ([`sweep`]); if there is none, the load of the thread ([`samples`])
//! and the work of other threads and processes ([`idle`]) do. Every nanosecond is counted
//! once ([`sink`]), so that the causes add up to the time.

mod children;
mod idle;
mod names;
mod other_thread;
mod parts;
mod phases;
mod sampled;
mod samples;
mod sink;
mod sweep;
mod tally;

use super::facts::Facts;
use super::trace::StartTrace;
use children::Children;
use idle::{Others, plain};
use names::Names;
use phases::{Phase, phases};
use sampled::ByThread;
use samples::portion;
use sink::Sink;
use sweep::Sweep;

pub(super) use children::{is_compile_worker, is_compiler, is_preheat_start, name as program_name};
pub(super) use names::thread_name;
pub(super) use parts::{Part, at_most};
pub(super) use phases::{main_thread, root};
pub(super) use sampled::Sampled;
pub(super) use tally::{CAUSES, Catalogue, ItemId, ItemMeaning, Sum, Tally};

/// The time to partition.
pub(super) struct Request<'a> {
    /// The process and thread that the path leads to; none if nothing was recorded.
    pub thread: Option<(usize, usize)>,
    /// The iterations; in order and disjoint.
    pub iterations: &'a [(u64, u64)],
    /// The threads of the iterations, if there are several; otherwise empty.
    pub threads: &'a [usize],
    /// The indices of iterations after the first that are also summed, in order.
    pub later: &'a [usize],
}

/// A start's time, partitioned by cause.
pub(super) struct Partition {
    /// Before the first iteration; all time if there is none.
    pub before: Tally,
    /// In the first iteration.
    pub first: Tally,
    /// In the requested later iterations.
    pub later: Vec<[u64; CAUSES]>,
    /// The path until the end of the third iteration, or to the end without iterations.
    pub parts: Vec<Part>,
    /// Nanoseconds until the end of the first iteration in which the path waited for a
    /// processor, including time within calls.
    pub waited_for_processor: f64,
    /// The part of it in the first iteration.
    pub waited_in_first: f64,
    /// Samples of the program's own CPU time until the end of the first iteration.
    pub sampled: Vec<Sampled>,
    pub catalogue: Catalogue,
}

/// Partitions the time of a start.
pub(super) fn partition(trace: &StartTrace, facts: &[Facts], request: &Request) -> Partition {
    let mut sink = Sink::new(request.iterations, request.later, trace.end);
    let mut catalogue = Catalogue::new(facts);
    let until = sink.until();
    let phases = match request.thread {
        Some((process, thread)) if request.threads.is_empty() => {
            phases(trace, process, thread, until)
        }
        Some((process, _)) => phases_of_each(trace, process, request, until),
        None => Vec::new(),
    };
    let mut on_path: Vec<usize> = phases.iter().map(|phase| phase.process).collect();
    on_path.sort_unstable();
    on_path.dedup();
    let names = Names::of(on_path.iter().map(|process| &trace.processes[*process]));
    let threads = ByThread::of(&trace.stacks);
    let mut now = 0;
    for phase in &phases {
        // Exclude ancestors on the path, but include the workers of all processes on it.
        let children = Children::new(trace, &on_path, &threads);
        let others = Others::new(facts, phase, (children, &threads), names, &mut catalogue);
        let own = &facts[phase.process];
        let into = (&mut catalogue, &mut sink);
        Sweep::new(own, phase, (others, &threads), names, into).follow(own, phase);
        now = phase.to;
    }
    if now < until {
        let item = catalogue.named("not recorded");
        sink.add(plain(now, until, super::Cause::Unexplained, item));
    }
    Partition {
        before: sink.before,
        first: sink.first,
        later: sink.later,
        parts: sink.parts.done(),
        waited_for_processor: sink.waited,
        waited_in_first: sink.waited_in_first,
        sampled: sink.sampled,
        catalogue,
    }
}

/// The phases of iterations in several threads: up to the end of each iteration, the path follows
/// its thread.
fn phases_of_each(trace: &StartTrace, process: usize, request: &Request, until: u64) -> Vec<Phase> {
    let mut all: Vec<Phase> = Vec::new();
    for (thread, (_, end)) in request.threads.iter().zip(request.iterations) {
        let now = all.last().map_or(0, |phase| phase.to);
        let to = (*end).min(until);
        match now {
            0 => all = phases(trace, process, *thread, to),
            from if from < to => all.push(Phase {
                process,
                thread: *thread,
                from,
                to,
            }),
            _ => {}
        }
    }
    all
}

// Time that is not accounted for yet.

/// Disjoint intervals, in order.
#[derive(Default)]
struct Free {
    intervals: Vec<(u64, u64)>,
    scratch: Vec<(u64, u64)>,
}

impl Free {
    /// Makes everything between two instants free.
    fn reset(&mut self, begin: u64, end: u64) {
        self.intervals.clear();
        self.intervals.push((begin, end));
    }

    fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// The free intervals.
    fn rest(&self) -> impl Iterator<Item = (u64, u64)> {
        self.intervals.iter().copied()
    }

    /// Removes disjoint, ordered intervals from the free time, and calls `taken` for each
    /// removed part.
    fn take<T: Copy>(
        &mut self,
        intervals: impl Iterator<Item = (u64, u64, T)>,
        taken: impl FnMut(u64, u64, T),
    ) {
        self.take_share(intervals, 1.0, taken);
    }

    /// Removes only a share of the free time in each interval. It is unknown which part was
    /// used, so the first part is removed.
    fn take_share<T: Copy>(
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
