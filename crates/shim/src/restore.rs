//! Knows when the GPU is being restored behind the running program: one that was started
//! from a parked standby.
//!
//! Another process restores it, and reports the state in a page that both share. Calls of
//! the driver wait in the driver meanwhile; `hooks::call` records for how long. A fork, an
//! exec and the end of the program wait here: an exec would replace the process that is
//! being restored, and a fork would copy it halfway.

use std::ffi::{c_int, c_long, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::ahead::{self, monotonic};
use crate::lifetime;
use crate::recorder::system::Errno;

/// The beginning of the page.
#[repr(C)]
struct Shared {
    state: AtomicU32,
    reserved: u32,
    /// The end of the restore, in nanoseconds of `CLOCK_MONOTONIC`.
    end: AtomicU64,
}

/// The state while the GPU is being restored; all others mean that it is usable, or parked
/// while no program runs.
const UNDER_WAY: u32 = 1;

const PAGE_BYTES: usize = 4096;

/// The longest wait: the other process kills this one if a restore takes longer.
const MAX_SECONDS: i64 = 60;

/// A wait has taken that long.
static HAS_TIMED_OUT: AtomicBool = AtomicBool::new(false);

static PAGE: AtomicPtr<Shared> = AtomicPtr::new(null_mut());

fn page() -> Option<&'static Shared> {
    // SAFETY: null, or a mapping of that size, which is never unmapped.
    unsafe { PAGE.load(Ordering::Acquire).as_ref() }
}

/// Returns whether the GPU is being restored.
#[inline]
pub(crate) fn is_under_way() -> bool {
    page().is_some_and(|page| page.state.load(Ordering::Acquire) == UNDER_WAY)
}

/// The time at which the restore ended; `None` if it is still under way.
pub(crate) fn ended() -> Option<u64> {
    let page = page().filter(|page| page.state.load(Ordering::Acquire) != UNDER_WAY)?;
    Some(page.end.load(Ordering::Relaxed))
}

/// Maps the page of this file. From now on forks and the end of the program wait.
pub(crate) fn watch(file: c_int) {
    if page().is_some() {
        return;
    }
    let _errno = Errno::keep();
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, of a file that its owner has made this long and never shortens.
    let page = unsafe { libc::mmap(null_mut(), PAGE_BYTES, access, libc::MAP_SHARED, file, 0) };
    if page == libc::MAP_FAILED {
        return;
    }
    PAGE.store(page.cast(), Ordering::Release);
    wait_at_forks();
    wait_at_end();
}

/// Waits until the GPU is usable.
pub(crate) fn wait() {
    let Some(page) = page() else { return };
    let _errno = Errno::keep();
    let second = libc::timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    let until = monotonic() + MAX_SECONDS;
    while page.state.load(Ordering::Acquire) == UNDER_WAY {
        if HAS_TIMED_OUT.load(Ordering::Relaxed) || monotonic() > until {
            // The other process is gone. Later waits end at once.
            HAS_TIMED_OUT.store(true, Ordering::Relaxed);
            return;
        }
        // SAFETY: the word lives as long as the process, and the time is valid. Not private:
        // another process wakes us. A signal ends the wait early, and it is repeated.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                page.state.as_ptr(),
                c_long::from(libc::FUTEX_WAIT),
                UNDER_WAY,
                &raw const second,
            )
        };
    }
}

// Forks and the end of the program wait for all work in the background: the initialization of the
// driver ([`ahead`]) and the restore of the GPU.

/// Waits until nothing is under way.
pub(crate) fn wait_for_all() {
    ahead::wait();
    wait();
}

/// Makes forks wait from now on.
pub(crate) fn wait_at_forks() {
    // SAFETY: the function lives as long as the process: nothing unloads this library.
    unsafe { libc::pthread_atfork(Some(before_fork), None, None) };
}

/// Makes the end of the program wait, before the handlers that were registered so far.
pub(crate) fn wait_at_end() {
    // SAFETY: the function lives as long as the process: nothing unloads this library.
    unsafe { lifetime::__cxa_atexit(before_exit, null_mut(), null_mut()) };
}

unsafe extern "C" fn before_fork() {
    wait_for_all();
}

unsafe extern "C" fn before_exit(_: *mut c_void) {
    wait_for_all();
}

/// Called when an interpreter exits.
pub(crate) extern "C" fn at_interpreter_exit() {
    wait_for_all();
}
