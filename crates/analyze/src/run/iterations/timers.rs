//! Regions that the program times itself: executions of the same region are iterations.

use super::super::timers::{Key, Region};
use super::{Found, Seen};

/// The region that a start speaks for: of those that were executed at least so often, the
/// one that took longest in all. Where one execution is enough, the first region that the
/// program surely times.
pub(super) fn propose(start: &Seen, least: usize) -> Option<Key> {
    let mut often = (start.regions.all.iter()).filter(|region| region.executions.len() >= least);
    let found = match least {
        0 | 1 => often.find(|region| region.known),
        _ => often.max_by(|a, b| total(a).total_cmp(&total(b))),
    };
    found.map(|region| region.key.clone())
}

fn total(region: &Region) -> f64 {
    let all = region.executions.iter();
    all.map(|execution| (execution.end - execution.begin) as f64)
        .sum()
}

/// The executions of a region.
pub(super) fn find(start: &Seen, key: &Key) -> Option<Found> {
    let region = start.regions.all.iter().find(|region| region.key == *key)?;
    Some(Found {
        process: region.process,
        thread: region.thread,
        iterations: (region.executions.iter())
            .map(|execution| (execution.begin, execution.end))
            .collect(),
        period: 0,
    })
}
