//! Whether calls that every iteration makes often are recorded: in a process that has
//! repeated itself long enough they are only in windows.
//!
//! When that is so, [`Rhythm`] decides by the marks of iterations; here it is asked, and what
//! it says is put into force and into the file, so that a reader knows which stretches have
//! no detail. The switch is one for the whole process, and one word to look at.

use super::process::process;
use super::rhythm::{Mark, Rank, Rhythm};
use super::text::hash;
use super::thread::thread;
use super::{Open, now};
use preheat_wire::{Iteration, Kind};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// A process's part of this. Zeros are its value at the beginning.
pub(super) struct Detail {
    /// Whether detail is left out.
    pub(super) sparse: AtomicBool,
    /// Who has set it may use what is inside.
    taken: AtomicBool,
    /// What is done for now, whatever the rhythm says.
    forced: AtomicU8,
    inside: UnsafeCell<Inside>,
}

struct Inside {
    rhythm: Rhythm,
    /// The record of the stretch without detail that is under way.
    open: Open,
}

// What marks iterations, by what the user asked for; the same in every forked child.
const ANY: u8 = 0;
const PYTHON: u8 = 1;
const RANGES: u8 = 2;
const NAMED: u8 = 3;
const NOTHING: u8 = 4;

static MARKS: AtomicU8 = AtomicU8::new(ANY);
/// The hash of the name of ranges that are asked for.
static NAME: AtomicU64 = AtomicU64::new(0);

/// Whether calls are taken at all: where there are none, nothing could be left out.
static CALLS: AtomicBool = AtomicBool::new(false);

/// From now on calls of a driver or library are taken.
pub fn calls_are_taken() {
    CALLS.store(true, Ordering::Relaxed);
}

/// What the user takes for an iteration, as the launcher says it.
pub fn iterations_are(setting: &[u8]) {
    let marks = match setting {
        b"python" => PYTHON,
        b"nvtx" => RANGES,
        [b'n', b'v', b't', b'x', b':', name @ ..] => {
            NAME.store(hash(name), Ordering::Relaxed);
            NAMED
        }
        // The calls themselves tell it, or what comes from outside.
        b"kernels" | b"timers" | [b'l', b'i', b'n', b'e', b's', b':', ..] => NOTHING,
        _ => ANY,
    };
    MARKS.store(marks, Ordering::Relaxed);
}

/// Whether calls that every iteration makes often are left out just now; so they are where
/// nothing is recorded.
#[inline]
pub fn is_sparse() -> bool {
    process().is_none_or(|process| process.detail.sparse.load(Ordering::Relaxed))
}

/// Something happens that a steady iteration has not: what follows is worth a look.
#[inline]
pub fn new_thing() {
    if let Some(process) = process() {
        process.detail.change(None, Rhythm::new_thing);
    }
}

/// A step or call that Python sees has begun. `within` says that it lies in a range that
/// the program has named, which then tells more of its iterations.
pub fn iteration_began(which: u16, name: u32, time: u64, within: bool) {
    let rank = match Iteration::from_u16(which) {
        Some(Iteration::ModelCall) => Rank::Model,
        Some(
            Iteration::TrainStep
            | Iteration::PredictStep
            | Iteration::TestStep
            | Iteration::Predict
            | Iteration::Evaluate,
        ) => Rank::Keras,
        // The analysis has an iteration end with a step. A function's call may have others
        // of these within it.
        Some(
            Iteration::OptimizerStep
            | Iteration::DataFetch
            | Iteration::Epoch
            | Iteration::FunctionCall
            | Iteration::CompiledCall,
        )
        | None => return,
    };
    iteration(rank, which, name, time, within);
}

/// One that was recorded has ended.
pub fn iteration_ended(which: u16, name: u32, time: u64, within: bool) {
    if which == Iteration::OptimizerStep as u16 {
        iteration(Rank::Step, which, name, time, within);
    }
}

fn iteration(rank: Rank, which: u16, name: u32, time: u64, within: bool) {
    match MARKS.load(Ordering::Relaxed) {
        ANY if !within => mark(rank, which, name, time),
        PYTHON => mark(rank, which, name, time),
        _ => {}
    }
}

/// A range that the program has named has begun. `outermost` says that it is in the
/// program's own words, and lies in no other.
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
    // Nothing was recorded, or it has no name to be told by.
    if time == 0 || name == 0 || !CALLS.load(Ordering::Relaxed) {
        return;
    }
    let mark = Mark::new(rank, which, name, thread() as usize);
    let again = rank == Rank::Step;
    (process.detail).change(Some(time), |rhythm| rhythm.mark(mark, again));
}

/// An optimizer was made: its steps will be the iterations.
pub fn expect_steps() {
    if let Some(process) = process() {
        (process.detail).change(None, |rhythm| rhythm.expect(Rank::Step));
    }
}

/// As the rhythm says; all in detail; nothing in detail.
const BY_RHYTHM: u8 = 0;
const ALL: u8 = 1;
const NONE: u8 = 2;

/// Leaves nothing out, or all that can be, until it is told otherwise. For who measures what
/// that costs.
pub fn force(all: bool, none: bool) {
    let Some(process) = process() else { return };
    let forced = match (all, none) {
        (true, _) => ALL,
        (false, true) => NONE,
        (false, false) => BY_RHYTHM,
    };
    process.detail.forced.store(forced, Ordering::Relaxed);
    process.detail.change(None, |_| {});
}

impl Detail {
    /// Asks the rhythm, and does as it says. What comes while another thread does so is
    /// not counted, which makes no difference.
    fn change(&self, time: Option<u64>, work: impl FnOnce(&mut Rhythm)) {
        if self.taken.swap(true, Ordering::Acquire) {
            return;
        }
        // SAFETY: the flag is ours until it is given back.
        let inside = unsafe { &mut *self.inside.get() };
        let wanted = match self.forced.load(Ordering::Relaxed) {
            ALL => false,
            NONE => true,
            _ => {
                work(&mut inside.rhythm);
                inside.rhythm.is_sparse()
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
        self.taken.store(false, Ordering::Release);
    }

    /// Nothing is left out without a record that says so.
    fn leave_out(&self, inside: &mut Inside, time: Option<u64>) {
        let open = super::begin(Kind::Sparse, 0, 0, 0, &[], false);
        if open.is_recording() {
            // From the mark on, so that an iteration lies on one side of the border.
            inside.open = open.began_at(time.unwrap_or(open.began()));
            self.sparse.store(true, Ordering::Relaxed);
        }
    }
}
