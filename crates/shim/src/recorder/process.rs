//! The recorder's state of this process, and its initialization.
//!
//! All of it is in memory that the kernel clears in a forked child, so a child finds
//! nothing of its parent, no matter which thread held a lock or how it was forked; with its
//! first record it opens a separate file. Each opening has a new *epoch*, by which threads and
//! open records detect that they belong to another process.

use super::detail::Detail;
use super::file::{self, Path};
use super::system::{self, Errno};
use preheat_wire::{FileHeader, State};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// No file is open yet.
const CLOSED: u32 = 0;
/// The epoch of a thread that is not part of any recording.
pub(super) const NO_EPOCH: u32 = u32::MAX - 2;
/// Another thread is opening the file.
const OPENING: u32 = u32::MAX - 1;
/// Nothing is recorded any more.
const OFF: u32 = u32::MAX;

pub(super) const TEXTS: usize = 8192;
pub(super) const SEEN: usize = 32768;
pub(super) const LEFT_OVER: usize = 64;

/// The state of this process's recording. All zeros is its value before the opening.
#[repr(C)]
pub(super) struct Process {
    pub(super) epoch: AtomicU32,
    /// Set when space runs out for hot calls, and for everything.
    pub(super) full: AtomicBool,
    pub(super) exhausted: AtomicBool,
    pub(super) detail: Detail,
    pub(super) header: AtomicPtr<FileHeader>,
    /// Written before the epoch is published, never after.
    path: UnsafeCell<Path>,
    /// A buffer for the thread that starts the recording, whose stack may be small.
    room: UnsafeCell<Path>,
    pub(super) limit: AtomicU64,
    /// Hashes of texts; the number of a text is its index plus one.
    pub(super) texts: [AtomicU64; TEXTS],
    /// A bit for each text that is the name of an operation.
    pub(super) operations: [AtomicU64; TEXTS / 64],
    /// Hashes of items that are recorded only once.
    pub(super) seen: [AtomicU64; SEEN],
    /// Remainders of chunks whose threads have ended.
    pub(super) left_over: [AtomicPtr<u8>; LEFT_OVER],
}

/// The settings from the constructor; the same in every forked child.
struct Settings {
    directory: UnsafeCell<Path>,
    limit: AtomicU64,
    /// True if the kernel clears [`Process`] in a forked child.
    wiped: AtomicBool,
    last_epoch: AtomicU32,
    forked_at: AtomicU64,
    /// The process in which `forked_at` was set.
    forked_as: AtomicU32,
    /// True if the recorder must not make additional system calls.
    confined: AtomicBool,
}

// SAFETY: the directory is written once, before PROCESS is published.
unsafe impl Sync for Settings {}

static SETTINGS: Settings = Settings {
    directory: UnsafeCell::new([0; 4096]),
    limit: AtomicU64::new(0),
    wiped: AtomicBool::new(false),
    last_epoch: AtomicU32::new(0),
    forked_at: AtomicU64::new(0),
    forked_as: AtomicU32::new(0),
    confined: AtomicBool::new(false),
};

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(null_mut());

/// The recording of this process, if there is one.
#[inline]
pub(super) fn process() -> Option<&'static Process> {
    // SAFETY: either null or the mapping created by `start`, which is never unmapped.
    unsafe { PROCESS.load(Ordering::Acquire).as_ref() }
}

/// Starts to record into `directory` (an absolute path without a NUL). Called once: by the
/// constructor, before there are threads, or later in a forked child.
pub fn start(directory: &[u8], limit: u64) -> bool {
    let _errno = Errno::keep();
    if process().is_some() || directory.is_empty() || directory.contains(&0) {
        return false;
    }
    // SAFETY: nothing reads the directory before PROCESS is published below.
    let place = unsafe { &mut *SETTINGS.directory.get() };
    // Space is left for the file name.
    if directory.len() + 64 > place.len() {
        return false;
    }
    for (to, &from) in place.iter_mut().zip(directory) {
        *to = from;
    }
    SETTINGS
        .limit
        .store(limit.max(file::MIN_LIMIT), Ordering::Relaxed);
    let Some((memory, wiped)) = system::private_memory(size_of::<Process>()) else {
        return false;
    };
    SETTINGS.wiped.store(wiped, Ordering::Relaxed);
    if !super::thread::prepare() {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    super::ticks::prepare();
    PROCESS.store(memory.cast(), Ordering::Release);
    super::active()
}

/// True if the recording starts later, in a forked child.
static WAITING: AtomicBool = AtomicBool::new(false);

/// Prepares for a recording that starts later: functions looked up meanwhile are hooked.
pub(crate) fn wait() {
    WAITING.store(true, Ordering::Relaxed);
}

/// Returns whether functions should be hooked: for the recording of this process, or for
/// one that starts later.
pub(crate) fn should_hook() -> bool {
    WAITING.load(Ordering::Relaxed) || super::active()
}

/// Pauses or resumes recording. Open records stay open meanwhile.
pub(crate) fn pause(pause: bool) {
    static PAUSED: AtomicPtr<Process> = AtomicPtr::new(null_mut());
    let (from, to) = match pause {
        true => (&PROCESS, &PAUSED),
        false => (&PAUSED, &PROCESS),
    };
    let process = from.swap(null_mut(), Ordering::AcqRel);
    if !process.is_null() {
        to.store(process, Ordering::Release);
    }
}

/// From now on the kernel may kill the process for an unexpected system call: no further
/// chunks are allocated. Existing ones stay in use.
pub(crate) fn confine() {
    SETTINGS.confined.store(true, Ordering::Relaxed);
}

/// Returns whether the process is confined. This also applies to forked children.
pub(crate) fn is_confined() -> bool {
    SETTINGS.confined.load(Ordering::Relaxed)
}

/// To be called first in a forked child.
pub(crate) fn forked() {
    #[cfg(target_arch = "x86_64")]
    super::ticks::forked();
    let Some(process) = process() else { return };
    SETTINGS.forked_at.store(super::now(), Ordering::Relaxed);
    SETTINGS
        .forked_as
        .store(system::process_number(), Ordering::Relaxed);
    if !SETTINGS.wiped.load(Ordering::Relaxed) {
        let here: *const Process = process;
        // SAFETY: a forked child has one thread, so nothing else accesses it; zeros are the
        // state before the opening.
        unsafe {
            here.cast_mut()
                .cast::<u8>()
                .write_bytes(0, size_of::<Process>())
        };
    }
}

/// The result of an attempt to use the recording.
pub(super) enum Attempt {
    /// It is open, with this epoch.
    Open(u32),
    /// It was just opened, with this epoch: the process must be described.
    JustOpened(u32),
    /// There is none, permanently.
    Nothing,
}

impl Process {
    /// The epoch of the recording. Opens it if necessary.
    pub(super) fn find(&self) -> Attempt {
        // Enough for any disk; a thread that waits in vain merely records nothing.
        for _ in 0..100_000 {
            match self.epoch.load(Ordering::Acquire) {
                CLOSED => {
                    let free = self.epoch.compare_exchange(
                        CLOSED,
                        OPENING,
                        Ordering::AcqRel,
                        Ordering::Relaxed,
                    );
                    if free.is_ok() {
                        return self.open();
                    }
                }
                OPENING => {
                    // SAFETY: no memory is involved.
                    unsafe { libc::sched_yield() };
                }
                OFF => return Attempt::Nothing,
                epoch => return Attempt::Open(epoch),
            }
        }
        Attempt::Nothing
    }

    fn open(&self) -> Attempt {
        let _errno = Errno::keep();
        // SAFETY: only this thread holds OPENING, and nothing reads the path before an
        // epoch is published. The directory is not written after the start.
        let (path, directory) = unsafe { (&mut *self.path.get(), &*SETTINGS.directory.get()) };
        let limit = SETTINGS.limit.load(Ordering::Relaxed);
        if is_confined() {
            self.epoch.store(OFF, Ordering::Release);
            return Attempt::Nothing;
        }
        // A child that was forked without calling the handlers has the time of its parent.
        let began = match SETTINGS.forked_at.load(Ordering::Relaxed) {
            at if SETTINGS.forked_as.load(Ordering::Relaxed) == system::process_number() => at,
            _ => super::now(),
        };
        match file::create(directory, path, limit, began, self.room()) {
            Ok(header) => {
                self.header.store(header, Ordering::Relaxed);
                self.limit.store(limit, Ordering::Relaxed);
                let epoch = SETTINGS.last_epoch.load(Ordering::Relaxed) % (NO_EPOCH - 1) + 1;
                SETTINGS.last_epoch.store(epoch, Ordering::Relaxed);
                self.epoch.store(epoch, Ordering::Release);
                Attempt::JustOpened(epoch)
            }
            Err(_) => {
                self.epoch.store(OFF, Ordering::Release);
                Attempt::Nothing
            }
        }
    }

    /// The path of the file. Only valid after an epoch was read.
    pub(super) fn path(&self) -> &Path {
        // SAFETY: it is not written after the epoch was published.
        unsafe { &*self.path.get() }
    }

    /// Only for the thread that opens the file, until it has described the process.
    #[expect(
        clippy::mut_from_ref,
        reason = "only one thread calls it, and uses one reference at a time"
    )]
    pub(super) fn room(&self) -> &mut Path {
        // SAFETY: only the thread that holds OPENING calls this, and once more after
        // opening the file; the previous reference is then no longer used.
        unsafe { &mut *self.room.get() }
    }

    /// The header of the file. Only valid after an epoch was read.
    pub(super) fn header(&self) -> *mut FileHeader {
        self.header.load(Ordering::Relaxed)
    }

    /// Ends the recording permanently.
    pub(super) fn switch_off(&self, state: State) {
        let header = self.header();
        if !header.is_null() {
            // SAFETY: the header is never unmapped; the field is only used atomically.
            let field = unsafe { AtomicU32::from_ptr(&raw mut (*header).state) };
            field.store(state as u32, Ordering::Release);
        }
        self.epoch.store(OFF, Ordering::Release);
    }

    /// Records that no thread gets another chunk, for a reason other than the limit.
    pub(super) fn close(&self) {
        let header = self.header();
        if !header.is_null() {
            // SAFETY: the header is never unmapped; the field is only used atomically.
            let state = unsafe { AtomicU32::from_ptr(&raw mut (*header).state) };
            state.store(State::Off as u32, Ordering::Relaxed);
        }
        self.exhausted.store(true, Ordering::Relaxed);
    }

    /// Counts records that are left out.
    pub(super) fn drop_records(&self, count: u64) {
        let header = self.header();
        if header.is_null() {
            return;
        }
        // SAFETY: the header is never unmapped; these fields are only used atomically.
        let (dropped, full_at, state) = unsafe {
            (
                AtomicU64::from_ptr(&raw mut (*header).dropped),
                AtomicU64::from_ptr(&raw mut (*header).full_at),
                AtomicU32::from_ptr(&raw mut (*header).state),
            )
        };
        dropped.fetch_add(count, Ordering::Relaxed);
        if full_at.load(Ordering::Relaxed) == 0 {
            let _ = full_at.compare_exchange(0, super::now(), Ordering::Relaxed, Ordering::Relaxed);
            let _ = state.compare_exchange(
                State::Recording as u32,
                State::Full as u32,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
    }
}

/// Registers `child` to be called in every forked child.
pub(crate) fn follow_forks(child: unsafe extern "C" fn()) -> bool {
    // SAFETY: the function lives as long as the process.
    unsafe { libc::pthread_atfork(None, None, Some(child)) == 0 }
}
