//! Memory: many small allocations.

use super::super::Cause;
use super::{Case, Told, remedy};
use crate::units;

/// Allocation must take this part of the time to first, in this many calls.
const MUCH_ALLOCATION: f64 = 0.02;
const MANY_CALLS: u64 = 20;

/// One allocation instead of many.
pub(super) fn preallocation(case: &Case) -> Option<Told> {
    let total = case.report.time_to_first.median;
    let time = case.seconds(Cause::DeviceAllocation);
    let items = case.items(Cause::DeviceAllocation).iter();
    let calls: u64 = items.map(|item| item.count).sum();
    if time < MUCH_ALLOCATION * total || calls < MANY_CALLS {
        return None;
    }
    Some(remedy(
        "preallocation",
        "Allocate once",
        format!(
            "{calls} calls allocate and free device memory, {} in all. Take what is needed in \
             one piece and divide it: a memory pool, PYTORCH_ALLOC_CONF=expandable_segments:True, \
             or XLA_PYTHON_CLIENT_PREALLOCATE=true.",
            units::duration(time)
        ),
        time * (1.0 - 1.0 / calls as f64),
        "one large allocation takes as long as one of these",
        &[Cause::DeviceAllocation],
    ))
}
