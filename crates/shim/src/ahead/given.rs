//! The environment of the driver while it is initialized ahead: that in which the program
//! started.
//!
//! The program may set variables meanwhile; numpy does when it is imported. A C library
//! before 2.41 may then free the array while another thread reads it. So the thread gets
//! copies, and all others use the real functions.

use crate::files;
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::environment::{strings, value};

unsafe extern "C" {
    static environ: *const *mut c_char;
}

static GIVEN: OnceLock<Vec<CString>> = OnceLock::new();

/// Copies the environment permanently: the driver may keep pointers to it.
pub(super) fn keep() {
    GIVEN.get_or_init(|| {
        // SAFETY: the array of the process, before the threads of the program exist.
        let texts = unsafe { strings(environ) };
        texts.filter_map(|text| CString::new(text).ok()).collect()
    });
}

fn given(name: &[u8]) -> *mut c_char {
    let Ok(name) = std::str::from_utf8(name) else {
        return null_mut();
    };
    let found = GIVEN.get().into_iter().flatten().find_map(|text| {
        let value = value(text.to_bytes_with_nul(), name)?;
        Some(value.as_ptr().cast_mut().cast())
    });
    found.unwrap_or(null_mut())
}

static GETENV: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static SECURE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Looks up the real functions.
pub(crate) fn prepare() {
    files::found(&GETENV, c"getenv");
    files::found(&SECURE, c"secure_getenv");
}

/// # Safety
/// `name` must be a C string, and `real` hold null or the real function.
unsafe fn get(real: &AtomicPtr<c_void>, name: *const c_char) -> *mut c_char {
    type Get = unsafe extern "C" fn(*const c_char) -> *mut c_char;
    // SAFETY: guaranteed by the caller. Before the constructor nothing is looked up, since
    // the caller may be a memory allocator during its initialization; there are no threads
    // yet.
    unsafe {
        if super::is_this_thread() {
            return given(CStr::from_ptr(name).to_bytes());
        }
        let real = real.load(Ordering::Relaxed);
        if !real.is_null() {
            return transmute::<*mut c_void, Get>(real)(name);
        }
        let name = CStr::from_ptr(name).to_bytes();
        let found = strings(environ).find_map(|text| text.strip_prefix(name)?.strip_prefix(b"="));
        found.map_or(null_mut(), |value| value.as_ptr().cast_mut().cast())
    }
}

/// The program's `getenv`.
///
/// # Safety
/// Same as the C library's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn getenv(name: *const c_char) -> *mut c_char {
    // SAFETY: the caller's own argument.
    unsafe { get(&GETENV, name) }
}

/// The program's `secure_getenv`. In programs in which it differs, this library is not
/// loaded.
///
/// # Safety
/// Same as the C library's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn secure_getenv(name: *const c_char) -> *mut c_char {
    // SAFETY: the caller's own argument.
    unsafe { get(&SECURE, name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_variable_is_found_by_its_full_name() {
        keep();
        let (name, value) = std::env::vars()
            .next()
            .expect("the environment is not empty");
        let found = given(name.as_bytes());
        assert!(!found.is_null(), "{name}");
        // SAFETY: a text that is never freed.
        let found = unsafe { CStr::from_ptr(found) };
        assert_eq!(found.to_bytes(), value.as_bytes());
        assert!(given(b"PREHEAT_NO_SUCH_VARIABLE").is_null());
        // SAFETY: names that end with a NUL.
        unsafe {
            let name = CString::new(name).expect("a name");
            let found = getenv(name.as_ptr());
            assert_eq!(CStr::from_ptr(found).to_bytes(), value.as_bytes());
            assert!(secure_getenv(c"PREHEAT_NO_SUCH_VARIABLE".as_ptr()).is_null());
        }
    }
}
