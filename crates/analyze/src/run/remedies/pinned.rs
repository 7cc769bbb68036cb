//! Page-locked memory: the saving for copies from pageable memory, the cost of locking, and
//! the break-even point.
//!
//! A copy from pageable memory goes through a buffer of the driver. The device reads
//! page-locked memory directly, but locking takes longer than many copies. So it pays off
//! only for a buffer that is copied from repeatedly. Copies of the same size within
//! iterations can share one buffer, because a program refills it for each. Before the
//! iterations, a buffer is identified by its address.

use preheat_model::RemedyId;

use std::collections::HashMap;

use super::super::trace::{Span, SpanKind};
use super::super::{Cause, LaterSaving};
use super::{RemedyInput, Suggestion, length, remedy};
use crate::stats::median;
use crate::units;

// Measured on an H200 with PCIe 5 ×16: docs/results/h200/lab-no-bytecode.json, experiment `transfer`.

/// The fixed cost of a copy from page-locked memory: 8 µs for 4 KiB, 11 µs for 64 KiB.
const COPY: f64 = 10e-6;
/// Its speed in bytes per second: 256 MiB in 4.87 ms.
const COPY_SPEED: f64 = 55e9;
/// The fixed cost of locking memory: 0.8 to 1.3 ms for 4 KiB to 1 MiB.
const LOCK: f64 = 0.8e-3;
/// Its speed in bytes per second: 64 MiB in 34 ms, 256 MiB in 132 ms.
const LOCK_SPEED: f64 = 2e9;

/// A faster copy, in bytes per second, is from page-locked memory: pageable memory is
/// copied at 7 to 17 GB/s there. Only for copies of at least `LARGE` bytes: smaller ones
/// may return before they are done.
const LOCKED: f64 = 20e9;
const LARGE: u64 = 1 << 20;

/// Copies that take less than this in total, in seconds, are not reported.
const MIN_SAVING: f64 = 100e-6;

/// Copies from one buffer.
#[derive(Default)]
struct Buffer {
    bytes: u64,
    seconds: Vec<f64>,
    /// The number of copies that began before the first iteration ended.
    before: usize,
}

impl Buffer {
    /// The duration of a typical copy.
    fn copy(&self) -> f64 {
        median(&self.seconds).unwrap_or(0.0)
    }

    /// The saving per copy with page-locked memory.
    fn saved(&self) -> f64 {
        (self.copy() - from_locked(self.bytes)).max(0.0)
    }

    /// The number of copies that pay for locking it; none if no number does.
    fn break_even(&self) -> Option<u64> {
        break_even(lock(self.bytes), self.saved())
    }

    fn pays_off(&self) -> bool {
        (self.break_even()).is_some_and(|least| self.seconds.len() as u64 >= least)
    }

    /// The saving of this many copies, minus the cost of locking.
    fn net(&self, copies: usize) -> f64 {
        copies as f64 * self.saved() - lock(self.bytes)
    }
}

fn from_locked(bytes: u64) -> f64 {
    COPY + bytes as f64 / COPY_SPEED
}

fn lock(bytes: u64) -> f64 {
    LOCK + bytes as f64 / LOCK_SPEED
}

fn break_even(cost: f64, saved: f64) -> Option<u64> {
    let copies = (cost / saved).ceil();
    // A difference below a microsecond per copy is noise.
    (saved >= 1e-6 && copies.is_finite()).then_some(copies.max(1.0) as u64)
}

/// Copies from page-locked buffers.
pub(super) fn pinned_buffers(case: &RemedyInput) -> Option<Suggestion> {
    let buffers = buffers(case);
    let all: f64 = buffers.iter().flat_map(|buffer| &buffer.seconds).sum();
    if all < MIN_SAVING {
        return None;
    }
    let net = |buffer: &&Buffer| buffer.net(buffer.seconds.len());
    let best = (buffers.iter())
        .filter(|buffer| buffer.pays_off())
        .max_by(|a, b| net(a).total_cmp(&net(b)));
    match best {
        Some(best) => Some(reused(case, &buffers, best)),
        None => Some(once(&buffers)),
    }
}

/// The buffers that are copied to the device from pageable memory.
fn buffers(case: &RemedyInput) -> Vec<Buffer> {
    let Some(facts) = case.facts() else {
        return Vec::new();
    };
    let loop_begins = case.examined.iterations.first().map(|(begin, _)| *begin);
    let first_ends = case.examined.time_to_first.unwrap_or(0);
    let mut buffers: HashMap<(u64, u64), Buffer> = HashMap::new();
    for span in case.spans_until(SpanKind::Copy, u64::MAX) {
        let cause = facts.judge(span, None).map(|judged| judged.cause);
        let cuda = facts.process.symbol(span).starts_with("cu");
        let copied = facts.process.copies.get(span.detail as usize);
        let Some(copied) = copied.filter(|_| cuda && cause == Some(Cause::HostToDevice)) else {
            continue;
        };
        let ordinary = match copied.source {
            0 => facts.pinned.is_empty(),
            source => !facts.pinned.holds(source),
        };
        if !ordinary || copied.bytes == 0 || is_fast(span, copied.bytes) {
            continue;
        }
        let address = match loop_begins {
            Some(begin) if span.begin >= begin => 0,
            _ => copied.source,
        };
        let buffer = buffers.entry((address, copied.bytes)).or_default();
        buffer.bytes = copied.bytes;
        buffer.seconds.push(length(span));
        buffer.before += usize::from(span.begin < first_ends);
    }
    let mut buffers: Vec<((u64, u64), Buffer)> = buffers.into_iter().collect();
    buffers.sort_by_key(|(key, _)| *key);
    buffers.into_iter().map(|(_, buffer)| buffer).collect()
}

fn is_fast(span: &Span, bytes: u64) -> bool {
    bytes >= LARGE && bytes as f64 >= LOCKED * length(span)
}

/// One buffer is copied from often enough.
fn reused(case: &RemedyInput, buffers: &[Buffer], best: &Buffer) -> Suggestion {
    let in_time = buffers.iter().filter(|buffer| buffer.pays_off());
    let saving: f64 = in_time
        .map(|buffer| buffer.net(buffer.before).max(0.0))
        .sum();
    let after = best.break_even().unwrap_or(0);
    let size = units::bytes(best.bytes);
    let mut suggestion = remedy(
        RemedyId::PinnedBuffers,
        "Copy from page-locked memory",
        format!(
            "{} copies of {size} go to the device from pageable memory, {} each; from \
             page-locked memory each takes about {}. Locking {size} takes about {} once and pays \
             off after {}. Reuse one locked buffer: pin_memory=True in the PyTorch DataLoader, \
             cudaHostAlloc elsewhere, and copy with non_blocking=True.",
            best.seconds.len(),
            units::duration(best.copy()),
            units::duration(from_locked(best.bytes)),
            units::duration(lock(best.bytes)),
            copies(after),
        ),
        case.on_path(Cause::HostToDevice, saving),
        "locking and copying take as long as on an H200 (2 GB/s and 55 GB/s), and the data is \
         produced in the locked buffer",
        &[Cause::HostToDevice],
    );
    suggestion.remedy.later = Some(LaterSaving {
        of: "each copy".to_owned(),
        seconds: best.saved(),
        after,
    });
    suggestion
}

/// No single buffer is copied from often enough: lock all of them in one piece.
fn once(buffers: &[Buffer]) -> Suggestion {
    let bytes: u64 = buffers.iter().map(|buffer| buffer.bytes).sum();
    let number: usize = buffers.iter().map(|buffer| buffer.seconds.len()).sum();
    let saved: f64 = buffers.iter().map(Buffer::saved).sum();
    let of_all = |of_one: fn(&Buffer) -> f64| -> f64 {
        let copies = |buffer: &Buffer| buffer.seconds.len() as f64 * of_one(buffer);
        buffers.iter().map(copies).sum()
    };
    let (now, in_all) = (of_all(Buffer::copy), of_all(Buffer::saved));
    let moved = of_all(|buffer| buffer.bytes as f64) as u64;
    let cost = lock(bytes);
    let after = break_even(cost, saved);
    let (size, moved) = (units::bytes(bytes), units::bytes(moved));
    let what = match number {
        1 => format!("1 copy moves {moved} to the device from pageable memory in"),
        _ => format!("{number} copies move {moved} to the device from pageable memory in"),
    };
    let what = match after {
        Some(after) => format!(
            "{what} {}; from page-locked memory that takes about {}. Locking {size} in one piece \
             takes about {}, and saves {} here; it pays off after {} of the same memory.",
            units::duration(now),
            units::duration(now - in_all),
            units::duration(cost),
            units::duration(in_all),
            copies(after),
        ),
        None => format!(
            "{what} {}. Copies of this size are not faster from page-locked memory, and locking it \
             takes about {}.",
            units::duration(now),
            units::duration(cost),
        ),
    };
    let mut suggestion = remedy(
        RemedyId::PinnedBuffers,
        "Copy from page-locked memory",
        what,
        0.0,
        "locking and copying take as long as on an H200 (2 GB/s and 55 GB/s)",
        &[Cause::HostToDevice],
    );
    suggestion.remedy.helps = in_all > cost;
    suggestion.remedy.later = after.map(|after| LaterSaving {
        of: "each copy of all of it".to_owned(),
        seconds: saved,
        after,
    });
    suggestion
}

fn copies(number: u64) -> String {
    match number {
        1 => "1 copy".to_owned(),
        _ => format!("{number} copies"),
    }
}
