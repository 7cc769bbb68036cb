//! OpenCL: a layer between the program and the loader's functions.
//!
//! `OPENCL_LAYERS` contains this library; the loader (that of Khronos, or ocl-icd since
//! 2.3) queries its version and passes the table of functions that it would use. It gets
//! back a table in which the relevant functions are replaced by wrappers.

use super::table::opencl::TABLE;
use super::{objects, wrap};
use crate::recorder;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

const SUCCESS: i32 = 0;
const INVALID_VALUE: i32 = -30;

const LAYER_API_VERSION: u32 = 0x4240;
const LAYER_NAME: u32 = 0x4241;

/// More entries than any version of the table has.
const MAX_ENTRIES: usize = 512;

static TABLE_OF_OURS: [AtomicPtr<c_void>; MAX_ENTRIES] =
    [const { AtomicPtr::new(null_mut()) }; MAX_ENTRIES];

/// The loader's queries to a layer: its version and its name.
///
/// # Safety
/// As specified by OpenCL: `value` has space for `size` bytes or is null, `size_ret` points
/// to a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetLayerInfo(
    parameter: u32,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> i32 {
    let version = 100u32.to_ne_bytes();
    let answer: &[u8] = match parameter {
        LAYER_API_VERSION => &version,
        LAYER_NAME => c"preheat".to_bytes_with_nul(),
        _ => return INVALID_VALUE,
    };
    if !value.is_null() {
        if size < answer.len() {
            return INVALID_VALUE;
        }
        // SAFETY: there is space for this many bytes.
        unsafe { value.cast::<u8>().copy_from(answer.as_ptr(), answer.len()) };
    }
    if !size_ret.is_null() {
        // SAFETY: guaranteed by the caller.
        unsafe { *size_ret = answer.len() };
    }
    SUCCESS
}

/// Receives the loader's table and returns ours.
///
/// # Safety
/// As specified by OpenCL: `target` points to a table of `count` functions that stays
/// valid, and both results are required.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clInitLayer(
    count: u32,
    target: *const *mut c_void,
    count_ret: *mut u32,
    table_ret: *mut *const c_void,
) -> i32 {
    if target.is_null() || count_ret.is_null() || table_ret.is_null() {
        return INVALID_VALUE;
    }
    let count = (count as usize).min(MAX_ENTRIES);
    // SAFETY: the table has at least this many functions.
    let target = unsafe { std::slice::from_raw_parts(target, count) };
    for (ours, &real) in TABLE_OF_OURS.iter().zip(target) {
        ours.store(real, Ordering::Relaxed);
    }
    if recorder::active() {
        hook(target);
    }
    // SAFETY: guaranteed by the caller; ours is a static table of pointers.
    unsafe {
        *count_ret = count as u32;
        *table_ret = TABLE_OF_OURS.as_ptr().cast();
    }
    SUCCESS
}

fn hook(target: &[*mut c_void]) {
    for (place, entry) in TABLE {
        let (Some(&real), Some(ours)) = (target.get(*place), TABLE_OF_OURS.get(*place)) else {
            continue;
        };
        if real.is_null() {
            continue;
        }
        let path = objects::path_of(real)
            .map(CStr::to_bytes)
            .unwrap_or_default();
        // Not by the pointer: a loader may use one function for everything that it lacks.
        if let Some(wrapper) = wrap::wrap_anew(real, entry, objects::file_name(path)) {
            ours.store(wrapper, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_returns_its_version_and_name() {
        let mut version = 0u32;
        let mut size = 0usize;
        // SAFETY: buffers of the right size.
        unsafe {
            let place = (&raw mut version).cast();
            assert_eq!(
                clGetLayerInfo(LAYER_API_VERSION, 4, place, &mut size),
                SUCCESS
            );
            assert_eq!((version, size), (100, 4));
            assert_eq!(
                clGetLayerInfo(LAYER_API_VERSION, 2, place, null_mut()),
                INVALID_VALUE
            );
            assert_eq!(
                clGetLayerInfo(LAYER_NAME, 0, null_mut(), &mut size),
                SUCCESS
            );
            assert_eq!(size, 8);
            assert_eq!(clGetLayerInfo(1, 0, null_mut(), null_mut()), INVALID_VALUE);
        }
    }

    #[test]
    fn without_recording_the_table_is_unchanged() {
        let functions: Vec<*mut c_void> = (1..=20).map(|number| number as *mut c_void).collect();
        let (mut count, mut table) = (0u32, std::ptr::null());
        // SAFETY: a table of 20 pointers, none of which is called.
        let ours = unsafe {
            assert_eq!(
                clInitLayer(20, functions.as_ptr(), &mut count, &mut table),
                SUCCESS
            );
            std::slice::from_raw_parts(table.cast::<*mut c_void>(), count as usize)
        };
        assert_eq!(ours, functions);
    }
}
