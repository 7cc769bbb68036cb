//! Examines one start: its iterations, and the causes of its time to first.

use super::detail::{self, detailed};
use super::facts::Facts;
use super::iterations::{Detected, busiest};
use super::path::{
    CAUSES, Catalogue, ItemMeaning, Part, Partition, Request, Sampled, Tally, partition,
};
use super::trace::StartTrace;
use super::{Cause, PathPart, StartAnalysis, items};
use crate::stats::{StartSummary, median, summarize_start};

/// Iterations beyond this number add no information.
pub(super) const MAX_ITERATIONS: usize = 5000;
/// At most this many steady iterations are broken down by cause.
const MAX_STEADY: usize = 301;

/// If no steady iteration is detailed, this many of the last detailed ones are used
/// instead.
const LAST_IN_DETAIL: usize = 8;

/// Everything known about a start.
pub(super) struct Examined {
    pub thread: Option<(usize, usize)>,
    pub iterations: Vec<(u64, u64)>,
    /// The threads of the iterations, if there are several; otherwise empty.
    pub threads: Vec<usize>,
    /// The number of iterations before truncation to [`MAX_ITERATIONS`].
    pub iterations_in_all: usize,
    /// Durations in seconds, without the overhead of recording in detail.
    pub durations: Vec<f64>,
    /// The overhead subtracted from each, in seconds.
    pub detail_cost: f64,
    pub summary: Option<StartSummary>,
    /// From `exec` to the end of the first iteration, in nanoseconds; none if the start did
    /// not get that far.
    pub time_to_first: Option<u64>,
    /// Seconds by cause; they add up to the time to first.
    pub causes: [f64; CAUSES],
    /// The causes of the second iteration, in seconds.
    pub second: Option<[f64; CAUSES]>,
    /// The causes of a steady iteration, in seconds.
    pub steady: Option<[f64; CAUSES]>,
    /// The part of each cause in the first iteration that is not steady work, 0 to 1.
    pub cold: [f64; CAUSES],
    pub before: Tally,
    pub first: Tally,
    pub parts: Vec<Part>,
    /// Seconds until the end of the first iteration in which the path waited for a
    /// processor, including time within calls.
    pub waited_for_processor: f64,
    /// The part of it in the first iteration.
    pub waited_in_first: f64,
    /// Samples of own CPU time on the path.
    pub sampled: Vec<Sampled>,
    pub catalogue: Catalogue,
}

/// Examines a start. `found` holds its iterations. If `to_end` is set, nothing repeats, and
/// the path extends to the end of the program.
pub(super) fn examine(
    trace: &StartTrace,
    facts: &[Facts],
    found: Option<&Detected>,
    to_end: bool,
) -> Examined {
    let recorded = !trace.processes.is_empty();
    let thread = match found {
        Some(found) if found.process < trace.processes.len() => Some((found.process, found.thread)),
        _ => busiest(trace),
    };
    let all = found.map_or(&[][..], |found| &found.iterations);
    let iterations = all[..all.len().min(MAX_ITERATIONS)].to_vec();
    let durations: Vec<f64> = (iterations.iter())
        .map(|(begin, end)| seconds(end - begin))
        .collect();
    let threads = found.map_or(Vec::new(), |found| found.threads.clone());
    let detailed = detailed(trace, thread, &iterations);
    let detail_cost = detail::cost(&durations, &detailed);
    let durations = detail::without(detail_cost, durations, &detailed);
    let summary = summarize_start(&durations);
    let steady = steady_ones(&detailed, summary.as_ref());
    // Also the second iteration, for the excess of the first over it.
    let second = iterations.len() > 1 && !steady.contains(&1);
    let later: Vec<usize> = second.then_some(1).into_iter().chain(steady).collect();
    let Partition {
        before,
        first,
        mut later,
        parts,
        waited_for_processor,
        waited_in_first,
        sampled,
        catalogue,
    } = partition(
        trace,
        facts,
        &Request {
            thread,
            iterations: &iterations,
            threads: &threads,
            later: &later,
        },
    );
    let time_to_first = match iterations.first() {
        Some((_, end)) => Some(*end),
        None if to_end && recorded => Some(trace.end),
        None => None,
    };
    let second_by_cause = (later.first())
        .filter(|_| iterations.len() > 1)
        .map(|sums| sums.map(seconds));
    if second {
        later.remove(0);
    }
    let steady = steady_by_cause(&later);
    let (causes, cold) = without_steady(&before, &first, steady.as_ref());
    Examined {
        thread,
        iterations_in_all: all.len(),
        iterations,
        threads,
        durations,
        detail_cost,
        summary,
        time_to_first,
        causes,
        second: second_by_cause,
        steady,
        cold,
        before,
        first,
        parts,
        waited_for_processor: waited_for_processor * 1e-9,
        waited_in_first: waited_in_first * 1e-9,
        sampled,
        catalogue,
    }
}

/// The detailed iterations that represent the steady state: those after warm-up, evenly
/// spread, or the later half if there is no steady state. If the program ended before
/// detail was recorded again, the last detailed ones.
pub(super) fn steady_ones(detailed: &[bool], summary: Option<&StartSummary>) -> Vec<usize> {
    let count = detailed.len();
    let from = match summary.and_then(|summary| summary.steady_start) {
        Some(start) => start.max(1),
        None if count >= 4 => count / 2,
        None => return Vec::new(),
    };
    let mut found: Vec<usize> = (from..count).filter(|at| detailed[*at]).collect();
    if found.is_empty() {
        let before = (1..from.min(count)).filter(|at| detailed[*at]);
        found = before.collect();
        found.drain(..found.len().saturating_sub(LAST_IN_DETAIL));
    }
    let step = found.len().div_ceil(MAX_STEADY).max(1);
    found.into_iter().step_by(step).collect()
}

/// The median over iterations of each cause, in seconds.
fn steady_by_cause(later: &[[u64; CAUSES]]) -> Option<[f64; CAUSES]> {
    if later.is_empty() {
        return None;
    }
    Some(std::array::from_fn(|at| {
        let values: Vec<f64> = later.iter().map(|sums| seconds(sums[at])).collect();
        median(&values).unwrap_or(0.0)
    }))
}

/// Moves the share of a steady iteration out of the causes of the first one.
fn without_steady(
    before: &Tally,
    first: &Tally,
    steady: Option<&[f64; CAUSES]>,
) -> ([f64; CAUSES], [f64; CAUSES]) {
    let mut causes = [0.0; CAUSES];
    let mut cold = [1.0; CAUSES];
    let mut moved = 0.0;
    for at in 0..CAUSES {
        let in_first = seconds(first.causes[at]);
        let usual = steady.map_or(0.0, |steady| steady[at].min(in_first));
        causes[at] = seconds(before.causes[at]) + in_first - usual;
        moved += usual;
        if in_first > 0.0 {
            cold[at] = 1.0 - usual / in_first;
        }
    }
    causes[Cause::SteadyWork.index()] += moved;
    (causes, cold)
}

pub(super) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 * 1e-9
}

impl Examined {
    /// The causes of the first iteration, in seconds.
    pub(super) fn first_causes(&self) -> [f64; CAUSES] {
        self.first.causes.map(seconds)
    }

    /// Returns true if its iterations reach a steady state.
    pub(super) fn settles(&self) -> bool {
        let summary = self.summary.as_ref();
        summary.is_some_and(|summary| summary.steady.is_some())
    }

    /// The part of the analysis that exporters need.
    pub(super) fn analysis(&self, facts: &[Facts]) -> StartAnalysis {
        let mut names: Vec<String> = Vec::new();
        let mut numbers = std::collections::HashMap::new();
        let path = self.parts.iter().map(|part| {
            let item = *numbers.entry(part.item).or_insert_with(|| {
                names.push(items::name(self.catalogue.meaning(part.item), facts));
                names.len() as u32 - 1
            });
            PathPart {
                begin: part.begin,
                end: part.end,
                cause: part.cause,
                item,
            }
        });
        let path = path.collect();
        StartAnalysis {
            thread: self.thread,
            iterations: self.iterations.clone(),
            path,
            names,
        }
    }

    /// Looks up an item.
    pub(super) fn meaning(&self, item: super::path::ItemId) -> ItemMeaning<'_> {
        self.catalogue.meaning(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_iterations_are_those_after_warm_up() {
        let summary = |steady_start| StartSummary {
            class: crate::stats::Class::Warmup,
            first: 1.0,
            steady: None,
            steady_start,
            excess: None,
        };
        let all = [true; 5000];
        assert_eq!(steady_ones(&all[..5], Some(&summary(Some(2)))), [2, 3, 4]);
        assert_eq!(steady_ones(&all[..3], Some(&summary(Some(0)))), [1, 2]);
        assert_eq!(steady_ones(&all[..6], Some(&summary(None))), [3, 4, 5]);
        assert!(steady_ones(&all[..2], None).is_empty());
        assert!(steady_ones(&[], None).is_empty());
        let many = steady_ones(&all, Some(&summary(Some(1))));
        assert!(many.len() <= MAX_STEADY && many.len() > 100);
        // Iterations without detail cannot be used; if none is detailed, the last detailed
        // ones are.
        let mut some = [true; 30];
        some[20..].fill(false);
        assert_eq!(steady_ones(&some, Some(&summary(Some(18)))), [18, 19]);
        some[25] = true;
        assert_eq!(steady_ones(&some, Some(&summary(Some(20)))), [25]);
        let last = steady_ones(&some, Some(&summary(Some(26))));
        assert_eq!(last, [13, 14, 15, 16, 17, 18, 19, 25]);
    }
}
