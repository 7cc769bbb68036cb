//! Lines of output: each ends an iteration.

use super::{Found, Seen};
use crate::run::path::{is_compiler, main_thread, root};
use crate::run::trace::{Process, StartTrace, Thread, What};

/// From one line to the next; the first from the end of the last import before it, or
/// from where the program's own code began.
pub(super) fn find(start: &Seen) -> Option<Found> {
    let first = *start.trace.lines.first()?;
    let (process, thread) = busiest(start.trace).unwrap_or((usize::MAX, 0));
    let begin = start.trace.processes.get(process).map_or(0, |process| {
        let begin = process.python_ready.or(process.main);
        let spans = process.threads.iter().flat_map(|thread| &thread.spans);
        let imports = spans.filter(|span| span.what == What::Import && span.end < first);
        let last = imports.map(|span| span.end).max().unwrap_or(0);
        begin.unwrap_or(process.began).max(last)
    });
    let mut iterations = vec![(begin.min(first.saturating_sub(1)), first)];
    iterations.extend(start.trace.lines.windows(2).map(|pair| (pair[0], pair[1])));
    Some(Found {
        process,
        thread,
        iterations,
        period: 0,
    })
}

/// A process that did this part of what the busiest did is the program itself, if it is
/// the earlier one; what did less is a wrapper.
const WORTH_FOLLOWING: f64 = 0.2;

/// The process to follow where no iterations say it, and the thread that it begins with:
/// the first that did something.
pub(in crate::run) fn busiest(trace: &StartTrace) -> Option<(usize, usize)> {
    let root = root(trace);
    // A compiler or another tool is what a program waits for, not the program.
    let own: Vec<usize> = (0..trace.processes.len())
        .filter(|at| Some(*at) == root || !is_compiler(&trace.processes[*at]))
        .collect();
    let first_of = |work: fn(&Process) -> u64| {
        let most = own.iter().map(|at| work(&trace.processes[*at])).max()?;
        let least = WORTH_FOLLOWING * most as f64;
        let works = |at: &&usize| most > 0 && work(&trace.processes[**at]) as f64 >= least;
        own.iter()
            .filter(works)
            .min_by_key(|at| trace.processes[**at].began)
    };
    let found = first_of(cpu).or_else(|| first_of(spans)).copied().or(root);
    let found = found.or_else(|| own.first().copied())?;
    Some((found, main_thread(&trace.processes[found])))
}

fn cpu(process: &Process) -> u64 {
    let of = |thread: &Thread| {
        let first = thread.samples.first().map_or(0, |sample| sample.cpu);
        let last = thread.samples.last().map_or(0, |sample| sample.cpu);
        last.saturating_sub(first)
    };
    process.threads.iter().map(of).sum()
}

fn spans(process: &Process) -> u64 {
    process
        .threads
        .iter()
        .map(|thread| thread.spans.len() as u64)
        .sum()
}
