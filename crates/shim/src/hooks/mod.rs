//! Hooks for calls of drivers and libraries: the CUDA driver and the libraries above it,
//! OpenCL, NVTX.
//!
//! `table` defines which functions are hooked and what is recorded for each. A function is
//! hooked when the program looks it up (`looked_up`, `cuGetProcAddress` in `call`), through
//! the linker (`direct`), or through the OpenCL loader (`opencl`). The program gets a
//! wrapper (`wrap`), whose calls are recorded by `call` and always forwarded to the real
//! function. `nvtx` is different: there the program calls us.

mod arguments;
mod call;
mod copied;
#[cfg(target_arch = "x86_64")]
mod direct;
mod driver;
mod handles;
mod image;
mod memory;
mod nvtx;
mod objects;
mod opencl;
mod quick;
mod table;
mod wrap;

use std::ffi::{CStr, c_void};

use crate::recorder;
use preheat_wire::base_name;
use table::Library;

/// Functions of this library that others find through its handle, and nothing may find by
/// name alone.
pub(crate) fn is_our_own(name: &CStr) -> bool {
    matches!(
        name.to_bytes(),
        b"clGetLayerInfo" | b"clInitLayer" | b"InitializeInjectionNvtx2" | b"PyInit__preheat"
    )
}

/// The result of looking up such a name without this library.
pub(crate) fn without_us(name: &CStr, found: *mut c_void) -> *mut c_void {
    if objects::is_ours(found) {
        objects::next(name)
    } else {
        found
    }
}

/// Determines the address range of this library, while that can be queried.
pub(crate) fn prepare() {
    objects::is_ours(std::ptr::null());
}

/// Returns whether a name may be that of a hooked function; all others can be skipped.
pub(crate) fn may_hook(name: &CStr) -> bool {
    matches!(
        name.to_bytes(),
        [b'c', b'u', ..] | [b'n', b'v' | b'c', ..] | [b'_', b'_', b'n', b'v', ..]
    )
}

/// The function that the program gets for a lookup with `dlsym`: a wrapper, if it is hooked
/// and in the library that it belongs to; otherwise the function itself.
pub fn looked_up(name: &CStr, found: *mut c_void) -> *mut c_void {
    let bytes = name.to_bytes();
    if found.is_null() || !may_hook(name) {
        return found;
    }
    let Some((entry, base)) = wrap::entry_of(bytes, has_no_version(bytes)) else {
        return found;
    };
    // Our stub is where the program would have found the library's function, or nothing.
    let found = if objects::is_ours(found) {
        objects::real(entry.library.prefix(), name)
    } else {
        found
    };
    let Some(path) = objects::path_of(found) else {
        return found;
    };
    let library = objects::file_name(path.to_bytes());
    if !library.starts_with(entry.library.prefix().as_bytes()) || !recorder::should_hook() {
        return found;
    }
    if entry.library == Library::Driver {
        driver::prepare(found);
    }
    wrap::wrap(found, entry, base, library)
}

/// The function that the program gets for one that the driver returned.
fn given(name: &[u8], function: *mut c_void, is_old: bool) -> *mut c_void {
    if function.is_null() || !recorder::should_hook() {
        return function;
    }
    // The driver's own table may contain our stub, because the linker resolves it for
    // everyone.
    let function = if objects::is_ours(function) {
        let name = objects::our_name(function);
        match name.map(|name| objects::real(Library::Driver.prefix(), name)) {
            Some(real) if !real.is_null() => real,
            _ => return function,
        }
    } else {
        function
    };
    match wrap::entry_of(name, is_old) {
        Some((entry, base)) => {
            driver::with_file_name(|library| wrap::wrap(function, entry, base, library))
        }
        None => function,
    }
}

/// Returns whether a name is that of the first version of a function.
fn has_no_version(name: &[u8]) -> bool {
    base_name(name).len() == name.len()
}

/// Returns whether this thread is in a range that the program has named.
pub(crate) fn is_within_range() -> bool {
    nvtx::is_within()
}

/// Waits for the device, if this thread uses one and no graph is being captured.
pub fn synchronize() {
    if !memory::is_capturing() {
        driver::synchronize();
    }
}
