//! Makes the functions of Python that replace the process wait while the GPU is being
//! restored. They are hooked in their definitions, like the clocks, so that the program sees
//! no difference.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::api::{Pointer, api};
use super::clocks::definition;
use super::{METH_FASTCALL, METH_KEYWORDS, slice};
use crate::restore;

type Fast = unsafe extern "C" fn(Pointer, *const Pointer, isize) -> Pointer;
type Named = unsafe extern "C" fn(Pointer, *const Pointer, isize, Pointer) -> Pointer;

/// The code of `execv` and of `execve`.
static EXECV: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static EXECVE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

unsafe extern "C" fn execv(module: Pointer, arguments: *const Pointer, count: isize) -> Pointer {
    restore::wait();
    // SAFETY: Python's own call of a function of this definition, whose code was stored
    // before this function took its place.
    unsafe {
        let real: Fast = std::mem::transmute(EXECV.load(Ordering::Acquire));
        real(module, arguments, count)
    }
}

unsafe extern "C" fn execve(
    module: Pointer,
    arguments: *const Pointer,
    count: isize,
    names: Pointer,
) -> Pointer {
    restore::wait();
    // SAFETY: Python's own call of `execve`, whose code was stored before this function took its
    // place.
    unsafe {
        let real: Named = std::mem::transmute(EXECVE.load(Ordering::Acquire));
        real(module, arguments, count, names)
    }
}

/// `watch_restore(file, execv, execve)`: `file` is the descriptor of the shared page.
pub(super) unsafe extern "C" fn watch(
    _: Pointer,
    arguments: *const Pointer,
    count: isize,
) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: called by the interpreter, with its lock held.
    unsafe {
        if let &[file, first, second] = slice(arguments, count) {
            restore::watch(api.value(file) as c_int);
            (api.at_exit)(restore::at_interpreter_exit);
            let both = METH_FASTCALL | METH_KEYWORDS;
            hook(first, METH_FASTCALL, &EXECV, execv as *mut c_void);
            hook(second, both, &EXECVE, execve as *mut c_void);
        }
    }
    api.nothing()
}

/// # Safety
/// Called with a live object, and with the interpreter's lock held; `code` is a function of
/// the type that the flags describe.
unsafe fn hook(function: Pointer, flags: c_int, original: &AtomicPtr<c_void>, code: *mut c_void) {
    // SAFETY: guaranteed by the caller. Definitions live as long as their module, which is
    // never unloaded; the code is replaced by a function of the same type.
    unsafe {
        let found = definition(function);
        if found.is_null() || (*found).flags != flags || !original.load(Ordering::Acquire).is_null()
        {
            return;
        }
        original.store((*found).function.cast_mut(), Ordering::Release);
        let pointer = AtomicPtr::from_ptr((&raw mut (*found).function).cast());
        pointer.store(code, Ordering::Release);
    }
}
