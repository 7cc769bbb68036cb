//! Calls of functions that JAX has compiled.
//!
//! `jax.jit` returns an object in C whose calls, from the second one on, run no Python code
//! that could be wrapped. Such an object holds the address of the function that calls it
//! (CPython's vectorcall protocol), and ours is put in that place: the object, its type and
//! its attributes stay what they are.

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
    /// What only this needs.
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
/// Where a `PyTypeObject` has its `tp_basicsize` and `tp_vectorcall_offset`, in words.
const BASIC_SIZE: usize = 4;
const VECTORCALL_OFFSET: usize = 7;

/// What calls all such objects; 0 before the first was hooked.
static ORIGINAL: AtomicUsize = AtomicUsize::new(0);

/// So many objects have names; further ones are not hooked.
const MOST: usize = 1024;

/// A hooked object, and the text that is its name.
struct Named {
    object: AtomicUsize,
    name: AtomicU32,
}

static NAMES: [Named; MOST] = [const {
    Named {
        object: AtomicUsize::new(0),
        name: AtomicU32::new(0),
    }
}; MOST];

thread_local! {
    /// Whether such a call is under way on this thread.
    static WITHIN: Cell<bool> = const { Cell::new(false) };
}

/// The entry of an object, or the first that is free for it.
fn entry(object: usize) -> Option<&'static Named> {
    let first = (object >> 4).wrapping_mul(0x9E37_79B9) % MOST;
    let places = (first..MOST).chain(0..first);
    places.map(|place| &NAMES[place]).find(|named| {
        let found = named.object.load(Ordering::Relaxed);
        found == object || found == 0
    })
}

/// `hook_compiled(object, name)`: has the outermost calls of a compiled function recorded.
pub(super) unsafe extern "C" fn hook(
    _: Pointer,
    arguments: *const Pointer,
    count: isize,
) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: the interpreter's own call, with its lock held.
    unsafe {
        if let &[object, name] = slice(arguments, count)
            && let Some(place) = vectorcall_of(object)
        {
            put(object, place, recorder::text(api.bytes(name)));
        }
    }
    api.nothing()
}

/// Where an object holds the address of the function that calls it.
///
/// # Safety
/// The object must be alive, and the interpreter's lock held.
unsafe fn vectorcall_of(object: Pointer) -> Option<*mut *mut c_void> {
    let (api, more) = (api()?, more()?);
    // SAFETY: a type begins as CPython's `PyTypeObject` does in all builds with a global
    // lock, which our `sitecustomize` has checked; where the flag is set, the object holds
    // a function at the offset, which is compared with the object's size.
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
/// The place must be the object's own, and the interpreter's lock held.
unsafe fn put(object: Pointer, place: *mut *mut c_void, name: u32) {
    let Some(named) = entry(object as usize) else {
        return;
    };
    // SAFETY: as the caller says. Nobody calls the object meanwhile: that needs the lock.
    unsafe {
        let original = *place as usize;
        if original == called as *const () as usize {
            // At the address of one that is gone.
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
    // SAFETY: this function is in an object only once that is known, and it is the address
    // of a function of this type.
    let original = unsafe { std::mem::transmute::<usize, Vectorcall>(original) };
    if WITHIN.get() || !recorder::active() {
        // SAFETY: called as Python has called us, in its place.
        return unsafe { original(object, arguments, count, keywords) };
    }
    let which = Iteration::CompiledCall as u16;
    let name = entry(object as usize).map_or(0, |named| named.name.load(Ordering::Relaxed));
    let open = recorder::begin(Kind::Iteration, which, u64::from(name), 0, b"", false);
    WITHIN.set(true);
    // SAFETY: called as Python has called us, in its place.
    let result = unsafe { original(object, arguments, count, keywords) };
    WITHIN.set(false);
    open.end_at(recorder::now(), 0, None);
    result
}
