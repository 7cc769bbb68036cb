//! The real functions behind the hooks.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

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

pub(super) fn dlsym() -> Option<*const c_void> {
    find(&DLSYM, c"dlsym")
}

pub(super) fn dlopen() -> Option<*const c_void> {
    find(&DLOPEN, c"dlopen")
}

/// Looks them up early: the first lookup may allocate, which may not be allowed later.
pub(crate) fn prepare() -> bool {
    super::mapped_objects::lock_is_sound();
    let both = dlsym().is_some() && dlopen().is_some();
    super::mapped_objects::prepare();
    both
}

pub(super) fn call_dlsym(
    real: *const c_void,
    handle: *mut c_void,
    name: *const c_char,
) -> *mut c_void {
    // SAFETY: `real` is the C library's dlsym.
    let function: Dlsym = unsafe { transmute(real) };
    // SAFETY: the arguments are the program's own.
    unsafe { function(handle, name) }
}

/// The C library's `dlsym`; special handles are relative to this library.
pub fn real_dlsym(handle: *mut c_void, name: &CStr) -> *mut c_void {
    dlsym().map_or(null_mut(), |real| call_dlsym(real, handle, name.as_ptr()))
}

/// The C library's `dlopen`, not recorded, called from this library.
pub fn real_dlopen(path: &CStr, flags: c_int) -> *mut c_void {
    dlopen().map_or(null_mut(), |real| {
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
