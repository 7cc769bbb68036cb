//! Functions that programs are linked with, and never look up: Triton launchers are linked
//! with libcuda, PyTorch with cuBLAS, cuDNN and NCCL.
//!
//! This library is loaded first, so a function of the same name here is called instead. It
//! finds the real one, in the same way as the loader would for the caller, and goes through
//! a wrapper like all others. If there is no real one, it returns an error. The caller must
//! be known, which needs code for each architecture: it exists for x86-64 only, and on
//! others such calls are not recorded.

mod exports;
mod x86_64;

use super::table::Library;
use super::{driver, objects, wrap};
use crate::recorder;
use crate::recorder::system::Errno;
use exports::{COUNT, DRIVERS, NAMES};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The target for each name of the driver: null until it is found.
static TARGETS: [AtomicPtr<c_void>; COUNT] = [const { AtomicPtr::new(null_mut()) }; COUNT];

/// The result of a function that does not exist: the CUDA error *no device*, and an error
/// elsewhere.
extern "C" fn missing() -> usize {
    100
}

/// The target for a name, depending on the caller.
extern "C" fn resolve(index: usize, caller: *const c_void) -> *mut c_void {
    let known = if index < DRIVERS {
        TARGETS
            .get(index)
            .map(|target| target.load(Ordering::Acquire))
    } else {
        Callers::find(index, caller)
    };
    if let Some(known) = known.filter(|known| !known.is_null()) {
        return known;
    }
    let _errno = Errno::keep();
    let target = NAMES
        .get(index)
        .map_or(null_mut(), |name| target(name, caller));
    if target.is_null() {
        // It may be loaded later.
        return missing as *const () as *mut c_void;
    }
    if index < DRIVERS {
        if let Some(place) = TARGETS.get(index) {
            place.store(target, Ordering::Release);
        }
    } else {
        Callers::keep(index, caller, target);
    }
    target
}

fn target(name: &CStr, caller: *const c_void) -> *mut c_void {
    let bytes = name.to_bytes();
    let Some((entry, base)) = wrap::entry_of(bytes, super::has_no_version(bytes)) else {
        return null_mut();
    };
    let prefix = entry.library.prefix();
    let mut real = objects::next(name);
    if real.is_null() {
        real = objects::in_object_of(caller, name);
    }
    if real.is_null() {
        real = objects::in_libraries(prefix, name);
    }
    if real.is_null() {
        return real;
    }
    objects::forget_errors();
    objects::keep_loaded(real);
    if !recorder::should_hook() {
        return real;
    }
    // Some libraries have functions of these names that load the real library on their
    // first call.
    let path = objects::path_of(real)
        .map(CStr::to_bytes)
        .unwrap_or_default();
    let file = objects::file_name(path);
    if !file.starts_with(prefix.as_bytes()) {
        return real;
    }
    if entry.library == Library::Driver {
        driver::prepare(real);
    }
    wrap::wrap(real, entry, base, file)
}

/// A cache of the targets for callers of libraries that may be loaded more than once. It
/// has no locks and a fixed size; targets without a free entry are searched each time.
struct Callers;

const CALLERS: usize = 1024;
static CALLER: [AtomicUsize; CALLERS] = [const { AtomicUsize::new(0) }; CALLERS];
static TARGET_OF_CALLER: [AtomicPtr<c_void>; CALLERS] =
    [const { AtomicPtr::new(null_mut()) }; CALLERS];

impl Callers {
    /// The possible entries of a caller. A caller that calls several functions from one
    /// address, for example through a table, has a key for each.
    fn places(
        index: usize,
        caller: *const c_void,
    ) -> (
        usize,
        impl Iterator<Item = (&'static AtomicUsize, &'static AtomicPtr<c_void>)>,
    ) {
        let key = (caller as usize)
            .wrapping_mul(0x1_0001)
            .wrapping_add(index)
            .max(1);
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) >> 32;
        let places = (0..8).filter_map(move |step| {
            let place = hash.wrapping_add(step) % CALLERS;
            CALLER.get(place).zip(TARGET_OF_CALLER.get(place))
        });
        (key, places)
    }

    fn find(index: usize, caller: *const c_void) -> Option<*mut c_void> {
        let (key, mut places) = Callers::places(index, caller);
        places
            .find(|(place, _)| place.load(Ordering::Acquire) == key)
            .map(|(_, target)| target.load(Ordering::Acquire))
    }

    fn keep(index: usize, caller: *const c_void, target: *mut c_void) {
        let (key, places) = Callers::places(index, caller);
        for (place, kept) in places {
            let claimed = place.compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire);
            if claimed.is_ok() || claimed == Err(key) {
                // Between the two stores the target is null, which readers ignore.
                kept.store(target, Ordering::Release);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn every_name_is_in_the_table_and_every_entry_has_a_name() {
        for name in NAMES {
            let base = preheat_wire::base_name(name.to_bytes());
            assert!(table::find(base).is_some(), "{name:?}");
        }
        for entry in table::all() {
            // The PTX compiler only exists as a static library.
            let found = NAMES
                .iter()
                .any(|name| preheat_wire::base_name(name.to_bytes()) == entry.name.as_bytes());
            assert!(
                found || entry.library == Library::NvPtxCompiler,
                "{}",
                entry.name
            );
        }
    }

    #[test]
    fn a_missing_function_returns_an_error() {
        let nobody = std::ptr::null();
        let target = resolve(0, nobody);
        assert_eq!(target, missing as *const () as *mut c_void);
        assert_eq!(resolve(COUNT - 1, nobody), target);
        assert_eq!(resolve(usize::MAX, nobody), target);
        assert_ne!(missing(), 0);
    }

    #[test]
    fn the_target_of_a_caller_is_cached() {
        let caller = |number: usize| number as *const c_void;
        let target = 0x10 as *mut c_void;
        assert_eq!(Callers::find(300, caller(0x5000)), None);
        Callers::keep(300, caller(0x5000), target);
        assert_eq!(Callers::find(300, caller(0x5000)), Some(target));
        assert_eq!(Callers::find(301, caller(0x5000)), None);
        assert_eq!(Callers::find(300, caller(0x5008)), None);
    }
}
