//! NVTX: ranges and marks that a program names.
//!
//! The NVTX header loads the library in `NVTX_INJECTION64_PATH` and calls
//! [`InitializeInjectionNvtx2`], which puts our functions into its tables. Without a tool,
//! NVTX returns numbers that mean *not tracked*; ours are the same, except for the handles
//! by which we identify texts and ranges.

mod attributes;
mod ranges;

use crate::recorder;
use attributes::{Attributes, keep, keep_wide, name_of, text_of, wide};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null;

pub(super) use ranges::is_within;

/// The result of `nvtxRangePush` when nesting is not tracked.
const NOT_TRACKED: c_int = -2;

type Function = *const c_void;
type GetExportTable = unsafe extern "C" fn(u32) -> *const c_void;

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    size: usize,
    module: Option<unsafe extern "C" fn(u32, *mut *mut *mut Function, *mut u32) -> c_int>,
}

const CALLBACKS: u32 = 1;
const CORE: u32 = 1;
const CORE_2: u32 = 5;

/// Hooks the relevant functions of NVTX. Returns whether it succeeded.
///
/// # Safety
/// Called by NVTX, with its own function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(tables: Option<GetExportTable>) -> c_int {
    let Some(tables) = tables.filter(|_| recorder::should_hook()) else {
        return 0;
    };
    // SAFETY: NVTX's function returns a table of this layout, or null.
    let Some(callbacks) = (unsafe { tables(CALLBACKS).cast::<Callbacks>().as_ref() }) else {
        return 0;
    };
    let Some(module) = callbacks
        .module
        .filter(|_| callbacks.size >= size_of::<Callbacks>())
    else {
        return 0;
    };
    let core: [(usize, Function); 11] = [
        (1, mark_ex as Function),
        (2, mark as Function),
        (3, mark_wide as Function),
        (4, start_ex as Function),
        (5, start as Function),
        (6, start_wide as Function),
        (7, end as Function),
        (8, push_ex as Function),
        (9, push as Function),
        (10, push_wide as Function),
        (11, pop as Function),
    ];
    let core_2: [(usize, Function); 9] = [
        (1, domain_mark_ex as Function),
        (2, domain_start_ex as Function),
        (3, domain_end as Function),
        (4, domain_push_ex as Function),
        (5, domain_pop as Function),
        (10, domain_register as Function),
        (11, domain_register_wide as Function),
        (12, domain_create as Function),
        (13, domain_create_wide as Function),
    ];
    for (number, functions) in [(CORE, core.as_slice()), (CORE_2, core_2.as_slice())] {
        let (mut table, mut count) = (std::ptr::null_mut::<*mut Function>(), 0u32);
        // SAFETY: NVTX's function, which writes a table and its size.
        if unsafe { module(number, &mut table, &mut count) } == 0 || table.is_null() {
            continue;
        }
        for &(index, function) in functions
            .iter()
            .filter(|(index, _)| *index < count as usize)
        {
            // SAFETY: the table has this many pointers to function pointers.
            unsafe {
                if let Some(place) = (*table.add(index)).as_mut() {
                    *place = function;
                }
            }
        }
    }
    1
}

// The functions of the default domain, whose handle is null.

unsafe extern "C" fn mark_ex(attributes: *const Attributes) {
    ranges::mark(null(), name_of(attributes));
}

unsafe extern "C" fn mark(text: *const c_char) {
    ranges::mark(null(), text_of(text));
}

unsafe extern "C" fn mark_wide(text: *const i32) {
    ranges::mark(null(), wide(text));
}

unsafe extern "C" fn start_ex(attributes: *const Attributes) -> u64 {
    ranges::start(null(), name_of(attributes))
}

unsafe extern "C" fn start(text: *const c_char) -> u64 {
    ranges::start(null(), text_of(text))
}

unsafe extern "C" fn start_wide(text: *const i32) -> u64 {
    ranges::start(null(), wide(text))
}

unsafe extern "C" fn end(range: u64) {
    ranges::end(range);
}

unsafe extern "C" fn push_ex(attributes: *const Attributes) -> c_int {
    ranges::push(null(), name_of(attributes));
    NOT_TRACKED
}

unsafe extern "C" fn push(text: *const c_char) -> c_int {
    ranges::push(null(), text_of(text));
    NOT_TRACKED
}

unsafe extern "C" fn push_wide(text: *const i32) -> c_int {
    ranges::push(null(), wide(text));
    NOT_TRACKED
}

unsafe extern "C" fn pop() -> c_int {
    ranges::pop(null());
    NOT_TRACKED
}

// The functions of other domains. We keep the handles of domains and registered texts.

unsafe extern "C" fn domain_mark_ex(domain: *const c_void, attributes: *const Attributes) {
    ranges::mark(domain, name_of(attributes));
}

unsafe extern "C" fn domain_start_ex(domain: *const c_void, attributes: *const Attributes) -> u64 {
    ranges::start(domain, name_of(attributes))
}

unsafe extern "C" fn domain_end(_: *const c_void, range: u64) {
    ranges::end(range);
}

unsafe extern "C" fn domain_push_ex(domain: *const c_void, attributes: *const Attributes) -> c_int {
    ranges::push(domain, name_of(attributes));
    NOT_TRACKED
}

unsafe extern "C" fn domain_pop(domain: *const c_void) -> c_int {
    ranges::pop(domain);
    NOT_TRACKED
}

unsafe extern "C" fn domain_register(_: *const c_void, text: *const c_char) -> *const c_void {
    keep(text)
}

unsafe extern "C" fn domain_register_wide(_: *const c_void, text: *const i32) -> *const c_void {
    keep_wide(text)
}

unsafe extern "C" fn domain_create(text: *const c_char) -> *const c_void {
    keep(text)
}

unsafe extern "C" fn domain_create_wide(text: *const i32) -> *const c_void {
    keep_wide(text)
}
