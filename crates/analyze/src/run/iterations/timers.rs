//! Regions that the program times itself: executions of the same region are iterations.

use super::super::timers::{Execution, Key, Region, RegionName, name};
use super::super::trace::Clock;
use super::{Detected, FEW_ITERATIONS, FIRST_AND_SECOND, StartData, earliest_of};

/// The regions of a start with at least `least` executions, which are iterations. If there
/// are several, those with the most total time, or the first one if a single execution is
/// enough. Readings paired by order alone count only if there are no others, and regions of
/// different lines with the same code only if `across_lines` is set.
pub(super) fn propose(start: &StartData, least: usize, across_lines: bool) -> Vec<Key> {
    let often = |known: bool| -> Vec<&Region> {
        let known = || (start.regions.all.iter()).filter(move |region| region.known == known);
        let on_a_thread = known().filter(|region| region.on_first_thread().count() >= least);
        let on_a_thread: Vec<&Region> = on_a_thread.collect();
        match on_a_thread.is_empty() {
            // Perhaps threads run them one after the other.
            true => known()
                .filter(|region| region.executions.len() >= least)
                .collect(),
            false => on_a_thread,
        }
    };
    if least <= 1 {
        let first = often(true)
            .first()
            .copied()
            .or_else(|| often(false).first().copied());
        return first.map(|region| region.key.clone()).into_iter().collect();
    }
    let longest = |groups: Vec<Vec<&Region>>| -> Option<Vec<Key>> {
        let total = |group: &Vec<&Region>| group.iter().map(|region| total(region)).sum::<f64>();
        let group = (groups.into_iter()).max_by(|a, b| total(a).total_cmp(&total(b)))?;
        Some(group.iter().map(|region| region.key.clone()).collect())
    };
    let mut known: Vec<Vec<&Region>> = often(true).into_iter().map(|region| vec![region]).collect();
    if across_lines {
        known.extend(alike(start, least));
    }
    longest(known)
        .or_else(|| {
            longest(
                often(false)
                    .into_iter()
                    .map(|region| vec![region])
                    .collect(),
            )
        })
        .unwrap_or_default()
}

/// Groups of regions with the same code on different lines, with at least `least` of them.
fn alike<'a>(start: &StartData<'a>, least: usize) -> Vec<Vec<&'a Region>> {
    let mut groups = start.regions.alike();
    groups.retain(|group| group.len() >= least.max(2));
    groups
}

/// The repeated region with the most total time that the program times around a few of the
/// calls that were found. Clocks that do not measure wall time are skipped.
pub(super) fn enclosing(start: &StartData, found: &Detected) -> Option<Vec<Key>> {
    let repeated =
        (start.regions.all.iter()).filter(|region| region.executions.len() >= FIRST_AND_SECOND);
    let groups = repeated.map(|region| vec![region]);
    let groups = groups.chain(alike(start, FIRST_AND_SECOND));
    let few = |execution: &Execution| {
        let inside = |call: &&(u64, u64)| execution.begin <= call.0 && call.1 <= execution.end;
        (1..FEW_ITERATIONS).contains(&found.iterations.iter().filter(inside).count())
    };
    let matches = |group: &Vec<&Region>| {
        let mut executions = group.iter().flat_map(|region| &region.executions);
        group.iter().all(|region| is_wall(region)) && executions.all(few)
    };
    let sum = |group: &Vec<&Region>| group.iter().map(|region| total(region)).sum::<f64>();
    let longest = (groups.filter(matches)).max_by(|a, b| sum(a).total_cmp(&sum(b)))?;
    Some(longest.iter().map(|region| region.key.clone()).collect())
}

/// Returns true if a region is known to be timed with a clock of wall time.
fn is_wall(region: &Region) -> bool {
    region.known && !region.key.clock.is_cpu_time() && region.key.clock != Clock::CudaEvent
}

/// The regions with which the program times exactly the iterations that were found: each
/// execution contains the end of one of them. If there are several, those with the most total
/// time. Clocks that do not measure wall time are skipped.
pub(super) fn around(start: &StartData, found: &Detected) -> Option<Vec<Key>> {
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
        let same_thread = |(at, one): (usize, &Execution)| {
            (one.process, one.thread) == (found.process, found.thread_of(at))
        };
        group.iter().all(|region| is_wall(region))
            && executions.len() == found.iterations.len()
            && executions.iter().enumerate().all(same_thread)
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
pub(super) fn find(start: &StartData, keys: &[Key]) -> Option<Detected> {
    let regions = start.regions.all.iter();
    let mut executions: Vec<Execution> = regions
        .filter(|region| keys.contains(&region.key))
        .flat_map(Region::on_device)
        .collect();
    executions.sort_by_key(|execution| execution.begin);
    let mut threads: Vec<Detected> = Vec::new();
    for execution in executions {
        let (process, thread) = (execution.process, execution.thread);
        let iteration = (execution.begin, execution.end);
        match (threads.iter_mut()).find(|found| (found.process, found.thread) == (process, thread))
        {
            Some(found) => found.iterations.push(iteration),
            None => threads.push(Detected {
                process,
                thread,
                iterations: vec![iteration],
                ..Detected::default()
            }),
        }
    }
    earliest_of(threads)
}

/// The names of the regions, from the first start that has them.
pub(super) fn names(starts: &[StartData], keys: &[Key]) -> Vec<RegionName> {
    let named = |key: &Key| {
        let mut all = starts.iter().flat_map(|start| &start.regions.all);
        all.find(|region| region.key == *key).map(name)
    };
    keys.iter().filter_map(named).collect()
}
