//! Device work that was still running when a region ended.
//!
//! The driver does not report when a kernel ends. A synchronization does: when it returns,
//! everything launched before it is done. If the program went straight to one and had to
//! wait, the device was done at its end; otherwise, that is an upper bound.

use super::super::examine::seconds;
use super::super::facts::Facts;
use super::super::trace::{Clock, What};
use super::super::{AfterReading, Unfinished};
use super::regions::{Execution, Region};

/// A synchronization that takes less found the device done: on an H200, one that has nothing
/// to wait for takes 5.7 µs.
const WAITS: u64 = 10_000;

/// Device work launched in the first execution of a region and not waited for when its
/// clock was read.
pub(super) fn unfinished(facts: &[Facts], region: &Region) -> Option<Unfinished> {
    // The device itself timestamps events.
    if region.key.clock == Clock::CudaEvent {
        return None;
    }
    let Execution {
        process,
        begin,
        end,
        ..
    } = *region.executions.first()?;
    let facts = facts.get(process)?;
    let mut launches: Vec<u64> = Vec::new();
    let mut waited = 0;
    let mut next_wait: Option<(u64, u64)> = None;
    let mut next_launch = u64::MAX;
    for thread in &facts.process.threads {
        let from = thread.spans.partition_point(|span| span.begin < begin);
        for span in &thread.spans[from..] {
            if facts.waits_for_device(span) {
                if span.end <= end {
                    waited = waited.max(span.end);
                } else if next_wait.is_none_or(|other| span.begin < other.0) {
                    next_wait = Some((span.begin, span.end));
                }
            } else if span.what == What::Launch {
                match span.begin < end {
                    true => launches.push(span.begin),
                    false => next_launch = next_launch.min(span.begin),
                }
            }
            // Calls of this thread after a synchronization are irrelevant.
            if span.begin > end && facts.waits_for_device(span) {
                break;
            }
        }
    }
    let launches = launches.iter().filter(|begin| **begin > waited).count() as u64;
    let then = match next_wait {
        Some((from, to)) if from < next_launch && to - from >= WAITS => AfterReading::Waited,
        Some(_) => AfterReading::Later,
        None => AfterReading::Never,
    };
    (launches > 0).then(|| Unfinished {
        launches,
        seconds: next_wait.map(|wait| seconds(wait.1.saturating_sub(end))),
        then: Some(then),
    })
}
