//! Regions that the program times itself: executions of the same region are iterations.

use super::super::Frame;
use super::super::timers::{Key, Region};
use super::{Found, Seen, earliest_of};

/// The region that a start speaks for, of those that were executed at least so often: the
/// one that took longest in all, or the first one where one execution is enough. Readings
/// that only their order pairs count where the program surely times nothing.
pub(super) fn propose(start: &Seen, least: usize) -> Option<Key> {
    let often = |known: bool| {
        let all = start.regions.all.iter();
        all.filter(move |region| region.known == known && region.on_first_thread().count() >= least)
    };
    let longest = |known: bool| often(known).max_by(|a, b| total(a).total_cmp(&total(b)));
    let found = match least {
        0 | 1 => often(true).next().or_else(|| often(false).next()),
        _ => longest(true).or_else(|| longest(false)),
    };
    found.map(|region| region.key.clone())
}

fn total(region: &Region) -> f64 {
    let all = region.on_first_thread();
    all.map(|execution| (execution.end - execution.begin) as f64)
        .sum()
}

/// The executions of a region.
pub(super) fn find(start: &Seen, key: &Key) -> Option<Found> {
    let region = start.regions.all.iter().find(|region| region.key == *key)?;
    let mut threads: Vec<Found> = Vec::new();
    for execution in &region.executions {
        let (process, thread) = (execution.process, execution.thread);
        let iteration = (execution.begin, execution.end);
        match (threads.iter_mut()).find(|found| (found.process, found.thread) == (process, thread))
        {
            Some(found) => found.iterations.push(iteration),
            None => threads.push(Found {
                process,
                thread,
                iterations: vec![iteration],
                ..Found::default()
            }),
        }
    }
    earliest_of(threads)
}

/// Where the region begins, in the first start that has it.
pub(super) fn begins(starts: &[Seen], key: &Key) -> Option<Vec<Frame>> {
    let all = starts.iter().flat_map(|start| &start.regions.all);
    all.into_iter()
        .find(|region| region.key == *key)
        .map(|region| region.from.clone())
}
