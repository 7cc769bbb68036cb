//! Makes forks and the end of the program wait for work in the background: the initialization of
//! the driver ([`ahead`]) and the restore of the GPU ([`restore`]).

use crate::{ahead, restore, start};
use std::ffi::c_void;
use std::ptr::null_mut;

/// Waits until nothing is under way.
pub(crate) fn wait() {
    ahead::wait();
    restore::wait();
}

/// Makes forks wait from now on.
pub(crate) fn wait_at_forks() {
    // SAFETY: the function lives as long as the process: nothing unloads this library.
    unsafe { libc::pthread_atfork(Some(before_fork), None, None) };
}

/// Makes the end of the program wait, before the handlers that were registered so far.
pub(crate) fn wait_at_end() {
    // SAFETY: the function lives as long as the process: nothing unloads this library.
    unsafe { start::__cxa_atexit(before_exit, null_mut(), null_mut()) };
}

unsafe extern "C" fn before_fork() {
    wait();
}

unsafe extern "C" fn before_exit(_: *mut c_void) {
    wait();
}

/// Called when an interpreter exits.
pub(crate) extern "C" fn at_interpreter_exit() {
    wait();
}
