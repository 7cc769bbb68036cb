//! The steady work of each item.
//!
//! `examine` splits each cause into cold and steady seconds. The items of a typical steady
//! iteration show which of its items are steady: a kernel launched in every iteration is,
//! one launched only in the first is not.

use std::collections::HashMap;

use super::super::Cause;
use super::super::detail::detailed;
use super::super::examine::{Examined, steady_ones};
use super::super::iterations::Seen;
use super::super::path::{CAUSES, Request, partition};
use super::name;

/// The typical iteration is selected from this many steady iterations.
const AMONG: usize = 51;

/// Nanoseconds by item in a typical steady iteration.
pub(super) type Steady = HashMap<(Cause, String), u64>;

/// The items of a typical steady iteration of a start; empty if it has none.
pub(super) fn steady(examined: &Examined, start: &Seen) -> Steady {
    let mut found = Steady::new();
    // Skip the search if nothing in the first iteration is steady.
    if examined.cold.iter().all(|cold| *cold >= 1.0) {
        return found;
    }
    let Some(typical) = typical(examined, start) else {
        return found;
    };
    let request = Request {
        thread: examined.thread,
        iterations: &[examined.iterations[typical]],
        threads: examined.threads.get(typical..=typical).unwrap_or(&[]),
        later: &[],
    };
    let partition = partition(start.trace, start.facts, &request);
    for (cause, id, sum) in partition.first.items() {
        let name = name(partition.catalogue.meant(id), start.facts);
        *found.entry((cause, name)).or_insert(0) += sum.nanoseconds;
    }
    found
}

/// The number of the detailed steady iteration with the median duration.
fn typical(examined: &Examined, start: &Seen) -> Option<usize> {
    let detailed = detailed(start.trace, examined.thread, &examined.iterations);
    let steady = steady_ones(&detailed, examined.summary.as_ref());
    let mut steady: Vec<usize> = steady.into_iter().take(AMONG).collect();
    steady.sort_by_key(|at| {
        let (begin, end) = examined.iterations[*at];
        end - begin
    });
    steady.get(steady.len() / 2).copied()
}

/// The cold share of each item of the first iteration, 0 to 1. `first` has the items with
/// their nanoseconds. The shares are chosen so that the cold time of each cause matches
/// `cold`.
pub(super) fn cold_parts(
    first: &[((Cause, String), u64)],
    steady: &Steady,
    cold: &[f64; CAUSES],
) -> Vec<f64> {
    let mut all = [0.0; CAUSES];
    let mut beyond = [0.0; CAUSES];
    let beyond_of = |key: &(Cause, String), nanoseconds: u64| {
        let usual = steady.get(key).copied().unwrap_or(0);
        nanoseconds.saturating_sub(usual) as f64
    };
    for (key, nanoseconds) in first {
        all[key.0.index()] += *nanoseconds as f64;
        beyond[key.0.index()] += beyond_of(key, *nanoseconds);
    }
    let part = |(key, nanoseconds): &((Cause, String), u64)| {
        let cause = key.0.index();
        let expected = cold[cause] * all[cause];
        // If items vary too much, all of them get the same share.
        if *nanoseconds == 0 || expected > beyond[cause] {
            return cold[cause];
        }
        let scale = expected / beyond[cause].max(f64::MIN_POSITIVE);
        scale * beyond_of(key, *nanoseconds) / *nanoseconds as f64
    };
    first.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[f64], expected: &[f64]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        }
    }

    #[test]
    fn items_only_in_the_first_iteration_are_cold() {
        let key = |name: &str| (Cause::OwnCpu, name.to_owned());
        let first = [(key("once"), 60), (key("always"), 40)];
        let mut cold = [1.0; CAUSES];
        cold[Cause::OwnCpu.index()] = 0.6;
        let steady = Steady::from([(key("always"), 40), (key("later"), 9)]);
        close(&cold_parts(&first, &steady, &cold), &[1.0, 0.0]);
        // The cause determines the total cold share.
        cold[Cause::OwnCpu.index()] = 0.3;
        close(&cold_parts(&first, &steady, &cold), &[0.5, 0.0]);
        // Without a steady iteration, all items get the same share.
        close(&cold_parts(&first, &Steady::new(), &cold), &[0.3, 0.3]);
        // The same if the items have less cold time than the cause.
        let other = Steady::from([(key("once"), 60), (key("always"), 40)]);
        close(&cold_parts(&first, &other, &cold), &[0.3, 0.3]);
    }
}
