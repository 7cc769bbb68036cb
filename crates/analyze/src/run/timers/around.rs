//! The time that the program's own timer adds to the first iteration.
//!
//! Iterations found by steps or calls leave out what a program does before its model call
//! and after it, such as copying inputs; a region that the program times around them has it.

use super::super::AroundReport;
use super::super::path::CAUSES;
use super::super::summary::{in_order, mean_shares};
use super::regions::{Execution, Region};
use super::summary::{Case, causes};
use crate::stats::mean;

/// A region that is longer than the first iteration by less than this share shows the same
/// number.
const SAME: f64 = 0.1;

/// The time that the first execution of a region takes in addition to the first iteration, if
/// it contains only that iteration, or its begin, in all counted starts, and is markedly
/// longer.
pub(super) fn around(case: &Case, region: &Region) -> Option<AroundReport> {
    if !region.known || region.key.clock.is_cpu_time() {
        return None;
    }
    let mut firsts: Vec<f64> = Vec::new();
    let mut longer: Vec<f64> = Vec::new();
    let mut outside: Vec<[f64; CAUSES]> = Vec::new();
    for at in case.counted {
        let start = case.starts.get(*at)?;
        let same = (start.regions.all.iter()).find(|other| other.key == region.key)?;
        let found = case.iterations.get(*at)?.as_ref()?;
        let execution = *same.executions.first()?;
        let Execution { begin, end, .. } = execution;
        let thread = (execution.process, execution.thread);
        let (from, to) = *found.iterations.first()?;
        let alone = found.iterations.get(1).is_none_or(|next| end <= next.1);
        if thread != (found.process, found.thread) || !(begin <= from && from < end && alone) {
            return None;
        }
        // A call lasts until the device is done, which may be after the clock was read.
        let to = to.min(end);
        let first = (to - from) as f64 * 1e-9;
        longer.push(execution.seconds - first);
        firsts.push(first);
        let windows = [(begin, from), (to, end)].map(|window| causes(start, thread, &[window]));
        let mut sum = [0.0; CAUSES];
        for causes in windows.iter().flatten() {
            for (sum, seconds) in sum.iter_mut().zip(causes) {
                *sum += seconds;
            }
        }
        outside.push(sum);
    }
    let (first, longer) = (mean(&firsts)?.value, mean(&longer)?.value);
    (longer > SAME * first).then(|| AroundReport {
        seconds: longer,
        causes: in_order(&mean_shares(outside.into_iter(), longer)),
    })
}
