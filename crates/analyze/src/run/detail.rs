//! Iterations that were recorded call by call, and what that cost them.
//!
//! The recorder leaves out calls that steady iterations make often, but for windows. All
//! iterations count by their times. What they consist of is known only of those in detail,
//! and those took a little longer: as much as iterations on both sides of the borders
//! differ. It is taken off, or a program of many short calls would seem to warm up until
//! its first iteration without detail.

use super::trace::StartTrace;
use crate::stats::median;

/// So many iterations on each side of a border are compared.
const BESIDE: usize = 8;
/// No more than this part of an iteration is ever taken for the cost.
const MOST: f64 = 0.25;

/// Which iterations have all their calls recorded.
pub(super) fn detailed(
    trace: &StartTrace,
    thread: Option<(usize, usize)>,
    iterations: &[(u64, u64)],
) -> Vec<bool> {
    let process = thread.and_then(|(process, _)| trace.processes.get(process));
    let is = |iteration: &(u64, u64)| process.is_none_or(|of| of.is_in_detail(*iteration));
    iterations.iter().map(is).collect()
}

/// What recording an iteration in detail took, by the borders between those that were and
/// those that were not; 0 where nothing shows it.
pub(super) fn cost(durations: &[f64], detailed: &[bool]) -> f64 {
    let mut differences = Vec::new();
    let mut from = 0;
    let runs: Vec<&[bool]> = detailed.chunk_by(|a, b| a == b).collect();
    for pair in runs.windows(2) {
        let border = from + pair[0].len();
        let before = &durations[border - pair[0].len().min(BESIDE)..border];
        let after = &durations[border..border + pair[1].len().min(BESIDE)];
        from = border;
        // One in which something new came is without detail at first: it tells nothing.
        if let (Some(before), Some(after), true) = (
            median(before),
            median(after),
            pair.iter().all(|run| run.len() > 1),
        ) {
            let (with, without) = if pair[0][0] {
                (before, after)
            } else {
                (after, before)
            };
            differences.push((with - without).clamp(-MOST * without, MOST * without));
        }
    }
    median(&differences).unwrap_or(0.0).max(0.0)
}

/// The durations without that cost.
pub(super) fn without(cost: f64, mut durations: Vec<f64>, detailed: &[bool]) -> Vec<f64> {
    for (duration, _) in (durations.iter_mut().zip(detailed)).filter(|(_, detailed)| **detailed) {
        *duration -= cost.min(MOST * *duration);
    }
    durations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Class, summarize_start};

    /// As the recorder does it: 64 in detail, then 8 now and then.
    fn windows(count: usize) -> Vec<bool> {
        let gaps = [24, 56].into_iter().chain(std::iter::repeat(120));
        let later = gaps.flat_map(|gap| [vec![false; gap], vec![true; 8]].concat());
        [true; 64].into_iter().chain(later).take(count).collect()
    }

    fn program(count: usize, cost: f64) -> (Vec<f64>, Vec<bool>) {
        let detailed = windows(count);
        let take = |(at, detailed): (usize, &bool)| {
            let noise = 1e-6 * ((at * 7919) % 13) as f64;
            let own = if at == 0 { 0.5 } else { 1e-3 + noise };
            own + if *detailed { cost } else { 0.0 }
        };
        (detailed.iter().enumerate().map(take).collect(), detailed)
    }

    #[test]
    fn the_cost_of_detail_is_no_warm_up() {
        for count in [80, 200, 1000] {
            let (durations, detailed) = program(count, 9e-5);
            let plain = summarize_start(&durations).unwrap();
            assert_ne!(plain.class, Class::ColdFirst, "{count}: it would be one");
            let cost = cost(&durations, &detailed);
            assert!((cost - 9e-5).abs() < 1e-5, "{count}: {cost}");
            let durations = without(cost, durations, &detailed);
            let found = summarize_start(&durations).unwrap();
            assert_eq!(found.class, Class::ColdFirst, "{count}");
            assert_eq!(found.steady_start, Some(1), "{count}");
        }
    }

    #[test]
    fn where_nothing_was_left_out_times_are_as_they_are() {
        let (durations, _) = program(100, 0.0);
        assert_eq!(cost(&durations, &[true; 100]), 0.0);
        assert_eq!(cost(&[], &[]), 0.0);
        // Those in detail may have been the faster ones by chance.
        let (durations, detailed) = program(200, -1e-4);
        assert_eq!(cost(&durations, &detailed), 0.0);
    }

    #[test]
    fn a_cost_is_never_most_of_an_iteration() {
        let (durations, detailed) = program(200, 1.0);
        let cost = cost(&durations, &detailed);
        assert!(cost <= 0.26e-3, "{cost}");
        let found = without(cost, vec![1e-4; 200], &detailed);
        assert!(found.iter().all(|time| *time >= 0.75e-4));
    }
}
