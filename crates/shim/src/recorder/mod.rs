//! The recorder: accepts records from any thread and stores them in the file of the
//! process.
//!
//! A record is reserved when an operation begins and completed when it ends, so that a
//! killed program leaves its open operations. The recorder knows no functions and no
//! frameworks. It never prints, never panics and never blocks; on any error it disables
//! itself permanently, and all of this does nothing.

mod clock;
pub mod detail;
mod file;
mod open;
mod process;
mod schedule;
pub(crate) mod system;
mod text;
mod thread;
#[cfg(target_arch = "x86_64")]
mod ticks;
mod usage;

pub use clock::now;
pub use open::Open;
pub use process::start;
pub(crate) use process::{confine, follow_forks, forked, is_confined, pause, should_hook, wait};
pub use text::{first_time, text};
pub use usage::{UsageMark, record_cpu, usage};

use preheat_wire::{Kind, Record, SLOT_BYTES, Slot, text_slots};
use process::{Attempt, Process, process};
use std::ptr::{copy_nonoverlapping, null_mut};
use std::sync::atomic::{Ordering, compiler_fence};
use thread::{Thread, thread};

/// Begins a record with `slots` further slots, to be filled with [`Open::put`], and a text
/// after them. A hot one may be left out, and counted instead, when space gets short.
#[inline(always)]
pub fn begin(kind: Kind, symbol: u16, value: u64, slots: usize, text: &[u8], hot: bool) -> Open {
    record(kind, symbol, 0, value, (slots, None), text, hot, false)
}

/// Adds a record without duration.
pub fn instant(kind: Kind, symbol: u16, status: i32, value: u64, slot: Option<Slot>, text: &[u8]) {
    let slots = usize::from(slot.is_some());
    record(
        kind,
        symbol,
        status,
        value,
        (slots, slot),
        text,
        false,
        true,
    );
}

/// Records an event at an earlier time of this thread, after its latest record.
pub fn instant_at(time: u64, kind: Kind, symbol: u16, status: i32, value: u64) {
    let open = record(kind, symbol, status, value, (0, None), b"", false, false);
    open.began_at(time).end_at(time, status, None);
}

/// Returns whether anything is recorded. Opens the file of a forked child.
pub fn active() -> bool {
    generation() != 0
}

/// A generation number, unique per process; 0 if recording is off. Definitions in the file
/// of one generation must be repeated in the next. Opens the file of a forked child.
#[inline]
pub fn generation() -> u32 {
    let Some(process) = process() else { return 0 };
    // SAFETY: this thread's own state. A signal handler that interrupts the recorder reads
    // a number that the recorder is not changing.
    let epoch = unsafe { (&raw const (*thread()).epoch).read() };
    if epoch == process.epoch.load(Ordering::Acquire) {
        return epoch;
    }
    enter().map_or(0, |entered| entered.thread.epoch)
}

/// The state of this thread while the recorder uses it: nothing else on this thread gets it
/// as long as this exists.
struct Entered {
    process: &'static Process,
    thread: &'static mut Thread,
}

/// Gets the state of this thread, ready to record; `None` if it is already in use.
#[inline(always)]
fn enter() -> Option<Entered> {
    let process = process()?;
    let thread = thread();
    // SAFETY: `busy` is the only field that is read before it is set, and it is atomic.
    let busy = unsafe { &(*thread).busy };
    if busy.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: only this thread writes the epoch, and the recorder is not running on it.
    if unsafe { (*thread).epoch } != process.epoch.load(Ordering::Acquire)
        && !attach(process, thread)
    {
        return None;
    }
    busy.store(true, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    // SAFETY: the flag excludes any other use on this thread until this is dropped, which
    // happens before the thread ends; and no other thread has this state.
    let thread = unsafe { &mut *thread };
    Some(Entered { process, thread })
}

impl Drop for Entered {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.thread.busy.store(false, Ordering::Relaxed);
    }
}

#[cold]
#[inline(never)]
fn attach(process: &Process, thread: *mut Thread) -> bool {
    // SAFETY: same as in `enter`.
    let busy = unsafe { &(*thread).busy };
    busy.store(true, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    let found = process.find();
    if let Attempt::Open(epoch) | Attempt::JustOpened(epoch) = found {
        // SAFETY: the flag excludes any other use on this thread.
        unsafe { (*thread).attach(epoch) };
    }
    compiler_fence(Ordering::SeqCst);
    busy.store(false, Ordering::Relaxed);
    if let Attempt::JustOpened(_) = found {
        crate::lifetime::describe(process.room());
    }
    !matches!(found, Attempt::Nothing)
}

// Inlined into every caller: constant arguments are folded, and nothing goes through
// memory.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the fields of a record")]
fn record(
    kind: Kind,
    symbol: u16,
    status: i32,
    value: u64,
    slots: (usize, Option<Slot>),
    text: &[u8],
    hot: bool,
    instant: bool,
) -> Open {
    let (slots, slot) = slots;
    let Some(Entered { process, thread }) = &mut enter() else {
        return Open::NOTHING;
    };
    // Text that exceeds the maximum number of slots is cut off.
    let more = (slots + text_slots(text.len())).min(255);
    let need = 1 + more as u32;
    if !thread.has_room(need, hot) && !thread.grow(process, need, hot) {
        return left_out(process, thread, symbol, hot && matches!(kind, Kind::Call));
    }
    let place = thread.place();
    let room = more.saturating_sub(slots) * SLOT_BYTES;
    // SAFETY: there is space for the record and the slots after it, zeroed and not yet part
    // of the file; the text is cut to its slots.
    unsafe {
        if let Some(slot) = slot {
            place.add(1).cast::<Slot>().write(slot);
        }
        if room > 0 {
            let from = text.as_ptr();
            copy_nonoverlapping(from, place.add(1 + slots).cast(), text.len().min(room));
        }
    }
    let begin = now();
    // SAFETY: same as above.
    unsafe {
        place.write(Record {
            begin,
            end: if instant { begin } else { 0 },
            kind: kind as u8,
            more: more as u8,
            symbol,
            status,
            value,
        });
    }
    thread.publish(need);
    Open {
        record: place,
        begin,
        epoch: thread.epoch,
        symbol,
        counted: false,
    }
}

/// Handles a record without space; a call is counted when it ends.
#[cold]
#[inline(never)]
fn left_out(process: &Process, thread: &mut Thread, symbol: u16, counted: bool) -> Open {
    if !counted {
        thread.drop_record(process);
    }
    Open {
        record: null_mut(),
        begin: if counted { now() } else { 0 },
        epoch: thread.epoch,
        symbol,
        counted,
    }
}
