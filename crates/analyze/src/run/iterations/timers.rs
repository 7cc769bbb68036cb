//! Regions that the program times itself: executions of the same region are iterations.

use super::super::timers::{Execution, Key, Region, name};
use super::super::trace::Clock;
use super::{Found, Seen, earliest_of};

/// The regions of a start with at least `least` executions, which are iterations. If there
/// are several, those with the most total time, or the first one if a single execution is
/// enough. Readings paired by order alone count only if there are no others, and regions of
/// different lines with the same code only if `across_lines` is set.
pub(super) fn propose(start: &Seen, least: usize, across_lines: bool) -> Vec<Key> {
    let often = |known: bool| {
        let all = start.regions.all.iter();
        all.filter(move |region| region.known == known && region.on_first_thread().count() >= least)
    };
    if least <= 1 {
        let first = often(true).next().or_else(|| often(false).next());
        return first.map(|region| region.key.clone()).into_iter().collect();
    }
    let longest = |groups: Vec<Vec<&Region>>| -> Option<Vec<Key>> {
        let total = |group: &Vec<&Region>| group.iter().map(|region| total(region)).sum::<f64>();
        let group = (groups.into_iter()).max_by(|a, b| total(a).total_cmp(&total(b)))?;
        Some(group.iter().map(|region| region.key.clone()).collect())
    };
    let mut known: Vec<Vec<&Region>> = often(true).map(|region| vec![region]).collect();
    if across_lines {
        known.extend(alike(start, least));
    }
    longest(known)
        .or_else(|| longest(often(false).map(|region| vec![region]).collect()))
        .unwrap_or_default()
}

/// Groups of regions with the same code on different lines, with at least `least` of them.
fn alike<'a>(start: &Seen<'a>, least: usize) -> Vec<Vec<&'a Region>> {
    let mut groups = start.regions.alike();
    groups.retain(|group| group.len() >= least.max(2));
    groups
}

/// The regions with which the program times exactly the iterations that were found: each
/// execution contains the end of one of them. If there are several, those with the most total
/// time. Clocks that do not measure wall time are skipped.
pub(super) fn around(start: &Seen, found: &Found) -> Option<Vec<Key>> {
    let repeated = start.regions.all.iter().map(|region| vec![region]);
    let groups = repeated.chain(alike(start, 2));
    let contains = |(execution, iteration): (&Execution, &(u64, u64))| {
        execution.begin < iteration.1 && iteration.1 <= execution.end
    };
    let matches = |group: &Vec<&Region>| {
        let mut executions: Vec<Execution> = (group
            .iter()
            .flat_map(|region| region.executions.iter().copied()))
        .collect();
        executions.sort_by_key(|one| one.begin);
        let wall = |region: &&Region| {
            region.known && !region.key.clock.is_cpu_time() && region.key.clock != Clock::CudaEvent
        };
        let same_thread =
            |one: &Execution| (one.process, one.thread) == (found.process, found.thread);
        group.iter().all(wall)
            && executions.len() == found.iterations.len()
            && executions.iter().all(same_thread)
            && executions.iter().zip(&found.iterations).all(contains)
    };
    let sum = |group: &Vec<&Region>| group.iter().map(|region| total(region)).sum::<f64>();
    let longest = (groups.filter(matches)).max_by(|a, b| sum(a).total_cmp(&sum(b)))?;
    Some(longest.iter().map(|region| region.key.clone()).collect())
}

fn total(region: &Region) -> f64 {
    region.on_first_thread().map(|one| one.seconds).sum()
}

/// The executions of these regions.
pub(super) fn find(start: &Seen, keys: &[Key]) -> Option<Found> {
    let regions = start.regions.all.iter();
    let mut executions: Vec<Execution> = regions
        .filter(|region| keys.contains(&region.key))
        .flat_map(Region::on_device)
        .collect();
    executions.sort_by_key(|execution| execution.begin);
    let mut threads: Vec<Found> = Vec::new();
    for execution in executions {
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

/// The names of the regions, from the first start that has them.
pub(super) fn names(starts: &[Seen], keys: &[Key]) -> Vec<String> {
    let named = |key: &Key| {
        let mut all = starts.iter().flat_map(|start| &start.regions.all);
        all.find(|region| region.key == *key).map(name)
    };
    keys.iter().filter_map(named).collect()
}
