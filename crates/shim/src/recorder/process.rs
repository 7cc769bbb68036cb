//! What the recorder knows of this process, and how it begins in it.
//!
//! All of it lies in memory that the kernel wipes in a forked child, so a child finds
//! nothing of its parent's, whoever held which lock, and however it was forked; at the
//! first record it opens a file of its own. Each opening has another *epoch*, by which
//! threads and open records find that they are of a process that this one is a copy of.

use super::detail::Detail;
use super::file::{self, Path};
use super::system::{self, Errno};
use preheat_wire::{FileHeader, State};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// No file is open yet.
const CLOSED: u32 = 0;
/// What a thread has before it is part of any recording: no recording's epoch.
pub(super) const NO_EPOCH: u32 = u32::MAX - 2;
/// Some thread is opening the file.
const OPENING: u32 = u32::MAX - 1;
/// Nothing is recorded any more.
const OFF: u32 = u32::MAX;

pub(super) const TEXTS: usize = 8192;
pub(super) const SEEN: usize = 32768;
pub(super) const LEFT_OVER: usize = 64;

/// The state of this process's recording. Zeros are its value before the opening.
#[repr(C)]
pub(super) struct Process {
    pub(super) epoch: AtomicU32,
    /// Set when hot calls find no more room, and when nothing else does either.
    pub(super) full: AtomicBool,
    pub(super) exhausted: AtomicBool,
    pub(super) detail: Detail,
    pub(super) header: AtomicPtr<FileHeader>,
    /// Written before the epoch is published, never after.
    path: UnsafeCell<Path>,
    /// Room for what is read while the recording begins, for the thread that begins it:
    /// its stack may be a small one.
    room: UnsafeCell<Path>,
    pub(super) limit: AtomicU64,
    /// Hashes of texts; a text's number is one more than its place.
    pub(super) texts: [AtomicU64; TEXTS],
    /// Which of the texts are names of operations, a bit for each.
    pub(super) operations: [AtomicU64; TEXTS / 64],
    /// Hashes of what is recorded only once.
    pub(super) seen: [AtomicU64; SEEN],
    /// Rests of chunks whose threads have ended.
    pub(super) left_over: [AtomicPtr<u8>; LEFT_OVER],
}

/// What the constructor was told; it is the same in every forked child.
struct Settings {
    directory: UnsafeCell<Path>,
    limit: AtomicU64,
    /// Whether the kernel wipes [`Process`] at a fork.
    wiped: AtomicBool,
    last_epoch: AtomicU32,
    forked_at: AtomicU64,
    /// The process in which `forked_at` was noted.
    forked_as: AtomicU32,
    /// Nothing may be asked of the kernel that the program does not ask for itself.
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

/// The recording of this process, where there is one.
#[inline]
pub(super) fn process() -> Option<&'static Process> {
    // SAFETY: either null or the mapping that `start` made, which is never unmapped.
    unsafe { PROCESS.load(Ordering::Acquire).as_ref() }
}

/// Begins to record into `directory` (an absolute path without a NUL). Called once: by
/// the constructor, before there are threads, or later, in a forked child.
pub fn start(directory: &[u8], limit: u64) -> bool {
    let _errno = Errno::keep();
    if process().is_some() || directory.is_empty() || directory.contains(&0) {
        return false;
    }
    // SAFETY: nobody reads the directory before PROCESS is published below.
    let place = unsafe { &mut *SETTINGS.directory.get() };
    // Room is left for the file's name.
    if directory.len() + 64 > place.len() {
        return false;
    }
    for (to, &from) in place.iter_mut().zip(directory) {
        *to = from;
    }
    SETTINGS
        .limit
        .store(limit.max(file::LEAST_LIMIT), Ordering::Relaxed);
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

/// Set where the recording is to begin later, in a forked child.
static WAITING: AtomicBool = AtomicBool::new(false);

/// Prepares for a recording that begins later: what is looked up meanwhile is taken.
pub(crate) fn wait() {
    WAITING.store(true, Ordering::Relaxed);
}

/// Whether functions are to be taken: for the recording of this process, or for one that
/// begins later.
pub(crate) fn takes() -> bool {
    WAITING.load(Ordering::Relaxed) || super::active()
}

/// Records nothing until it is asked to go on. What is open meanwhile stays open.
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

/// From now on the kernel may kill the process for a system call that it does not know
/// the program to need: no further room is asked for. What there is stays in use.
pub(crate) fn confine() {
    SETTINGS.confined.store(true, Ordering::Relaxed);
}

/// Whether that was said. It holds for forked children as well.
pub(crate) fn is_confined() -> bool {
    SETTINGS.confined.load(Ordering::Relaxed)
}

/// To be called in a forked child before anything else is.
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
        // SAFETY: a forked child has one thread, so nobody else looks; zeros are the
        // state before the opening.
        unsafe {
            here.cast_mut()
                .cast::<u8>()
                .write_bytes(0, size_of::<Process>())
        };
    }
}

/// How an attempt to use the recording ended.
pub(super) enum Found {
    /// This is its epoch.
    Open(u32),
    /// So it is, and it is new: the process is to be described.
    JustOpened(u32),
    /// There is none, for good.
    Nothing,
}

impl Process {
    /// The epoch of the recording, which is opened if it is not yet.
    pub(super) fn find(&self) -> Found {
        // Enough for any disk; and a thread that waits in vain only records nothing.
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
                OFF => return Found::Nothing,
                epoch => return Found::Open(epoch),
            }
        }
        Found::Nothing
    }

    fn open(&self) -> Found {
        let _errno = Errno::keep();
        // SAFETY: this thread alone holds OPENING, and nobody reads the path before an
        // epoch is published. The directory is not written after the start.
        let (path, directory) = unsafe { (&mut *self.path.get(), &*SETTINGS.directory.get()) };
        let limit = SETTINGS.limit.load(Ordering::Relaxed);
        if is_confined() {
            self.epoch.store(OFF, Ordering::Release);
            return Found::Nothing;
        }
        // A child that was forked in a way of which nobody was told has its parent's time.
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
                Found::JustOpened(epoch)
            }
            Err(_) => {
                self.epoch.store(OFF, Ordering::Release);
                Found::Nothing
            }
        }
    }

    /// The file's path. Only after an epoch was seen.
    pub(super) fn path(&self) -> &Path {
        // SAFETY: it is not written after the epoch was published.
        unsafe { &*self.path.get() }
    }

    /// Only for the thread that opens the file, until it has described the process.
    #[expect(
        clippy::mut_from_ref,
        reason = "one thread alone asks, and uses one at a time"
    )]
    pub(super) fn room(&self) -> &mut Path {
        // SAFETY: only the thread that holds OPENING comes here, and after it has opened
        // the file once more; what it had before is then not used any more.
        unsafe { &mut *self.room.get() }
    }

    /// The file's header. Only after an epoch was seen.
    pub(super) fn header(&self) -> *mut FileHeader {
        self.header.load(Ordering::Relaxed)
    }

    /// Ends the recording for good.
    pub(super) fn switch_off(&self, state: State) {
        let header = self.header();
        if !header.is_null() {
            // SAFETY: the header is mapped for good; the field is only used atomically.
            let field = unsafe { AtomicU32::from_ptr(&raw mut (*header).state) };
            field.store(state as u32, Ordering::Release);
        }
        self.epoch.store(OFF, Ordering::Release);
    }

    /// Notes that no thread gets another chunk, for a reason other than the limit.
    pub(super) fn close(&self) {
        let header = self.header();
        if !header.is_null() {
            // SAFETY: the header is mapped for good; the field is only used atomically.
            let state = unsafe { AtomicU32::from_ptr(&raw mut (*header).state) };
            state.store(State::Off as u32, Ordering::Relaxed);
        }
        self.exhausted.store(true, Ordering::Relaxed);
    }

    /// Notes that records are left out.
    pub(super) fn drop_records(&self, count: u64) {
        let header = self.header();
        if header.is_null() {
            return;
        }
        // SAFETY: the header is mapped for good; these fields are only used atomically.
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

/// Has the C library call `child` in every forked child.
pub(crate) fn follow_forks(child: unsafe extern "C" fn()) -> bool {
    // SAFETY: the function lives as long as the process.
    unsafe { libc::pthread_atfork(None, None, Some(child)) == 0 }
}
