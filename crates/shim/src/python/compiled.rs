//! Calls of functions that JAX has compiled.
//!
//! `jax.jit` returns an object in C whose calls, from the second one on, run no Python code
//! that could be wrapped. Such an object contains the address of the function that calls it
//! (CPython's vectorcall protocol), which we replace: the object, its type and its
//! attributes stay the same.

use super::api::{Pointer, api, functions};
use super::slice;
use crate::recorder;
use preheat_wire::{Iteration, Kind};
use std::cell::Cell;
use std::ffi::{CStr, c_ulong, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

functions! {
    /// The functions that only this module needs.
    struct More {
        flags = "PyType_GetFlags": unsafe extern "C" fn(Pointer) -> c_ulong;
    }
}

fn more() -> Option<&'static More> {
    static MORE: OnceLock<Option<More>> = OnceLock::new();
    MORE.get_or_init(More::find).as_ref()
}

type Vectorcall = unsafe extern "C" fn(Pointer, *const Pointer, usize, Pointer) -> Pointer;

/// `Py_TPFLAGS_HAVE_VECTORCALL`.
const HAVE_VECTORCALL: c_ulong = 1 << 11;
/// The offsets of `tp_basicsize` and `tp_vectorcall_offset` in a `PyTypeObject`, in words.
const BASIC_SIZE: usize = 4;
const VECTORCALL_OFFSET: usize = 7;

/// The function that calls all such objects; 0 before the first is hooked.
static ORIGINAL: AtomicUsize = AtomicUsize::new(0);

/// The maximum number of hooked objects.
const MAX_OBJECTS: usize = 1024;

/// A hooked object, and the text with its name.
struct Named {
    object: AtomicUsize,
    name: AtomicU32,
}

static NAMES: [Named; MAX_OBJECTS] = [const {
    Named {
        object: AtomicUsize::new(0),
        name: AtomicU32::new(0),
    }
}; MAX_OBJECTS];

thread_local! {
    /// True if such a call is running on this thread.
    static WITHIN: Cell<bool> = const { Cell::new(false) };
}

/// The entry of an object, or the first free one.
fn entry(object: usize) -> Option<&'static Named> {
    let first = (object >> 4).wrapping_mul(0x9E37_79B9) % MAX_OBJECTS;
    let places = (first..MAX_OBJECTS).chain(0..first);
    places.map(|place| &NAMES[place]).find(|named| {
        let found = named.object.load(Ordering::Relaxed);
        found == object || found == 0
    })
}

/// `hook_compiled(object, name)`: records the outermost calls of a compiled function.
pub(super) unsafe extern "C" fn hook(
    _: Pointer,
    arguments: *const Pointer,
    count: isize,
) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: called by the interpreter, with its lock held.
    unsafe {
        if let &[object, name] = slice(arguments, count)
            && let Some(place) = vectorcall_of(object)
        {
            put(object, place, recorder::text(api.bytes(name)));
        }
    }
    api.nothing()
}

/// The field of an object with the address of the function that calls it.
///
/// # Safety
/// The object must be alive, and the interpreter's lock held.
unsafe fn vectorcall_of(object: Pointer) -> Option<*mut *mut c_void> {
    let (api, more) = (api()?, more()?);
    // SAFETY: in all builds with a global lock, which our `sitecustomize` has checked, a
    // type begins like CPython's `PyTypeObject`; if the flag is set, the object contains a
    // function at the offset, which is compared with the size of the object.
    unsafe {
        let its_type = (api.object_type)(object);
        let words = its_type.cast::<isize>();
        let has = (more.flags)(its_type) & HAVE_VECTORCALL != 0;
        let (size, offset) = (*words.add(BASIC_SIZE), *words.add(VECTORCALL_OFFSET));
        api.drop(its_type);
        let fits = offset > 0 && offset.checked_add(8)? <= size;
        (has && fits).then(|| object.cast::<u8>().offset(offset).cast())
    }
}

/// Puts our function into an object.
///
/// # Safety
/// The field must belong to the object, and the interpreter's lock must be held.
unsafe fn put(object: Pointer, place: *mut *mut c_void, name: u32) {
    let Some(named) = entry(object as usize) else {
        return;
    };
    // SAFETY: guaranteed by the caller. Nothing calls the object meanwhile: that needs the
    // lock.
    unsafe {
        let original = *place as usize;
        if original == called as *const () as usize {
            // At the address of an object that was deleted.
            named.name.store(name, Ordering::Relaxed);
            return;
        }
        let known = ORIGINAL.load(Ordering::Relaxed);
        if original == 0 || known != 0 && known != original {
            return;
        }
        ORIGINAL.store(original, Ordering::Relaxed);
        named.name.store(name, Ordering::Relaxed);
        named.object.store(object as usize, Ordering::Relaxed);
        *place = called as *const () as *mut c_void;
    }
}

/// The call itself.
unsafe extern "C" fn called(
    object: Pointer,
    arguments: *const Pointer,
    count: usize,
    keywords: Pointer,
) -> Pointer {
    let original = ORIGINAL.load(Ordering::Relaxed);
    // SAFETY: this function is in an object only once the original is known, and it is the
    // address of a function of this type.
    let original = unsafe { std::mem::transmute::<usize, Vectorcall>(original) };
    if WITHIN.get() || !recorder::active() {
        // SAFETY: called with the arguments that Python passed.
        return unsafe { original(object, arguments, count, keywords) };
    }
    let which = Iteration::CompiledCall as u16;
    let name = entry(object as usize).map_or(0, |named| named.name.load(Ordering::Relaxed));
    recorder::record_cpu();
    let open = recorder::begin(Kind::Iteration, which, u64::from(name), 0, b"", false);
    WITHIN.set(true);
    // SAFETY: called with the arguments that Python passed.
    let result = unsafe { original(object, arguments, count, keywords) };
    WITHIN.set(false);
    open.end_at(recorder::now(), 0, None);
    recorder::record_cpu();
    result
}
