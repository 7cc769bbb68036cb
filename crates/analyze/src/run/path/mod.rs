//! The path: from `exec` on, one cause at each instant.
//!
//! The path follows the thread that runs the iterations ([`phases`]). Its innermost span
//! determines the cause ([`sweep`]); if there is none, the load of the thread ([`samples`])
//! and the work of other threads and processes ([`others`]) do. Every nanosecond is counted
//! once ([`sink`]), so that the causes add up to the time.

mod catalogue;
mod children;
mod free;
mod names;
mod other_thread;
mod others;
mod parts;
mod phases;
mod sampled;
mod samples;
mod sink;
mod sweep;
mod tally;

pub(super) use catalogue::{Catalogue, ItemId, Meant};
pub(super) use children::{is_compiler, is_preheat_start, name as program_name};
pub(super) use names::thread_name;
pub(super) use parts::{Part, at_most};
pub(super) use phases::{main_thread, root};
pub(super) use sampled::Sampled;
pub(super) use tally::{CAUSES, Sum, Tally};

use super::facts::Facts;
use super::trace::StartTrace;
use children::Children;
use names::Names;
use others::{Others, plain};
use phases::{Phase, phases};
use sampled::ByThread;
use sink::Sink;
use sweep::Sweep;

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
