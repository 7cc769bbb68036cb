//! Loaded objects: finds the object that contains a function, and the real function of a
//! name.
//!
//! Libraries such as libcuda are usually loaded only for their caller (`RTLD_LOCAL`), so a
//! global lookup does not find them: they are found by the prefix of their file name
//! instead.

use super::handles::Handles;
use crate::loader;
use std::ffi::{CStr, c_void};
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

const MAX_PATH: usize = 4096;

/// The part after the last slash.
pub(crate) fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// The loader's path of the object that contains an address. Valid as long as the object is
/// loaded: to be used immediately.
pub(crate) fn path_of<'a>(address: *const c_void) -> Option<&'a CStr> {
    let found = about(address)?;
    if found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's name of a loaded object.
    Some(unsafe { CStr::from_ptr(found.dli_fname) })
}

/// Returns whether an address is in this library.
pub(crate) fn is_ours(address: *const c_void) -> bool {
    static OURS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
    let [start, end] = &OURS;
    if end.load(Ordering::Acquire) == 0 {
        let ours = loader::range_around(is_ours as *const u8);
        start.store(ours.start, Ordering::Relaxed);
        end.store(ours.end, Ordering::Release);
    }
    let ours = start.load(Ordering::Relaxed)..end.load(Ordering::Relaxed);
    ours.contains(&(address as usize))
}

/// The name of one of our stubs.
pub(crate) fn our_name<'a>(address: *const c_void) -> Option<&'a CStr> {
    let found = about(address)?;
    if found.dli_saddr.cast_const() != address || found.dli_sname.is_null() {
        return None;
    }
    // SAFETY: a name in the symbol table of this library.
    Some(unsafe { CStr::from_ptr(found.dli_sname) })
}

fn about(address: *const c_void) -> Option<libc::Dl_info> {
    // SAFETY: only pointers, for which zero is valid.
    let mut found: libc::Dl_info = unsafe { zeroed() };
    // SAFETY: any address may be passed; one Dl_info is written.
    (unsafe { libc::dladdr(address, &mut found) } != 0).then_some(found)
}

/// The function of a name that the objects after this library export globally; null if
/// there is none.
pub(crate) fn next(name: &CStr) -> *mut c_void {
    let found = loader::real_dlsym(libc::RTLD_NEXT, name);
    if is_ours(found) { null_mut() } else { found }
}

/// The function of a name in an object or its dependencies.
#[cfg(target_arch = "x86_64")]
pub(crate) fn in_object_of(address: *const c_void, name: &CStr) -> *mut c_void {
    match path_of(address) {
        Some(path) => in_object(path, name),
        None => null_mut(),
    }
}

/// The function of a name in a loaded library whose file name begins with `prefix`.
pub(crate) fn in_libraries(prefix: &str, name: &CStr) -> *mut c_void {
    let found = (0..16)
        .map_while(|index| in_library(prefix, name, index))
        .find(|found| !found.is_null());
    found.unwrap_or(null_mut())
}

/// The real function of a name: the global one after this library, or else that of a
/// library with the prefix. If there is none, `dlerror` has the message.
pub(crate) fn real(prefix: &str, name: &CStr) -> *mut c_void {
    let mut found = next(name);
    if found.is_null() {
        found = in_libraries(prefix, name);
    }
    if found.is_null() {
        // Again, so that `dlerror` has its message.
        next(name);
    } else {
        forget_errors();
    }
    found
}

/// Clears `dlerror` after a successful search, since it must not report the failed
/// attempts.
pub(crate) fn forget_errors() {
    // SAFETY: the message is not used.
    unsafe { libc::dlerror() };
}

/// Keeps the object of a function loaded, because we store its address. Programs rarely
/// unload such a library.
pub(crate) fn keep_loaded(function: *const c_void) {
    static KEPT: Handles<64> = Handles::new();
    if !loader::may_ask() {
        return;
    }
    let Some(base) = about(function).map(|found| found.dli_fbase as usize) else {
        return;
    };
    if let Some(path) = path_of(function).filter(|_| KEPT.is_new(base)) {
        // The handle is never closed.
        loader::real_dlopen(
            path,
            libc::RTLD_NOLOAD | libc::RTLD_LAZY | libc::RTLD_NODELETE,
        );
    }
}

/// The function in the library at `path`, if it is loaded.
pub(crate) fn in_object(path: &CStr, name: &CStr) -> *mut c_void {
    let handle = loader::real_dlopen(path, libc::RTLD_NOLOAD | libc::RTLD_LAZY);
    if handle.is_null() {
        return null_mut();
    }
    let found = loader::real_dlsym(handle, name);
    // SAFETY: a handle that was just opened. The library stays loaded: others hold it.
    unsafe { libc::dlclose(handle) };
    if found.is_null() || is_ours(found) {
        return null_mut();
    }
    found
}

/// The function in the loaded library with this prefix and index; `None` if there are
/// fewer.
fn in_library(prefix: &str, name: &CStr, index: usize) -> Option<*mut c_void> {
    let mut path = [0; MAX_PATH];
    let mut left = index;
    let mut found = false;
    loader::each_mapped(|mapped| {
        let its = mapped.path().to_bytes();
        if !file_name(its).starts_with(prefix.as_bytes()) || its.len() >= MAX_PATH {
            return false;
        }
        if left > 0 {
            left -= 1;
            return false;
        }
        for (to, &from) in path.iter_mut().zip(its) {
            *to = from;
        }
        found = true;
        true
    });
    if !found {
        return None;
    }
    let path = CStr::from_bytes_until_nul(&path).ok()?;
    Some(in_object(path, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_its_object() {
        assert!(loader::prepare());
        assert!(is_ours(is_ours as *const c_void));
        assert!(!is_ours(null_mut()));
        let libc = libc::getenv as *const c_void;
        assert!(!is_ours(libc));
        let path = path_of(libc).unwrap().to_bytes();
        assert!(file_name(path).starts_with(b"libc.so"));
        assert_eq!(file_name(b"libcuda.so.1"), b"libcuda.so.1");
    }

    #[test]
    fn a_function_is_found_in_a_loaded_library() {
        assert!(loader::prepare());
        let found = in_library("libc.so", c"getenv", 0).unwrap();
        assert!(!found.is_null());
        assert!(in_library("libcuda.so", c"cuInit", 0).is_none());
        assert!(real("libcuda.so", c"cuInit").is_null());
    }
}
