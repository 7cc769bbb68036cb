//! Detects iterations from the period of the kernel launches.

use std::collections::HashMap;

use super::super::facts::Facts;
use super::super::timers::Regions;
use super::super::trace::{Span, SpanKind};
use super::{Detected, StartData, begins, earliest_of};

/// The number of last launches that are searched for a period.
const MAX_SEARCHED_FOR_PERIOD: usize = 1 << 20;
/// The number of first launches that are searched for iterations.
const MAX_LAUNCHES: usize = 1 << 22;

/// A launch: its time and function.
#[derive(Clone, Copy)]
struct Launch {
    begin: u64,
    function: u32,
}

/// The iterations of the process whose first iteration ends first, among those that launch
/// kernels periodically.
pub(super) fn find(start: &StartData) -> Option<Detected> {
    find_by(start, |functions| {
        period(functions).or_else(|| twice(functions))
    })
}

/// The last launches of a process, if they occur twice and nowhere before: other kernels set
/// something up. Two launches of one model call, or of one step, are not iterations.
pub(super) fn find_last(start: &StartData) -> Option<Detected> {
    let found = find_by(start, twice_after_set_up)?;
    let between = found.iterations.first()?.1;
    let is_around = |span: &Span| {
        matches!(span.what, SpanKind::Iteration(_)) && span.begin < between && between < span.end
    };
    let threads = &start.facts[found.process].process.threads;
    let within = (threads.iter()).any(|thread| thread.spans.iter().any(is_around));
    (!within).then_some(found)
}

fn find_by(start: &StartData, repeating: impl Fn(&[u32]) -> Option<Period>) -> Option<Detected> {
    let all = (start.facts.iter().enumerate())
        .filter_map(|(at, facts)| find_in(start.regions, (at, facts), &repeating));
    earliest_of(all.collect())
}

/// The iterations of a process.
fn find_in(
    regions: &Regions,
    (process, facts): (usize, &Facts),
    repeating: impl Fn(&[u32]) -> Option<Period>,
) -> Option<Detected> {
    let launches = facts.count_in_all(SpanKind::Launch);
    if launches == 0 {
        return None;
    }
    let threads = 0..facts.process.threads.len();
    let thread = threads
        .rev()
        .max_by_key(|thread| facts.count(*thread, SpanKind::Launch))?;
    let count = match facts.process.sparse.is_empty() {
        true => usize::try_from(launches).unwrap_or(0),
        false => merged(facts).count(),
    };
    let skipped = count.saturating_sub(MAX_SEARCHED_FOR_PERIOD);
    let functions = merged(facts).skip(skipped).map(|launch| launch.function);
    let functions: Vec<u32> = functions.collect();
    let found = repeating(&functions)?;
    let block = &functions[found.end - found.length..found.end];
    let launches: Vec<Launch> = merged(facts).take(MAX_LAUNCHES).collect();
    let anchors = anchors(&launches, block, skipped + found.end);
    let at_anchors = at_anchors(&launches, &anchors);
    let times: Vec<u64> = launches.iter().map(|launch| launch.begin).collect();
    let begins = begins::timed(regions, (process, thread), &at_anchors, &times)
        .unwrap_or_else(|| begins::begins(facts, thread, &at_anchors));
    Some(Detected {
        process,
        thread,
        iterations: iterations(facts, thread, &launches, &anchors, &begins.times, &found),
        period: found.length,
        begins: begins.words,
        ..Detected::default()
    })
}

/// The launches of all threads in chronological order, until the first omitted one.
fn merged(facts: &Facts) -> impl Iterator<Item = Launch> {
    let all = facts.process.threads.iter().enumerate();
    let mut threads: Vec<_> = all
        .filter(|(index, _)| facts.count(*index, SpanKind::Launch) > 0)
        .map(|(_, thread)| {
            let spans = thread.spans.iter().filter(|s| s.what == SpanKind::Launch);
            spans.peekable()
        })
        .collect();
    let in_detail = facts
        .process
        .sparse
        .first()
        .map_or(u64::MAX, |first| first.0);
    std::iter::from_fn(move || {
        let begins = threads.iter_mut().enumerate();
        let begins = begins.filter_map(|(at, spans)| Some((spans.peek()?.begin, at)));
        let (_, next) = begins.min().filter(|(begin, _)| *begin < in_detail)?;
        let span = threads[next].next()?;
        Some(Launch {
            begin: span.begin,
            function: span.detail,
        })
    })
}

/// The launches that begin iterations. A function that occurs once per period marks them,
/// even before the sequence is strictly periodic. If there are several, use one that is
/// launched as often as most, because a kernel also used in warm-up or set-up would be
/// misleading.
fn anchors(launches: &[Launch], block: &[u32], end: usize) -> Vec<usize> {
    let mut in_block: HashMap<u32, usize> = HashMap::new();
    for function in block {
        *in_block.entry(*function).or_insert(0) += 1;
    }
    let fewest = in_block.values().copied().min().unwrap_or(1);
    let mut in_all: HashMap<u32, (usize, usize)> = HashMap::new();
    for (at, launch) in launches.iter().enumerate() {
        if in_block.get(&launch.function) == Some(&fewest) {
            let (_, count) = in_all.entry(launch.function).or_insert((at, 0));
            *count += 1;
        }
    }
    let mut by_count: HashMap<usize, usize> = HashMap::new();
    for (_, count) in in_all.values() {
        *by_count.entry(*count).or_insert(0) += 1;
    }
    let usual = by_count
        .iter()
        .max_by_key(|(count, times)| (**times, **count));
    let usual = usual.map_or(0, |(count, _)| *count);
    let marks = in_all.iter().filter(|(_, (_, count))| *count == usual);
    let Some((anchor, _)) = marks.min_by_key(|(_, (first, _))| *first) else {
        return Vec::new();
    };
    let of_anchor = launches.iter().enumerate();
    let places: Vec<usize> = of_anchor
        .filter(|(_, launch)| launch.function == *anchor)
        .map(|(at, _)| at)
        .collect();
    if fewest == 1 {
        // Of two launches much closer than a period, only one begins an iteration.
        let begins_iteration = |at: usize| {
            let next = places.get(at + 1).copied().unwrap_or(usize::MAX);
            next - places[at] >= block.len() / 2
        };
        return (0..places.len())
            .filter(|at| begins_iteration(*at))
            .map(|at| places[at])
            .collect();
    }
    // The first anchor launch in the periodic block, and every n-th from there, in both
    // directions.
    let begin = end - block.len();
    let first = places.partition_point(|place| *place < begin);
    places
        .into_iter()
        .skip(first % fewest)
        .step_by(fewest)
        .collect()
}

/// The time of each anchor and of the launch before it.
fn at_anchors(launches: &[Launch], anchors: &[usize]) -> Vec<begins::Anchor> {
    let time = |at: usize| launches.get(at).map_or(0, |launch| launch.begin);
    let anchor = |at: &usize| begins::Anchor {
        launch: time(*at),
        before: at.checked_sub(1).map_or(0, time),
    };
    anchors.iter().map(anchor).collect()
}

/// From begin to begin. The last iteration ends with its last launch, or with a
/// synchronization right after it.
fn iterations(
    facts: &Facts,
    thread: usize,
    launches: &[Launch],
    anchors: &[usize],
    begins: &[u64],
    found: &Period,
) -> Vec<(u64, u64)> {
    let mut iterations: Vec<(u64, u64)> =
        (begins.windows(2)).map(|pair| (pair[0], pair[1])).collect();
    if let (Some(last), Some(begin)) = (anchors.last(), begins.last())
        && let Some(final_launch) = launches.get(last + found.length - 1)
    {
        let next = launches.get(last + found.length);
        let next = next.map_or(u64::MAX, |launch| launch.begin);
        let spans = &facts.process.threads[thread].spans;
        let from = spans.partition_point(|span| span.begin < final_launch.begin);
        let after = spans[from..].iter().take_while(|span| span.begin < next);
        let ends = |span: &&Span| span.what == SpanKind::Launch || facts.waits_for_device(span);
        let end = after.filter(ends).map(|span| span.end).max();
        iterations.push((*begin, end.unwrap_or(final_launch.begin + 1)));
    }
    iterations
}

// The period of a sequence whose end is steady.
//
// The prefix function (Knuth, Morris & Pratt 1977) of the reversed sequence gives the
// smallest period of every suffix in one pass. A program may do something else at its end,
// so the search is repeated without the last part.

/// The minimum number of repetitions of a period.
const MIN_REPETITIONS: usize = 3;
/// A shorter period with fewer repetitions than this is a run within a longer one.
const MIN_REPETITIONS_OF_SHORTER: usize = 5;
/// A repetition that covers less than one n-th of the sequence is a coincidence.
const OF_ALL: usize = 20;
/// The longest block that is searched for after set-up. A longer one is most of the launches.
const MAX_LENGTH_OF_PAIR: usize = 1 << 12;
/// The fractions to omit at the end.
const OMITTED: [(usize, usize); 5] = [(0, 1), (1, 16), (1, 8), (1, 4), (1, 2)];

/// A period and its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    /// The number of elements that repeat.
    pub length: usize,
    /// The number of elements covered by the repetition.
    pub covered: usize,
    /// The index after the repetition.
    pub end: usize,
}

/// The period that covers the most; none if nothing repeats three times.
pub(super) fn period(sequence: &[u32]) -> Option<Period> {
    let mut best: Option<Period> = None;
    for (part, of) in OMITTED {
        let end = sequence.len() - sequence.len() * part / of;
        // Shorter sequences cannot cover more than the best so far.
        if best.is_some_and(|best| best.covered >= end) {
            break;
        }
        if let Some(found) = at_end(&sequence[..end])
            && best.is_none_or(|best| found.covered > best.covered)
        {
            best = Some(found);
        }
    }
    best.filter(|best| best.covered * OF_ALL >= sequence.len())
}

/// A block that occurs twice at the end of the sequence, if both together cover most of it.
pub(super) fn twice(sequence: &[u32]) -> Option<Period> {
    let n = sequence.len();
    let is_twice = |length: &usize| {
        let (before, last) = sequence[n - 2 * length..].split_at(*length);
        before == last
    };
    let length = (n / 4 + 1..=n / 2).rev().find(is_twice)?;
    Some(Period {
        length,
        covered: 2 * length,
        end: n,
    })
}

/// A block that occurs twice at the end of the sequence and whose elements occur nowhere
/// before; the longest one.
pub(super) fn twice_after_set_up(sequence: &[u32]) -> Option<Period> {
    let n = sequence.len();
    let is_twice = |length: &usize| {
        let (set_up, both) = sequence.split_at(n - 2 * length);
        let (before, last) = both.split_at(*length);
        before == last && !set_up.iter().any(|function| last.contains(function))
    };
    let length = (1..=(n / 2).min(MAX_LENGTH_OF_PAIR)).rev().find(is_twice)?;
    Some(Period {
        length,
        covered: 2 * length,
        end: n,
    })
}

/// The period of the last elements.
fn at_end(sequence: &[u32]) -> Option<Period> {
    let n = sequence.len();
    let at = |index: usize| sequence[n - 1 - index];
    // border[i]: the longest proper border of the first i + 1 reversed elements.
    let mut border = vec![0u32; n];
    for i in 1..n {
        let mut k = border[i - 1] as usize;
        while k > 0 && at(i) != at(k) {
            k = border[k - 1] as usize;
        }
        border[i] = (k + usize::from(at(i) == at(k))) as u32;
    }
    // The coverage of each period. Periods only grow with the length.
    let mut candidates: Vec<(usize, usize)> = Vec::new();
    for (i, border) in border.iter().enumerate() {
        let covered = i + 1;
        let length = covered - *border as usize;
        if covered < MIN_REPETITIONS * length {
            continue;
        }
        match candidates.last_mut() {
            Some((last, most)) if *last == length => *most = covered,
            _ => candidates.push((length, covered)),
        }
    }
    let most = candidates.iter().map(|candidate| candidate.1).max()?;
    let (length, covered) = *candidates.iter().find(|(length, covered)| {
        *covered == most
            || (*covered >= most / 4 && *covered >= MIN_REPETITIONS_OF_SHORTER * length)
    })?;
    Some(Period {
        length,
        covered,
        end: n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Rng;

    fn launches(functions: &[u32]) -> Vec<Launch> {
        let launch = |(at, function): (usize, &u32)| Launch {
            begin: at as u64,
            function: *function,
        };
        functions.iter().enumerate().map(launch).collect()
    }

    #[test]
    fn launches_of_set_up_begin_no_iterations() {
        // Kernel 1 is launched twice before the steps, which are 1 2 3 3.
        let all = launches(&[9, 1, 1, 1, 2, 3, 3, 1, 2, 3, 3, 1, 2, 3, 3]);
        assert_eq!(anchors(&all, &[1, 2, 3, 3], 15), [3, 7, 11]);
    }

    #[test]
    fn warm_up_iterations_with_other_kernels_count_too() {
        // The first step uses 7 where later ones use 2.
        let all = launches(&[1, 7, 4, 1, 2, 4, 1, 2, 4, 1, 2, 4]);
        assert_eq!(anchors(&all, &[1, 2, 4], 12), [0, 3, 6, 9]);
    }

    #[test]
    fn without_a_unique_kernel_every_nth_launch_counts() {
        let all = launches(&[9, 5, 5, 6, 6, 5, 5, 6, 6, 5, 5, 6, 6]);
        assert_eq!(anchors(&all, &[5, 5, 6, 6], 13), [1, 5, 9]);
    }

    fn found(sequence: &[u32]) -> Option<(usize, usize)> {
        period(sequence).map(|period| (period.length, period.covered))
    }

    #[test]
    fn repetitions_at_the_end_are_found() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[1, 2]), None);
        assert_eq!(found(&[1, 1, 1]), Some((1, 3)));
        assert_eq!(found(&[7, 8, 9, 1, 2, 3, 1, 2, 3, 1, 2, 3]), Some((3, 9)));
        assert_eq!(found(&[5, 1, 2, 6, 3]), None);
    }

    #[test]
    fn a_run_within_a_period_is_not_the_period() {
        // A step that ends with one kernel per parameter, for 60 parameters.
        let mut step: Vec<u32> = (0..40).collect();
        step.extend([99; 60]);
        let steps = step.repeat(6);
        assert_eq!(found(&steps), Some((100, 600)));
    }

    #[test]
    fn launches_after_the_loop_do_not_hide_it() {
        let mut sequence: Vec<u32> = (0..10).collect::<Vec<_>>().repeat(50);
        sequence.extend(1000..1020);
        let period = period(&sequence).unwrap();
        assert_eq!(period.length, 10);
        assert!(period.covered >= 450 && period.end <= 500);
    }

    #[test]
    fn steps_within_epochs_are_the_period() {
        let step: Vec<u32> = (0..10).collect();
        let mut epoch = vec![50, 51];
        epoch.extend(step.repeat(40));
        assert_eq!(found(&epoch.repeat(3)).unwrap().0, 10);
    }

    #[test]
    fn a_million_random_launches_have_no_period() {
        let mut rng = Rng::new(1);
        let random: Vec<u32> = (0..5000).map(|_| rng.below(50) as u32).collect();
        assert_eq!(found(&random), None);
        let many: Vec<u32> = (0..1_000_000).map(|i| i % 161).collect();
        assert_eq!(found(&many), Some((161, 1_000_000)));
    }

    #[test]
    fn two_occurrences_are_a_repetition_if_there_is_little_else() {
        let length = |sequence: &[u32]| twice(sequence).map(|found| found.length);
        assert_eq!(length(&[7, 7]), Some(1));
        assert_eq!(length(&[9, 1, 2, 1, 2]), Some(2));
        assert_eq!(length(&[1, 2, 3, 1, 2, 3]), Some(3));
        for other in [&[][..], &[7], &[1, 2], &[1, 2, 3, 4, 5, 5]] {
            assert_eq!(length(other), None, "{other:?}");
        }
    }

    #[test]
    fn the_last_launches_repeat_if_set_up_uses_other_kernels() {
        let length = |sequence: &[u32]| twice_after_set_up(sequence).map(|found| found.length);
        assert_eq!(length(&[9, 8, 1, 1]), Some(1));
        assert_eq!(length(&[1, 2, 3, 4, 5, 5]), Some(1));
        assert_eq!(length(&[9, 8, 7, 6, 5, 1, 2, 1, 2]), Some(2));
        // The pair of 2 lies within the pair of 1 2 2.
        assert_eq!(length(&[9, 8, 7, 6, 1, 2, 2, 1, 2, 2]), Some(3));
        for other in [&[][..], &[7], &[1, 2], &[5, 9, 5, 5], &[9, 1, 1, 7]] {
            assert_eq!(length(other), None, "{other:?}");
        }
    }
}
