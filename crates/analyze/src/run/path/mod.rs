//! The path: from `exec` on, one cause at each instant.
//!
//! The path follows the thread that runs the iterations ([`phases`]). Its innermost span
//! decides ([`sweep`]); where there is none, how busy the thread was ([`samples`]) and
//! what other threads and processes did meanwhile ([`others`]). Every nanosecond is
//! counted once ([`sink`]), so that the causes add up to the time.

mod catalogue;
mod children;
mod free;
mod names;
mod other;
mod others;
mod parts;
mod phases;
mod sampled;
mod samples;
mod sink;
mod sweep;
mod tally;

pub(super) use catalogue::{Catalogue, ItemId, Meant};
pub(super) use children::{is_compiler, name as program_name};
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
use phases::phases;
use sampled::ByThread;
use sink::Sink;
use sweep::Sweep;

/// What is to be partitioned.
pub(super) struct Request<'a> {
    /// The process and thread that the path leads to; none if nothing was recorded.
    pub thread: Option<(usize, usize)>,
    /// Iterations, in order and apart.
    pub iterations: &'a [(u64, u64)],
    /// Which of them beyond the first are summed too, in order.
    pub later: &'a [usize],
}

/// Where the time went.
pub(super) struct Partition {
    /// Before the first iteration; everything, where there is none.
    pub before: Tally,
    /// In the first iteration.
    pub first: Tally,
    /// In the later iterations that were asked for.
    pub later: Vec<[u64; CAUSES]>,
    /// The path until the end of the third iteration; of everything without iterations.
    pub parts: Vec<Part>,
    /// How long it waited for a processor until the end of the first iteration, also
    /// within calls, in nanoseconds.
    pub waited_for_processor: f64,
    /// Samples of own CPU time until the end of the first iteration.
    pub sampled: Vec<Sampled>,
    pub catalogue: Catalogue,
}

/// Partitions a start's time.
pub(super) fn partition(trace: &StartTrace, facts: &[Facts], request: &Request) -> Partition {
    let mut sink = Sink::new(request.iterations, request.later, trace.end);
    let mut catalogue = Catalogue::new(facts);
    let until = sink.until();
    let phases = match request.thread {
        Some((process, thread)) => phases(trace, process, thread, until),
        None => Vec::new(),
    };
    let mut on_path: Vec<usize> = phases.iter().map(|phase| phase.process).collect();
    on_path.sort_unstable();
    on_path.dedup();
    let names = Names::of(on_path.iter().map(|process| &trace.processes[*process]));
    let threads = ByThread::of(&trace.stacks);
    let mut now = 0;
    for phase in &phases {
        // A parent on the path is no child of its child, but workers of both are.
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
        sampled: sink.sampled,
        catalogue,
    }
}
