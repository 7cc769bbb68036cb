//! The recorder's state of a thread: its current chunk, and its totals.
//!
//! Only the thread itself writes to it, so there are no locks. A flag keeps out a signal
//! handler that interrupts the recorder. When a thread ends, the rest of its chunk becomes
//! a separate chunk for the next thread: a program with very many short threads does not
//! fill its file with empty chunks.

use super::file::{self, NoChunk};
use super::process::{NO_EPOCH, Process, is_confined};
use super::system::{Errno, thread_number};
use preheat_wire::{CHUNK_MAGIC, ChunkHeader, ChunkKind, Record, SLOT_BYTES, State, Total};
use std::cell::UnsafeCell;
use std::ffi::{c_long, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const FIRST_CHUNK: usize = 16 * 1024;
/// About 8000 calls; allocating it takes 50 to 100 microseconds.
pub(super) const MAX_CHUNK: usize = 256 * 1024;
const PAGE: usize = 4096;
/// 2300 symbols, which is more than exist.
const TOTALS_CHUNK: usize = 9 * PAGE;
/// The minimum number of slots worth keeping when a thread ends.
const MIN_REST: usize = 32;
/// The number of counted calls after which a thread updates the shared count.
const BATCH: u32 = 256;

/// The recorder's state of a thread.
pub(super) struct Thread {
    /// Set while the recorder works on this thread.
    pub(super) busy: AtomicBool,
    /// The epoch of the process when this thread started to record in it.
    pub(super) epoch: u32,
    chunk: *mut ChunkHeader,
    used: u32,
    capacity: u32,
    /// The chunk is in the part reserved for records that are not hot.
    reserve: bool,
    /// The end of the thread is watched.
    watched: bool,
    next: usize,
    totals: *mut ChunkHeader,
    no_totals: bool,
    dropped: u32,
}

impl Thread {
    const fn new() -> Thread {
        Thread {
            busy: AtomicBool::new(false),
            epoch: NO_EPOCH,
            chunk: null_mut(),
            used: 0,
            capacity: 0,
            reserve: false,
            watched: false,
            next: FIRST_CHUNK,
            totals: null_mut(),
            no_totals: false,
            dropped: 0,
        }
    }
}

thread_local! {
    // Neither lazily initialized nor destroyed, so that access costs one addition, at any
    // time in the life of a thread.
    static THREAD: UnsafeCell<Thread> = const { UnsafeCell::new(Thread::new()) };
}

/// The state of this thread.
#[inline]
pub(super) fn thread() -> *mut Thread {
    THREAD.with(UnsafeCell::get)
}

static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Registers a callback for the end of threads. Called once, early: the C library stores
/// the first keys without allocating.
pub(super) fn prepare() -> bool {
    let mut key = 0;
    // SAFETY: the key is written, and the function lives as long as the process.
    if unsafe { libc::pthread_key_create(&mut key, Some(ended)) } != 0 {
        return false;
    }
    KEY.store(key, Ordering::Relaxed);
    true
}

unsafe extern "C" fn ended(_: *mut c_void) {
    // SAFETY: this thread's own state; nothing else has a reference to it.
    let thread = unsafe { &mut *thread() };
    thread.watched = false;
    if let Some(process) = super::process::process()
        && thread.epoch == process.epoch.load(Ordering::Acquire)
    {
        thread.leave(process);
    }
}

impl Thread {
    /// Resets the state in a process in which this thread has not recorded.
    pub(super) fn attach(&mut self, epoch: u32) {
        let watched = self.watched;
        *self = Thread {
            epoch,
            watched,
            busy: AtomicBool::new(self.busy.load(Ordering::Relaxed)),
            ..Thread::new()
        };
    }

    /// Returns whether the current chunk has space for this many slots.
    #[inline]
    pub(super) fn has_room(&self, slots: u32, hot: bool) -> bool {
        self.capacity - self.used >= slots && !(hot && self.reserve)
    }

    /// The next slot. Only if there is space; [`Thread::publish`] uses it up.
    #[inline]
    pub(super) fn place(&self) -> *mut Record {
        // SAFETY: slots follow the header, and the next one is inside the chunk because
        // there is space.
        unsafe { self.chunk.add(1).cast::<Record>().add(self.used as usize) }
    }

    /// Makes the written slots part of the file.
    #[inline]
    pub(super) fn publish(&mut self, slots: u32) {
        self.used += slots;
        // SAFETY: the chunk is never unmapped; its `used` is only written here.
        let used = unsafe { AtomicU32::from_ptr(&raw mut (*self.chunk).used) };
        used.store(self.used, Ordering::Release);
    }

    /// Gets a chunk with space for this many slots; false if there is none.
    #[cold]
    #[inline(never)]
    pub(super) fn grow(&mut self, process: &Process, slots: u32, hot: bool) -> bool {
        if (hot && process.full.load(Ordering::Relaxed))
            || process.exhausted.load(Ordering::Relaxed)
        {
            return false;
        }
        let _errno = Errno::keep();
        if self.chunk.is_null() && self.take_left_over(process, slots) {
            return self.has_room(slots, hot);
        }
        let need = (size_of::<ChunkHeader>() + slots as usize * SLOT_BYTES).next_multiple_of(PAGE);
        let limit = process.limit.load(Ordering::Relaxed);
        let open_to_all = limit / 8 * 7;
        if !process.full.load(Ordering::Relaxed) {
            let mut bytes = self.next.max(need);
            loop {
                match file::chunk(process, bytes, open_to_all) {
                    Ok(memory) => {
                        self.next = (self.next * 2).min(MAX_CHUNK);
                        self.adopt(memory, bytes, false);
                        return true;
                    }
                    Err(NoChunk::Full) if bytes > need.max(FIRST_CHUNK) => {
                        bytes = (bytes / 2).next_multiple_of(PAGE).max(need);
                    }
                    Err(NoChunk::Full) => break,
                    Err(NoChunk::Later) => return false,
                    Err(NoChunk::Confined) => {
                        process.close();
                        return false;
                    }
                    Err(NoChunk::Never(state)) => return Self::never(process, state),
                }
            }
            process.full.store(true, Ordering::Relaxed);
        }
        if hot {
            return false;
        }
        match file::chunk(process, need.max(PAGE), limit) {
            Ok(memory) => {
                self.adopt(memory, need.max(PAGE), true);
                true
            }
            Err(NoChunk::Full) => {
                process.exhausted.store(true, Ordering::Relaxed);
                false
            }
            Err(NoChunk::Later) => false,
            Err(NoChunk::Confined) => {
                process.close();
                false
            }
            Err(NoChunk::Never(state)) => Self::never(process, state),
        }
    }

    fn never(process: &Process, state: State) -> bool {
        process.switch_off(state);
        false
    }

    fn adopt(&mut self, memory: *mut u8, bytes: usize, reserve: bool) {
        self.chunk = memory.cast();
        self.used = 0;
        self.capacity = ((bytes - size_of::<ChunkHeader>()) / SLOT_BYTES) as u32;
        self.reserve = reserve;
        write_header(self.chunk, ChunkKind::Records, bytes);
        if !self.watched {
            // SAFETY: the key is ours; any value but null will do, since it is not read.
            self.watched = unsafe {
                libc::pthread_setspecific(KEY.load(Ordering::Relaxed), (&raw const KEY).cast())
            } == 0;
        }
    }

    /// Counts a hot call without space for a record.
    #[cold]
    pub(super) fn count(&mut self, process: &Process, symbol: u16, nanoseconds: u64) {
        if self.totals.is_null() && !self.no_totals {
            let _errno = Errno::keep();
            let limit = process.limit.load(Ordering::Relaxed);
            match file::chunk(process, TOTALS_CHUNK, limit) {
                Ok(memory) => {
                    self.totals = memory.cast();
                    write_header(self.totals, ChunkKind::Totals, TOTALS_CHUNK);
                }
                Err(_) => self.no_totals = true,
            }
        }
        let place = usize::from(symbol);
        let capacity = (TOTALS_CHUNK - size_of::<ChunkHeader>()) / size_of::<Total>();
        if !self.totals.is_null() && place < capacity {
            // SAFETY: the entry is inside the chunk, which only this thread writes.
            unsafe {
                let total = self.totals.add(1).cast::<Total>().add(place);
                (*total).calls += 1;
                (*total).nanoseconds = (*total).nanoseconds.wrapping_add(nanoseconds);
                if (*self.totals).used <= place as u32 {
                    let used = AtomicU32::from_ptr(&raw mut (*self.totals).used);
                    used.store(place as u32 + 1, Ordering::Release);
                }
            }
        }
        self.drop_record(process);
    }

    /// Counts a record that was left out, in batches, because all threads share the number
    /// in the file.
    pub(super) fn drop_record(&mut self, process: &Process) {
        self.dropped += 1;
        if self.dropped == 1 || self.dropped > BATCH {
            process.drop_records(u64::from(self.dropped.max(2) - 1));
            self.dropped = 1;
        }
    }

    fn leave(&mut self, process: &Process) {
        if self.dropped > 1 {
            process.drop_records(u64::from(self.dropped - 1));
        }
        self.dropped = 0;
        let rest = (self.capacity - self.used) as usize;
        if !self.chunk.is_null() && rest >= MIN_REST && !self.reserve {
            self.leave_rest(process, rest);
        }
        self.chunk = null_mut();
        (self.used, self.capacity, self.reserve) = (0, 0, false);
    }

    fn leave_rest(&mut self, process: &Process, rest: usize) {
        let next: *mut ChunkHeader = self.place().cast();
        let Some(place) = process
            .left_over
            .iter()
            .find(|place| place.load(Ordering::Relaxed).is_null())
        else {
            return;
        };
        write_header(next, ChunkKind::Records, rest * SLOT_BYTES);
        // SAFETY: the chunk is never unmapped, and only this thread writes its header. A
        // reader that sees the smaller size also sees the next header.
        let bytes = unsafe { AtomicU32::from_ptr(&raw mut (*self.chunk).bytes) };
        let whole = bytes.load(Ordering::Relaxed);
        bytes.store(whole - (rest * SLOT_BYTES) as u32, Ordering::Release);
        // If another thread was faster, the rest stays an empty chunk.
        let _ = place.compare_exchange(
            null_mut(),
            next.cast(),
            Ordering::Release,
            Ordering::Relaxed,
        );
    }

    fn take_left_over(&mut self, process: &Process, slots: u32) -> bool {
        for place in &process.left_over {
            if place.load(Ordering::Relaxed).is_null() {
                continue;
            }
            let memory = place.swap(null_mut(), Ordering::Acquire);
            if memory.is_null() {
                continue;
            }
            // SAFETY: it is the header that `leave_rest` wrote, and now only ours.
            let bytes = unsafe { (*memory.cast::<ChunkHeader>()).bytes } as usize;
            if bytes >= size_of::<ChunkHeader>() + slots as usize * SLOT_BYTES {
                self.adopt(memory, bytes, false);
                return true;
            }
            place.store(memory, Ordering::Release);
        }
        false
    }
}

fn write_header(chunk: *mut ChunkHeader, kind: ChunkKind, bytes: usize) {
    let mut name = [0u8; 16];
    if !is_confined() {
        // SAFETY: the kernel writes at most 16 bytes.
        unsafe {
            libc::syscall(
                libc::SYS_prctl,
                c_long::from(libc::PR_GET_NAME),
                name.as_mut_ptr(),
            )
        };
    }
    let header = ChunkHeader {
        magic: 0,
        kind: kind as u32,
        thread: thread_number(),
        bytes: bytes as u32,
        used: 0,
        reserved: 0,
        name,
        more: [0; 3],
    };
    // SAFETY: the bytes of the chunk are mapped and belong to this thread. The magic comes
    // last: a chunk that has it has a header.
    unsafe {
        chunk.write(header);
        AtomicU32::from_ptr(&raw mut (*chunk).magic).store(CHUNK_MAGIC, Ordering::Release);
    }
}
