//! Iterations recorded in detail (call by call), and the overhead of doing so.
//!
//! The recorder omits frequent calls of steady iterations, except in windows. All
//! iterations count by their durations, but only the detailed ones can be broken down.
//! Those took slightly longer: by the difference between iterations on both sides of a
//! window border. That overhead is subtracted; otherwise a program with many short calls
//! would appear to warm up until its first iteration without detail.

use super::trace::StartTrace;
use crate::stats::median;

/// The number of iterations to compare on each side of a border.
const ITERATIONS_PER_SIDE: usize = 8;
/// The overhead is never more than this share of an iteration.
const MAX_OVERHEAD: f64 = 0.25;

/// Marks the iterations that have all their calls recorded.
pub(super) fn detailed(
    trace: &StartTrace,
    thread: Option<(usize, usize)>,
    iterations: &[(u64, u64)],
) -> Vec<bool> {
    let process = thread.and_then(|(process, _)| trace.processes.get(process));
    let is_detailed = |iteration: &(u64, u64)| process.is_none_or(|of| of.is_in_detail(*iteration));
    iterations.iter().map(is_detailed).collect()
}

/// The overhead of recording an iteration in detail, estimated at the borders between
/// detailed and other iterations; 0 if it cannot be estimated.
pub(super) fn cost(durations: &[f64], detailed: &[bool]) -> f64 {
    let mut differences = Vec::new();
    let mut from = 0;
    let runs: Vec<&[bool]> = detailed.chunk_by(|a, b| a == b).collect();
    for pair in runs.windows(2) {
        let border = from + pair[0].len();
        let before = &durations[border - pair[0].len().min(ITERATIONS_PER_SIDE)..border];
        let after = &durations[border..border + pair[1].len().min(ITERATIONS_PER_SIDE)];
        from = border;
        // An iteration with a new call starts without detail, so it cannot be compared.
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
            differences
                .push((with - without).clamp(-MAX_OVERHEAD * without, MAX_OVERHEAD * without));
        }
    }
    median(&differences).unwrap_or(0.0).max(0.0)
}

/// Subtracts that overhead from the durations of detailed iterations.
pub(super) fn without(cost: f64, mut durations: Vec<f64>, detailed: &[bool]) -> Vec<f64> {
    for (duration, _) in (durations.iter_mut().zip(detailed)).filter(|(_, detailed)| **detailed) {
        *duration -= cost.min(MAX_OVERHEAD * *duration);
    }
    durations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Class, summarize_start};

    /// Windows as the recorder places them: 64 iterations in detail, then 8 at a time.
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
    fn the_cost_of_detail_is_not_warm_up() {
        for count in [80, 200, 1000] {
            let (durations, detailed) = program(count, 9e-5);
            let plain = summarize_start(&durations).unwrap();
            assert_ne!(
                plain.class,
                Class::ColdFirst,
                "{count}: expected a false warm-up"
            );
            let cost = cost(&durations, &detailed);
            assert!((cost - 9e-5).abs() < 1e-5, "{count}: {cost}");
            let durations = without(cost, durations, &detailed);
            let found = summarize_start(&durations).unwrap();
            assert_eq!(found.class, Class::ColdFirst, "{count}");
            assert_eq!(found.steady_start, Some(1), "{count}");
        }
    }

    #[test]
    fn times_are_unchanged_if_nothing_was_omitted() {
        let (durations, _) = program(100, 0.0);
        assert_eq!(cost(&durations, &[true; 100]), 0.0);
        assert_eq!(cost(&[], &[]), 0.0);
        // Detailed iterations may be faster by chance.
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
