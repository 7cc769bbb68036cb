//! Lines of output: each ends an iteration.

use super::{Found, Seen};
use crate::run::path::{is_compiler, main_thread, root};
use crate::run::trace::{Process, StartTrace, Thread, What};

/// From one line to the next; the first from where it begins by what later ones consist of.
pub(super) fn find(start: &Seen) -> Option<Found> {
    let lines = &start.trace.lines;
    let first = *lines.first()?;
    let (process, thread) = busiest(start.trace).unwrap_or((usize::MAX, 0));
    let begin = start.trace.processes.get(process).map_or(0, |found| {
        let repeated = regions_begin(start, process).or_else(|| launches_begin(start, process));
        repeated.unwrap_or_else(|| code_begins(found, first))
    });
    let mut iterations = vec![(begin.min(first.saturating_sub(1)), first)];
    iterations.extend(lines.windows(2).map(|pair| (pair[0], pair[1])));
    Some(Found {
        process,
        thread,
        iterations,
        period: 0,
    })
}

/// Where the program's own code began, after the last import before the first line.
fn code_begins(process: &Process, first: u64) -> u64 {
    let begin = process.python_ready.or(process.main);
    let spans = process.threads.iter().flat_map(|thread| &thread.spans);
    let imports = spans.filter(|span| span.what == What::Import && span.end < first);
    let last = imports.map(|span| span.end).max().unwrap_or(0);
    begin.unwrap_or(process.began).max(last)
}

/// By the regions that the program times: of one that is executed between lines, the
/// execution that the first line ends.
fn regions_begin(start: &Seen, process: usize) -> Option<u64> {
    let regions = start.regions.all.iter();
    let begins = regions.filter(|region| region.known).filter_map(|region| {
        let own = region
            .executions
            .iter()
            .filter(|one| one.process == process);
        let begins: Vec<u64> = own.map(|one| one.begin).collect();
        first_begin(&start.trace.lines, &begins)
    });
    begins.min()
}

/// By the kernels that it launches: as many as between later lines, after what was waited
/// for before them.
fn launches_begin(start: &Seen, process: usize) -> Option<u64> {
    let facts = start.facts.get(process)?;
    let spans = facts
        .process
        .threads
        .iter()
        .flat_map(|thread| &thread.spans);
    let mut launches: Vec<u64> = spans
        .clone()
        .filter(|span| span.what == What::Launch)
        .map(|span| span.begin)
        .collect();
    launches.sort_unstable();
    let launch = first_begin(&start.trace.lines, &launches)?;
    let waits = spans.filter(|span| span.end <= launch && facts.waits_for_device(span));
    // Without a wait before it, everything since the first call of the driver belongs to it.
    let calls = facts
        .process
        .threads
        .iter()
        .flat_map(|thread| &thread.spans);
    let first_call = calls
        .filter(|span| !facts.process.symbol(span).is_empty())
        .map(|span| span.begin)
        .min();
    waits.map(|span| span.end).max().or(first_call)
}

/// Where the first iteration begins, if each later one has the same number of these events:
/// with the first of as many before the first line. Programs may warm up before that.
fn first_begin(lines: &[u64], events: &[u64]) -> Option<u64> {
    let before = |time: u64| events.partition_point(|event| *event < time);
    let mut counts: Vec<usize> = (lines.windows(2))
        .take(1000)
        .map(|pair| before(pair[1]) - before(pair[0]))
        .collect();
    counts.sort_unstable();
    let usual = *counts.get(counts.len() / 2)?;
    let in_first = before(*lines.first()?);
    if usual == 0 || in_first == 0 {
        return None;
    }
    events.get(in_first - usual.min(in_first)).copied()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_ends_as_many_events_as_a_later_one() {
        // Two events before the first line are a warm-up.
        let events = [10, 20, 35, 45, 55];
        assert_eq!(first_begin(&[40, 50, 60], &events), Some(35));
        // Two to a line.
        let events = [5, 10, 21, 24, 41, 44, 61, 64];
        assert_eq!(first_begin(&[30, 50, 70], &events), Some(21));
        assert_eq!(first_begin(&[30], &events), None);
        assert_eq!(first_begin(&[30, 50], &[]), None);
        assert_eq!(first_begin(&[30, 50], &[40]), None);
    }
}
