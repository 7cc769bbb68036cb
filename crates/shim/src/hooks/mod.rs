//! The calls of drivers and libraries: CUDA's driver and the libraries above it, OpenCL,
//! NVTX.
//!
//! `table` says which functions are taken and what is recorded of each. A function
//! comes to us when the program looks it up (`looked_up`, `cuGetProcAddress` in
//! `call`), by the linker (`direct`), or from OpenCL's loader (`opencl`). The
//! program gets a wrapper (`wrap`), whose calls are recorded by `call` and passed on
//! to the real function, always. `nvtx` stands apart: there the program calls us.

mod call;
mod copied;
#[cfg(target_arch = "x86_64")]
mod direct;
mod driver;
mod handles;
mod image;
mod lock;
mod memory;
mod nvtx;
mod objects;
mod opencl;
mod quick;
mod table;
mod words;
mod wrap;

use crate::recorder;
use std::ffi::{CStr, c_void};
use table::Library;

/// What others find in this library by its handle, and nobody must find by name alone.
pub(crate) fn is_our_own(name: &CStr) -> bool {
    matches!(
        name.to_bytes(),
        b"clGetLayerInfo" | b"clInitLayer" | b"InitializeInjectionNvtx2" | b"PyInit__preheat"
    )
}

/// What a look-up by such a name finds without us.
pub(crate) fn without_us(name: &CStr, found: *mut c_void) -> *mut c_void {
    if objects::is_ours(found) {
        objects::next(name)
    } else {
        found
    }
}

/// Finds where this library lies, while that can be asked.
pub(crate) fn prepare() {
    objects::is_ours(std::ptr::null());
}

/// Whether a name may be one that is taken: all others need not be looked at.
pub(crate) fn may_take(name: &CStr) -> bool {
    matches!(
        name.to_bytes(),
        [b'c', b'u', ..] | [b'n', b'v' | b'c', ..] | [b'_', b'_', b'n', b'v', ..]
    )
}

/// What the program gets for a function that `dlsym` found: a wrapper, if it is one that
/// is taken and lives in the library that it belongs to; otherwise the function itself.
pub fn looked_up(name: &CStr, found: *mut c_void) -> *mut c_void {
    let bytes = name.to_bytes();
    if found.is_null() || !may_take(name) {
        return found;
    }
    let Some((entry, base)) = wrap::entry_of(bytes, has_no_version(bytes)) else {
        return found;
    };
    // Our own stub stands where the program would have found the library's function, or
    // nothing.
    let found = if objects::is_ours(found) {
        objects::real(entry.library.prefix(), name)
    } else {
        found
    };
    let Some(path) = objects::path_of(found) else {
        return found;
    };
    let library = objects::file_name(path.to_bytes());
    if !library.starts_with(entry.library.prefix().as_bytes()) || !recorder::takes() {
        return found;
    }
    if entry.library == Library::Driver {
        driver::prepare(found);
    }
    wrap::wrap(found, entry, base, library)
}

/// What the program gets for a function that the driver itself gave.
fn given(name: &[u8], function: *mut c_void, is_old: bool) -> *mut c_void {
    if function.is_null() || !recorder::takes() {
        return function;
    }
    // A driver's own table may have our stub, as everyone gets it from the linker.
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

/// Whether a name is that of the first version of a function.
fn has_no_version(name: &[u8]) -> bool {
    table::base(name).len() == name.len()
}

/// Whether this thread is in a range that the program has named in its own words.
pub(crate) fn is_within_range() -> bool {
    nvtx::is_within()
}

/// Waits for the device, if this thread has one in use and no graph is captured.
pub fn synchronize() {
    if !memory::is_capturing() {
        driver::synchronize();
    }
}
