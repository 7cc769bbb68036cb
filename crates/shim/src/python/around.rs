//! A callable that replaces a method in a class, and reports the outermost call.
//!
//! A model calls its modules hundreds of times within one iteration. A function in C adds
//! next to nothing to such a call, and no frame: tracebacks and the recursion depth are the
//! same as without it. In all other respects it looks like the function that it replaces:
//! it binds in the same way, and has its attributes.
//!
//! Python decides what happens before and after the outermost call.

use super::api::{Api, Object, Pointer, api, functions};
use super::slice;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;
use std::sync::OnceLock;

functions! {
    /// The functions that only this module needs, of Python 3.9 and later.
    struct More {
        vectorcall = "PyObject_Vectorcall":
            unsafe extern "C" fn(Pointer, *const Pointer, usize, Pointer) -> Pointer;
        call_by_vector = "PyVectorcall_Call": *mut c_void;
        new_type = "PyType_FromSpec": unsafe extern "C" fn(*mut Specification) -> Pointer;
        allocate = "PyType_GenericAlloc": unsafe extern "C" fn(Pointer, isize) -> Pointer;
        bind = "PyMethod_New": unsafe extern "C" fn(Pointer, Pointer) -> Pointer;
        own_attribute = "PyObject_GenericGetAttr":
            unsafe extern "C" fn(Pointer, Pointer) -> Pointer;
        set_attribute = "PyObject_SetAttr":
            unsafe extern "C" fn(Pointer, Pointer, Pointer) -> c_int;
        represent = "PyObject_Repr": unsafe extern "C" fn(Pointer) -> Pointer;
        take_error = "PyErr_Fetch":
            unsafe extern "C" fn(*mut Pointer, *mut Pointer, *mut Pointer);
        raise_again = "PyErr_Restore": unsafe extern "C" fn(Pointer, Pointer, Pointer);
        is_error = "PyErr_ExceptionMatches": unsafe extern "C" fn(Pointer) -> c_int;
        exception = "PyExc_Exception": *mut Pointer;
    }
}

fn more() -> Option<&'static More> {
    static MORE: OnceLock<Option<More>> = OnceLock::new();
    MORE.get_or_init(More::find).as_ref()
}

/// CPython's `PyType_Spec`.
#[repr(C)]
pub(super) struct Specification {
    name: *const c_char,
    size: c_int,
    item_size: c_int,
    flags: c_uint,
    slots: *mut Slot,
}

/// CPython's `PyType_Slot`.
#[repr(C)]
pub(super) struct Slot {
    which: c_int,
    what: *mut c_void,
}

/// CPython's `PyMemberDef`.
#[repr(C)]
struct Member {
    name: *const c_char,
    kind: c_int,
    offset: isize,
    flags: c_int,
    documentation: *const c_char,
}

const TP_CALL: c_int = 50;
const TP_DESCR_GET: c_int = 54;
const TP_GETATTRO: c_int = 58;
const TP_REPR: c_int = 66;
const TP_SETATTRO: c_int = 69;
const TP_MEMBERS: c_int = 72;

/// It supports vectorcall, also with the instance as the first argument.
const FLAGS: c_uint = 1 << 11 | 1 << 17 | 1 << 18;

const OBJECT: c_int = 6;
const SSIZE: c_int = 19;
const READ_ONLY: c_int = 1;

/// The callable.
#[repr(C)]
struct Around {
    head: Object,
    vectorcall: *mut c_void,
    original: Pointer,
    began: Pointer,
    ended: Pointer,
    weak: Pointer,
}

const fn member(name: &'static CStr, kind: c_int, offset: usize) -> Member {
    Member {
        name: name.as_ptr(),
        kind,
        offset: offset as isize,
        flags: READ_ONLY,
        documentation: std::ptr::null(),
    }
}

struct Members([Member; 4]);

// SAFETY: addresses of constants; the interpreter only reads them.
unsafe impl Sync for Members {}

static MEMBERS: Members = Members([
    member(
        c"__vectorcalloffset__",
        SSIZE,
        offset_of!(Around, vectorcall),
    ),
    member(c"__weaklistoffset__", SSIZE, offset_of!(Around, weak)),
    member(c"__wrapped__", OBJECT, offset_of!(Around, original)),
    Member {
        name: std::ptr::null(),
        kind: 0,
        offset: 0,
        flags: 0,
        documentation: std::ptr::null(),
    },
]);

thread_local! {
    /// True if such a call is running on this thread.
    static WITHIN: Cell<bool> = const { Cell::new(false) };
}

/// `around(original, began, ended)`: creates the callable; `None` if this Python does not
/// support it. `began(instance)` is called before the outermost call on a thread, and
/// `ended` after it, with the result of `began`.
pub(super) unsafe extern "C" fn around(
    _: Pointer,
    arguments: *const Pointer,
    count: isize,
) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    let Some(more) = more() else {
        return api.nothing();
    };
    // SAFETY: called by the interpreter, with its lock held.
    unsafe {
        let &[original, began, ended] = slice(arguments, count) else {
            return api.nothing();
        };
        let made = make(api, more, [original, began, ended]);
        if made.is_null() {
            (api.clear_error)();
            return api.nothing();
        }
        made
    }
}

/// `within()`: 1 while such a call is running on this thread.
pub(super) unsafe extern "C" fn within(_: Pointer, _: *const Pointer, _: isize) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: called by the interpreter, with its lock held.
    unsafe { (api.number)(u64::from(WITHIN.get())) }
}

/// # Safety
/// The objects must be alive, and the interpreter's lock held.
unsafe fn make(api: &Api, more: &More, objects: [Pointer; 3]) -> Pointer {
    let slot = |which, what| Slot { which, what };
    let mut slots = [
        slot(TP_CALL, more.call_by_vector),
        slot(TP_DESCR_GET, get as *mut c_void),
        slot(TP_GETATTRO, attribute as *mut c_void),
        slot(TP_REPR, repr as *mut c_void),
        slot(TP_SETATTRO, set_attribute as *mut c_void),
        slot(TP_MEMBERS, MEMBERS.0.as_ptr().cast_mut().cast()),
        slot(0, null_mut()),
    ];
    let mut specification = Specification {
        // Some libraries recognize functions by the name of their type.
        name: c"builtins.function".as_ptr(),
        size: size_of::<Around>() as c_int,
        item_size: 0,
        flags: FLAGS,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the specification has CPython's layout, and its functions have the types that
    // their slots require; the interpreter copies everything that it keeps, except for
    // names and members, which are constants. The new object has the requested size, so the
    // fields after its header are ours.
    unsafe {
        let its_type = (more.new_type)(&mut specification);
        if its_type.is_null() {
            return null_mut();
        }
        let made = (more.allocate)(its_type, 0).cast::<Around>();
        api.drop(its_type);
        if made.is_null() {
            return null_mut();
        }
        objects.iter().for_each(|object| (api.increment)(*object));
        // There are one or two in a process; they are never freed.
        (api.increment)(made.cast());
        (*made).vectorcall = called as *mut c_void;
        [(*made).original, (*made).began, (*made).ended] = objects;
        made.cast()
    }
}

/// The call itself.
unsafe extern "C" fn called(
    callable: Pointer,
    arguments: *const Pointer,
    count: usize,
    keywords: Pointer,
) -> Pointer {
    // Always present: it created this callable.
    let Some(more) = more() else {
        return null_mut();
    };
    // SAFETY: Python calls this with one of our objects, which keeps its fields alive, and
    // passes the arguments in the same way as to the original.
    unsafe {
        let original = (*callable.cast::<Around>()).original;
        if WITHIN.get() {
            return (more.vectorcall)(original, arguments, count, keywords);
        }
        outermost(more, callable, arguments, count, keywords)
    }
}

/// # Safety
/// Same as [`called`].
#[cold]
#[inline(never)]
unsafe fn outermost(
    more: &More,
    callable: Pointer,
    arguments: *const Pointer,
    count: usize,
    keywords: Pointer,
) -> Pointer {
    /// The other bits of the number of arguments are flags.
    const COUNT: usize = usize::MAX >> 1;
    let Some(api) = api() else { return null_mut() };
    // SAFETY: guaranteed by the caller. The callable or the caller holds all objects that
    // are used, and the callable is held here: the call may remove it from its class.
    unsafe {
        let around = &*callable.cast::<Around>();
        if count & COUNT == 0 || arguments.is_null() {
            return (more.vectorcall)(around.original, arguments, count, keywords);
        }
        (api.increment)(callable);
        WITHIN.set(true);
        let token = (api.call_with)(around.began, *arguments, null_mut::<Object>());
        let mut result = null_mut();
        if !token.is_null() || is_ours(api, more) {
            result = (more.vectorcall)(around.original, arguments, count, keywords);
        }
        WITHIN.set(false);
        if !token.is_null() {
            result = after(api, more, around.ended, token, result);
        }
        api.drop(callable);
        result
    }
}

/// Returns whether the current error was caused by our own call, for example when memory or
/// the stack is exhausted: then it is cleared. An exception from a signal handler that ends
/// the program is kept.
///
/// # Safety
/// An error must be set.
unsafe fn is_ours(api: &Api, more: &More) -> bool {
    // SAFETY: the variable contains the class as long as there is an interpreter.
    unsafe {
        let ours = (more.is_error)(*more.exception) != 0;
        if ours {
            (api.clear_error)();
        }
        ours
    }
}

/// Reports the end. An error of the call is preserved; only an exception from a signal
/// handler that ends the program replaces it.
///
/// # Safety
/// The objects must be alive, and the token and the result owned by the caller; the result
/// is null if an error is set.
unsafe fn after(
    api: &Api,
    more: &More,
    ended: Pointer,
    token: Pointer,
    result: Pointer,
) -> Pointer {
    // SAFETY: guaranteed by the caller; the error is fetched, and restored or dropped.
    unsafe {
        let mut error = [null_mut(); 3];
        if result.is_null() {
            let [kind, value, trace] = &mut error;
            (more.take_error)(kind, value, trace);
        }
        let reported = (api.call_with)(ended, token, null_mut::<Object>());
        api.drop(token);
        if reported.is_null() && !is_ours(api, more) {
            error.iter().for_each(|part| api.drop(*part));
            api.drop(result);
            return null_mut();
        }
        api.drop(reported);
        if result.is_null() {
            let [kind, value, trace] = error;
            (more.raise_again)(kind, value, trace);
        }
        result
    }
}

/// Binds to an instance like a function.
unsafe extern "C" fn get(callable: Pointer, instance: Pointer, _: Pointer) -> Pointer {
    let (Some(api), Some(more)) = (api(), more()) else {
        return null_mut();
    };
    // SAFETY: called by the interpreter, with live objects.
    unsafe {
        if instance.is_null() || instance == api.none {
            (api.increment)(callable);
            return callable;
        }
        (more.bind)(callable, instance)
    }
}

/// Its own attributes; all others are those of the original, including its class, so
/// that it looks like a function.
const OWN: [&[u8]; 3] = [b"__wrapped__", b"__get__", b"__call__"];

unsafe extern "C" fn attribute(callable: Pointer, name: Pointer) -> Pointer {
    let (Some(api), Some(more)) = (api(), more()) else {
        return null_mut();
    };
    // SAFETY: called by the interpreter, with one of our objects and a name.
    unsafe {
        if OWN.contains(&api.bytes(name)) {
            return (more.own_attribute)(callable, name);
        }
        (api.attribute)((*callable.cast::<Around>()).original, name)
    }
}

unsafe extern "C" fn set_attribute(callable: Pointer, name: Pointer, value: Pointer) -> c_int {
    let Some(more) = more() else { return -1 };
    // SAFETY: called by the interpreter, with one of our objects; a null value deletes the
    // attribute in both.
    unsafe { (more.set_attribute)((*callable.cast::<Around>()).original, name, value) }
}

unsafe extern "C" fn repr(callable: Pointer) -> Pointer {
    let Some(more) = more() else {
        return null_mut();
    };
    // SAFETY: called by the interpreter, with one of our objects.
    unsafe { (more.represent)((*callable.cast::<Around>()).original) }
}
