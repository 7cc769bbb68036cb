//! Decides whether frequent calls of each iteration are recorded: once a process has
//! repeated itself long enough, they are only recorded in windows.
//!
//! [`Schedule`] decides this from the marks of iterations. This module queries it, applies
//! its decision and records it in the file, so that a reader knows which intervals have no
//! detail. The switch is a single word for the whole process.

use super::process::process;
use super::schedule::{Mark, Rank, Schedule};
use super::text::hash;
use super::thread::thread;
use super::{Open, now};
use preheat_wire::{Iteration, Kind};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// The state of a process. All zeros is its initial value.
pub(super) struct Detail {
    /// True if detail is left out.
    pub(super) sparse: AtomicBool,
    /// A lock: the thread that sets it may use `inside`.
    locked: AtomicBool,
    /// An override of the schedule.
    forced: AtomicU8,
    inside: UnsafeCell<Inside>,
}

struct Inside {
    schedule: Schedule,
    /// The record of the current interval without detail.
    open: Open,
}

// The marks of iterations that the user selected; the same in every forked child.
const ANY: u8 = 0;
const PYTHON: u8 = 1;
const RANGES: u8 = 2;
const NAMED: u8 = 3;
const NOTHING: u8 = 4;

static MARKS: AtomicU8 = AtomicU8::new(ANY);
/// The hash of the selected range name.
static NAME: AtomicU64 = AtomicU64::new(0);

/// True if any calls are hooked: otherwise nothing could be left out.
static CALLS: AtomicBool = AtomicBool::new(false);

/// Notes that calls of a driver or library are hooked from now on.
pub fn calls_are_hooked() {
    CALLS.store(true, Ordering::Relaxed);
}

/// Sets the user's definition of an iteration, as passed by the launcher.
pub fn iterations_are(setting: &[u8]) {
    let marks = match setting {
        b"python" => PYTHON,
        b"nvtx" => RANGES,
        [b'n', b'v', b't', b'x', b':', name @ ..] => {
            NAME.store(hash(name), Ordering::Relaxed);
            NAMED
        }
        // These are detected from the calls themselves, or from outside.
        b"kernels" | b"timers" | [b'l', b'i', b'n', b'e', b's', b':', ..] => NOTHING,
        _ => ANY,
    };
    MARKS.store(marks, Ordering::Relaxed);
}

/// Returns whether frequent calls of each iteration are currently left out; also true if
/// nothing is recorded.
#[inline]
pub fn is_sparse() -> bool {
    process().is_none_or(|process| process.detail.sparse.load(Ordering::Relaxed))
}

/// Requests a window, because something happens that steady iterations do not do.
#[inline]
pub fn request_window() {
    if let Some(process) = process() {
        process.detail.change(None, Schedule::request_window);
    }
}

/// Marks the beginning of a step or call that Python reports. `within` means that it is
/// inside a range that the program has named, which is then the better mark.
pub fn iteration_began(which: u16, name: u32, time: u64, within: bool) {
    let rank = match Iteration::from_u16(which) {
        Some(Iteration::Named) => Rank::Named,
        Some(Iteration::ModelCall) => Rank::Model,
        Some(
            Iteration::TrainStep
            | Iteration::PredictStep
            | Iteration::TestStep
            | Iteration::Predict
            | Iteration::Evaluate,
        ) => Rank::Keras,
        // The analysis ends an iteration with a step. A function call may contain others.
        Some(
            Iteration::OptimizerStep
            | Iteration::DataFetch
            | Iteration::Epoch
            | Iteration::FunctionCall
            | Iteration::CompiledCall
            | Iteration::Backward,
        )
        | None => return,
    };
    iteration(rank, which, name, time, within);
}

/// Marks the end of a recorded iteration.
pub fn iteration_ended(which: u16, name: u32, time: u64, within: bool) {
    if which == Iteration::OptimizerStep as u16 {
        iteration(Rank::Step, which, name, time, within);
    }
}

fn iteration(rank: Rank, which: u16, name: u32, time: u64, within: bool) {
    match MARKS.load(Ordering::Relaxed) {
        ANY if !within || rank == Rank::Named => mark(rank, which, name, time),
        PYTHON => mark(rank, which, name, time),
        _ => {}
    }
}

/// Marks the beginning of a named range. `outermost` means that the program named it, and
/// that it is not inside another.
pub fn range_began(name: u32, outermost: bool, time: u64) {
    let counts = match MARKS.load(Ordering::Relaxed) {
        ANY | RANGES => outermost && !super::text::is_operation(name),
        NAMED => super::text::hash_of(name) == NAME.load(Ordering::Relaxed),
        _ => false,
    };
    if counts {
        mark(Rank::Range, 0, name, time);
    }
}

fn mark(rank: Rank, which: u16, name: u32, time: u64) {
    let Some(process) = process() else { return };
    // Nothing was recorded, or it has no name to identify it.
    if time == 0 || name == 0 || !CALLS.load(Ordering::Relaxed) {
        return;
    }
    let mark = Mark::new(rank, which, name, thread() as usize);
    let again = rank == Rank::Step;
    (process.detail).change(Some(time), |schedule| schedule.mark(mark, again));
}

/// Notes that an optimizer was created: its steps will be the iterations.
pub fn expect_steps() {
    if let Some(process) = process() {
        (process.detail).change(None, |schedule| schedule.expect(Rank::Step));
    }
}

/// Values of `forced`: follow the schedule, record everything, record as little as possible.
const BY_SCHEDULE: u8 = 0;
const ALL: u8 = 1;
const NONE: u8 = 2;

/// Leaves nothing out, or everything possible, until it is called again. For measuring the
/// overhead.
pub fn force(all: bool, none: bool) {
    let Some(process) = process() else { return };
    let forced = match (all, none) {
        (true, _) => ALL,
        (false, true) => NONE,
        (false, false) => BY_SCHEDULE,
    };
    process.detail.forced.store(forced, Ordering::Relaxed);
    process.detail.change(None, |_| {});
}

impl Detail {
    /// Updates the schedule and applies its decision. Marks that arrive while another thread
    /// does this are not counted, which makes no difference.
    fn change(&self, time: Option<u64>, work: impl FnOnce(&mut Schedule)) {
        if self.locked.swap(true, Ordering::Acquire) {
            return;
        }
        // SAFETY: this thread holds the lock until it is released below.
        let inside = unsafe { &mut *self.inside.get() };
        let wanted = match self.forced.load(Ordering::Relaxed) {
            ALL => false,
            NONE => true,
            _ => {
                work(&mut inside.schedule);
                inside.schedule.is_sparse()
            }
        };
        match (self.sparse.load(Ordering::Relaxed), wanted) {
            (false, true) => self.leave_out(inside, time),
            (true, false) => {
                self.sparse.store(false, Ordering::Relaxed);
                inside.open.end_at(time.unwrap_or_else(now), 0, None);
            }
            _ => {}
        }
        self.locked.store(false, Ordering::Release);
    }

    /// Detail is only left out together with a record that shows it.
    fn leave_out(&self, inside: &mut Inside, time: Option<u64>) {
        let open = super::begin(Kind::Sparse, 0, 0, 0, &[], false);
        if open.is_recording() {
            // From the mark on, so that no iteration crosses the border.
            inside.open = open.began_at(time.unwrap_or(open.began()));
            self.sparse.store(true, Ordering::Relaxed);
        }
    }
}
