//! Memory: copies from pages that are not locked, and many small allocations.

use super::super::Cause;
use super::super::trace::What;
use super::{Case, Told, length, remedy};
use crate::units;

/// Copies of fewer bytes are not worth it.
const LARGE: u64 = 64 << 20;
/// Faster than this, in bytes a second, memory was page-locked.
const LOCKED: f64 = 20e9;
/// How much faster page-locked memory is copied.
const FASTER: f64 = 3.0;
/// Allocation must take this part of the time to first, in this many calls.
const MUCH_ALLOCATION: f64 = 0.02;
const MANY_CALLS: u64 = 20;

/// Buffers that are page-locked ahead.
pub(super) fn pinned_buffers(case: &Case) -> Option<Told> {
    let facts = case.facts()?;
    let (mut bytes, mut time) = (0, 0.0);
    for span in case.spans(What::Copy) {
        let to_device = facts.judge(span, None).map(|judged| judged.cause);
        let copied = facts.process.copies.get(span.detail as usize);
        let Some(copied) = copied.filter(|_| to_device == Some(Cause::HostToDevice)) else {
            continue;
        };
        let pageable = match copied.source {
            0 => facts.pinned.is_empty(),
            source => !facts.pinned.holds(source),
        };
        if pageable {
            bytes += copied.bytes;
            time += length(span);
        }
    }
    let speed = bytes as f64 / f64::max(time, 1e-9);
    if bytes < LARGE || speed >= LOCKED {
        return None;
    }
    Some(remedy(
        "pinned-buffers",
        "Copy from page-locked memory",
        format!(
            "{} go to the device from ordinary memory at {}. Read weights and data into \
             page-locked buffers that are made once (pin_memory=True, non_blocking=True in \
             PyTorch).",
            units::bytes(bytes),
            units::bandwidth(speed)
        ),
        case.on_path(Cause::HostToDevice, time) * (1.0 - 1.0 / FASTER),
        "page-locked memory is copied three times as fast, and it is locked ahead of the start's \
         critical path",
        &[Cause::HostToDevice],
    ))
}

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
