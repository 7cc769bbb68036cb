//! Hooks `dlopen` and `dlsym`, with which the program loads libraries and looks up
//! functions.
//!
//! Both identify their caller by the return address: `dlopen` searches the caller's RPATH,
//! `dlsym` starts at the caller's position in the order of libraries. A plain wrapper would
//! make every caller look like us, and libraries would not be found. So the real function
//! is called as if by the caller ([`caller`]); if that is not possible, the hook jumps to
//! it, which is equivalent to a direct call, and nothing is recorded.

pub(crate) mod caller;
mod mapped_objects;
mod real;

pub(crate) use caller::{entry, entry_of_any_type};
pub use mapped_objects::{Mapped, each_mapped};
pub(crate) use mapped_objects::{adds, forked, may_ask, range_around, record_new};
pub(crate) use real::{next, prepare};
pub use real::{real_dlopen, real_dlsym};

use crate::hooks;
use crate::recorder::{self, now, usage};
use caller::call_as;
use preheat_wire::Kind;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

/// The call of an entry. Passed in two registers, like two arguments.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Call {
    /// The return address.
    pub caller: *const u8,
    /// The stack of the caller.
    pub stack: usize,
}

/// The next step of an entry: return a result, or jump to the real function.
#[repr(C)]
pub(crate) struct Step {
    result: *mut c_void,
    jump_to: *const c_void,
}

impl Step {
    pub(crate) fn done(result: *mut c_void) -> Step {
        Step {
            result,
            jump_to: std::ptr::null(),
        }
    }

    pub(crate) fn jump_to(function: *const c_void) -> Step {
        Step {
            result: null_mut(),
            jump_to: function,
        }
    }
}

entry!(
    /// The program's `dlsym`.
    dlsym => looked_up
);
entry!(
    /// The program's `dlopen`.
    dlopen => loaded
);

extern "C" fn looked_up(handle: *mut c_void, name: *const c_char, call: Call) -> Step {
    let Some(real) = real::dlsym() else {
        return Step::done(null_mut());
    };
    if name.is_null() {
        return Step::jump_to(real);
    }
    // SAFETY: a name that is not null is a C string, or the real dlsym would fail too.
    let text = unsafe { CStr::from_ptr(name) };
    let special = handle == libc::RTLD_DEFAULT || handle == libc::RTLD_NEXT;
    let is_our_own = special && hooks::is_our_own(text);
    // Most names are not relevant: the program then calls the real function directly.
    if !is_our_own && !hooks::may_hook(text) {
        return Step::jump_to(real);
    }
    let found = if special {
        match caller::gadget(call.caller) {
            // SAFETY: the real dlsym with the program's own arguments.
            Some(gadget) => unsafe { call_as(real, gadget, handle, name.cast_mut().cast()) },
            None => return Step::jump_to(real),
        }
    } else {
        real::call_dlsym(real, handle, name)
    };
    if found.is_null() {
        return Step::done(found);
    }
    Step::done(if is_our_own {
        hooks::without_us(text, found)
    } else {
        hooks::looked_up(text, found)
    })
}

extern "C" fn loaded(path: *mut c_void, flags: *const c_char, call: Call) -> Step {
    let Some(real) = real::dlopen() else {
        return Step::done(null_mut());
    };
    let nothing_new = path.is_null() || (flags as usize as c_int) & libc::RTLD_NOLOAD != 0;
    if nothing_new || !recorder::active() {
        return Step::jump_to(real);
    }
    let Some(gadget) = caller::gadget(call.caller) else {
        return Step::jump_to(real);
    };
    // SAFETY: a path that is not null is a C string, or the real dlopen would fail too.
    let name = unsafe { CStr::from_ptr(path.cast()) }.to_bytes();
    let is_new_here = !may_ask() && !is_loaded(real, gadget, path);
    let before = adds();
    let open = recorder::begin(Kind::Load, 0, 0, 1, name, false);
    let mark = usage();
    // SAFETY: the real dlopen with the program's own arguments.
    let handle = unsafe { call_as(real, gadget, path, flags.cast_mut().cast()) };
    let (ended, _errno) = (now(), recorder::system::Errno::keep());
    open.put(0, &mark.since());
    open.end_at(ended, i32::from(handle.is_null()), None);
    if is_new_here && !handle.is_null() {
        mapped_objects::lock_is_sound();
    }
    if adds() != before {
        record_new();
        recorder::detail::request_window();
    }
    Step::done(handle)
}

/// Returns whether a library is already loaded. A library that is not, and is after the
/// real dlopen, was added to the loader's list in this process.
fn is_loaded(real: *const c_void, gadget: *const u8, path: *mut c_void) -> bool {
    let _errno = recorder::system::Errno::keep();
    let flags = (libc::RTLD_NOLOAD | libc::RTLD_LAZY) as usize as *mut c_void;
    // SAFETY: the real dlopen with the program's own path.
    let handle = unsafe { call_as(real, gadget, path, flags) };
    // SAFETY: a handle that was just opened. The library stays loaded: others hold it.
    !handle.is_null() && unsafe { libc::dlclose(handle) } == 0
}
