//! Iterations of several threads: the thread whose first iteration ends first, and threads that
//! share the iterations.

use super::super::facts::Facts;
use super::{Detected, MIN_ITERATIONS, Other, StartData};

/// A thread with at most this share of the iterations of the busiest thread is doing
/// something else.
const MINOR_THREAD_SHARE: f64 = 0.1;

/// The iterations of the thread whose first iteration ends first, with the other threads
/// that iterate.
pub(super) fn earliest(
    start: &StartData,
    iterations_of: impl Fn(&Facts, usize) -> Vec<(u64, u64)>,
) -> Option<Detected> {
    let mut all = Vec::new();
    for (process, facts) in start.facts.iter().enumerate() {
        for thread in 0..facts.process.threads.len() {
            all.push(Detected {
                process,
                thread,
                iterations: iterations_of(facts, thread),
                ..Detected::default()
            });
        }
    }
    earliest_of(all)
}

/// Selects the thread whose first iteration ends first, and stores the others in its `others`.
pub(super) fn earliest_of(mut all: Vec<Detected>) -> Option<Detected> {
    let mut most = all.iter().map(|found| found.iterations.len()).max()?;
    let merged = merge_threads(&all);
    if let Some(merged) = merged.filter(|merged| most < MIN_ITERATIONS.min(merged.iterations.len()))
    {
        most = merged.iterations.len();
        all.retain(|found| found.process != merged.process);
        all.push(merged);
    }
    all.retain(|found| {
        let count = found.iterations.len();
        count >= most.min(MIN_ITERATIONS) && count as f64 > MINOR_THREAD_SHARE * most as f64
    });
    let end = |found: &Detected| found.iterations.first().map_or(u64::MAX, |first| first.1);
    all.sort_by_key(end);
    let mut all = all.into_iter();
    let mut found = all.next()?;
    found.others = all
        .map(|other| Other {
            process: other.process,
            thread: other.thread,
            count: other.iterations.len(),
            first: end(&other),
        })
        .collect();
    Some(found)
}

/// The iterations that several threads of a process run one after the other, such as a thread
/// for each request. Those that begin during another one are left out.
fn merge_threads(all: &[Detected]) -> Option<Detected> {
    let first = |found: &&Detected| found.iterations.first().map(|first| first.1);
    let earliest = (all.iter().filter(|found| !found.iterations.is_empty())).min_by_key(first)?;
    let mut each: Vec<((u64, u64), usize)> = (all.iter())
        .filter(|found| found.process == earliest.process)
        .flat_map(|found| found.iterations.iter().map(|times| (*times, found.thread)))
        .collect();
    each.sort_unstable();
    let mut last = 0;
    each.retain(|((begin, end), _)| {
        let is_separate = *begin >= last && begin < end;
        if is_separate {
            last = *end;
        }
        is_separate
    });
    Some(Detected {
        process: earliest.process,
        thread: each.first()?.1,
        iterations: each.iter().map(|(times, _)| *times).collect(),
        threads: each.iter().map(|(_, thread)| *thread).collect(),
        ..Detected::default()
    })
}

/// The process and thread with the highest `count`; the earliest of equals.
pub(super) fn busiest_thread(
    start: &StartData,
    count: impl Fn(&Facts, usize) -> usize,
) -> Option<(usize, usize)> {
    let mut best = None;
    let mut highest = 0;
    for (process, facts) in start.facts.iter().enumerate() {
        for thread in 0..facts.process.threads.len() {
            let count = count(facts, thread);
            if count > highest {
                (best, highest) = (Some((process, thread)), count);
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_first_result_counts_and_the_others_are_listed() {
        let found = |thread: usize, count: usize, begin: u64| Detected {
            thread,
            iterations: (0..count as u64)
                .map(|i| (begin + 10 * i, begin + 10 * i + 5))
                .collect(),
            ..Detected::default()
        };
        let all = vec![
            found(0, 60, 50),
            found(1, 30, 20),
            // A few warm-up calls, and a thread without any.
            found(2, 2, 1),
            found(3, 0, 0),
        ];
        let chosen = earliest_of(all).expect("one of them");
        assert_eq!((chosen.thread, chosen.iterations.len()), (1, 30));
        let others: Vec<_> = chosen
            .others
            .iter()
            .map(|other| (other.thread, other.count, other.first))
            .collect();
        assert_eq!(others, [(0, 60, 55)]);
        assert_eq!(earliest_of(Vec::new()), None);
        // One iteration each, at the same time.
        let one = earliest_of(vec![found(0, 1, 5), found(1, 1, 3)]).expect("one of them");
        assert_eq!((one.thread, one.iterations.len()), (1, 1));
        assert_eq!((one.threads.len(), one.others.len()), (0, 1));
    }

    #[test]
    fn threads_that_follow_each_other_share_the_iterations() {
        let found = |process: usize, thread: usize, iterations: &[(u64, u64)]| Detected {
            process,
            thread,
            iterations: iterations.to_vec(),
            ..Detected::default()
        };
        let all = vec![
            found(0, 2, &[(20, 25)]),
            found(0, 1, &[(10, 15), (30, 35)]),
            // It overlaps another one.
            found(0, 3, &[(33, 36)]),
            found(1, 0, &[(12, 18)]),
        ];
        let merged = earliest_of(all).expect("they follow each other");
        assert_eq!(merged.iterations, [(10, 15), (20, 25), (30, 35)]);
        assert_eq!((merged.thread, &merged.threads[..]), (1, &[1, 2, 1][..]));
        assert_eq!(merged.all_threads(), [1, 2]);
        // Three iterations of one thread are enough.
        let loops = [(20, 25), (30, 35), (40, 45)];
        let alone = earliest_of(vec![found(0, 1, &[(10, 15)]), found(0, 2, &loops)]);
        assert_eq!(alone.map(|found| found.iterations.len()), Some(3));
    }
}
