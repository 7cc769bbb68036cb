//! An open record.

use super::process::process;
use super::{Entered, now};
use preheat_wire::{Record, SLOT_BYTES};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

/// An open record. It may be dropped, or ended any number of times: if it is not ended, it
/// stays open in the file; only the first end counts.
#[derive(Clone, Copy)]
pub struct Open {
    pub(super) record: *mut Record,
    pub(super) begin: u64,
    pub(super) epoch: u32,
    pub(super) symbol: u16,
    pub(super) counted: bool,
}

impl Open {
    pub(super) const NOTHING: Open = Open {
        record: null_mut(),
        begin: 0,
        epoch: 0,
        symbol: 0,
        counted: false,
    };

    /// Returns whether a record was made; if not, the content of its slots need not be
    /// determined.
    #[inline]
    pub fn is_recording(self) -> bool {
        !self.record.is_null()
    }

    /// The begin time; 0 if nothing is recorded.
    #[inline]
    pub fn began(self) -> u64 {
        self.begin
    }

    /// Overrides the begin time with an earlier reading.
    pub(super) fn began_at(self, time: u64) -> Open {
        if self.is_ours() {
            // SAFETY: the record is in the file of this process, which is never unmapped.
            unsafe { (*self.record).begin = time };
        }
        Open {
            begin: time,
            ..self
        }
    }

    /// The iteration, and the number of the text with its name.
    pub(crate) fn iteration(self) -> (u16, u32) {
        if !self.is_ours() {
            return (0, 0);
        }
        // SAFETY: the record is in the file of this process, which is never unmapped.
        unsafe { ((*self.record).symbol, (*self.record).value as u32) }
    }

    /// Fills one of the reserved slots. `T` is one of the slot types of the wire format.
    #[inline]
    pub fn put<T: Copy>(self, index: usize, slot: &T) {
        const { assert!(size_of::<T>() == SLOT_BYTES) };
        if !self.is_ours() {
            return;
        }
        // SAFETY: the record is in the file of this process, which is never unmapped, and
        // the slot is one of those that belong to it.
        unsafe {
            if index < usize::from((*self.record).more) {
                self.record.add(1 + index).cast::<T>().write(*slot);
            }
        }
    }

    /// Completes the record. `value` replaces its initial value.
    #[inline]
    pub fn end(self, status: i32, value: Option<u64>) {
        if self.begin == 0 {
            return;
        }
        self.end_at(now(), status, value);
    }

    /// Completes the record at a time that was read before, so that later work is not part
    /// of the span.
    #[inline]
    pub fn end_at(self, time: u64, status: i32, value: Option<u64>) {
        if self.is_ours() {
            // SAFETY: the record is in the file of this process, which is never unmapped.
            unsafe {
                if (*self.record).end == 0 {
                    (*self.record).status = status;
                    if let Some(value) = value {
                        (*self.record).value = value;
                    }
                    let end = AtomicU64::from_ptr(&raw mut (*self.record).end);
                    end.store(time, Ordering::Release);
                }
            }
        } else if self.counted {
            self.count(time);
        }
    }

    /// Returns whether this process may write to the file of the record: not if it has
    /// forked since, because then the file belongs to its parent.
    #[inline]
    fn is_ours(self) -> bool {
        !self.record.is_null()
            && process().is_some_and(|process| process.epoch.load(Ordering::Relaxed) == self.epoch)
    }

    #[cold]
    fn count(self, time: u64) {
        if let Some(Entered { process, thread }) = &mut super::enter()
            && thread.epoch == self.epoch
        {
            thread.count(process, self.symbol, time.saturating_sub(self.begin));
        }
    }

    /// The record as a number for Python; 0 for none.
    pub(crate) fn into_token(self) -> u64 {
        if self.record.is_null() {
            return 0;
        }
        // Addresses have 48 bits (57 at most if a program requests them, which we do not);
        // the epoch shows whether the record is still ours.
        (u64::from(self.epoch as u16) << 48) | (self.record as u64 & 0xffff_ffff_ffff)
    }

    /// The record of a token from [`Open::into_token`] in this process, or in a process
    /// that it was forked from.
    ///
    /// # Safety
    /// The number must be such a token: it is used as an address.
    pub(crate) unsafe fn from_token(token: u64) -> Open {
        let Some(process) = process() else {
            return Open::NOTHING;
        };
        let epoch = process.epoch.load(Ordering::Relaxed);
        if token == 0 || u64::from(epoch as u16) != token >> 48 {
            return Open::NOTHING;
        }
        let record = (token & 0xffff_ffff_ffff) as *mut Record;
        // SAFETY: the caller guarantees that it is a record, and those are never unmapped.
        let begin = unsafe { (*record).begin };
        Open {
            record,
            begin,
            epoch,
            symbol: 0,
            counted: false,
        }
    }
}
