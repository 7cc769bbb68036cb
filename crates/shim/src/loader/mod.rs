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

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use preheat_wire::Kind;

use crate::hooks;
use crate::recorder::{self, now, usage};
use caller::call_as;

pub(crate) use caller::{define_entry, entry, entry_of_any_type};
pub use mapped_objects::{Mapped, each_mapped};
pub(crate) use mapped_objects::{adds, forked, may_ask, range_around, record_new};

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
    let Some(real) = find_dlsym() else {
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
        call_dlsym(real, handle, name)
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
    let Some(real) = find_dlopen() else {
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

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

/// The real `dlsym` is found with `dlvsym`, because our hook has its name. The versions:
/// since glibc 2.34, and before that on each architecture.
const VERSIONS: [&CStr; 3] = [c"GLIBC_2.34", c"GLIBC_2.2.5", c"GLIBC_2.17"];

static DLSYM: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static DLOPEN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

fn find(place: &AtomicPtr<c_void>, name: &CStr) -> Option<*const c_void> {
    let mut found = place.load(Ordering::Relaxed);
    for version in VERSIONS {
        if !found.is_null() {
            break;
        }
        // SAFETY: both are C strings. "Next" is relative to this library: another preloaded
        // library that hooks the same function is called as well.
        found = unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr()) };
    }
    place.store(found, Ordering::Relaxed);
    (!found.is_null()).then_some(found.cast_const())
}

fn find_dlsym() -> Option<*const c_void> {
    find(&DLSYM, c"dlsym")
}

fn find_dlopen() -> Option<*const c_void> {
    find(&DLOPEN, c"dlopen")
}

/// Looks them up early: the first lookup may allocate, which may not be allowed later.
pub(crate) fn prepare() -> bool {
    mapped_objects::lock_is_sound();
    let both = find_dlsym().is_some() && find_dlopen().is_some();
    mapped_objects::prepare();
    both
}

fn call_dlsym(real: *const c_void, handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: `real` is the C library's dlsym.
    let function: Dlsym = unsafe { transmute(real) };
    // SAFETY: the arguments are the program's own.
    unsafe { function(handle, name) }
}

/// The C library's `dlsym`; special handles are relative to this library.
pub fn real_dlsym(handle: *mut c_void, name: &CStr) -> *mut c_void {
    find_dlsym().map_or(null_mut(), |real| call_dlsym(real, handle, name.as_ptr()))
}

/// The C library's `dlopen`, not recorded, called from this library.
pub fn real_dlopen(path: &CStr, flags: c_int) -> *mut c_void {
    find_dlopen().map_or(null_mut(), |real| {
        // SAFETY: `real` is the C library's dlopen.
        let function: Dlopen = unsafe { transmute(real) };
        // SAFETY: the path is a C string.
        unsafe { function(path.as_ptr(), flags) }
    })
}

/// The next definition of a function after that of this library.
pub(crate) fn next(name: &CStr) -> *mut c_void {
    real_dlsym(libc::RTLD_NEXT, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_functions_are_found() {
        assert!(prepare());
        let found = real_dlsym(libc::RTLD_DEFAULT, c"getpid");
        assert_eq!(found as usize, libc::getpid as *const () as usize);
        assert!(real_dlopen(c"/nowhere/lib.so", libc::RTLD_NOW).is_null());
    }
}
