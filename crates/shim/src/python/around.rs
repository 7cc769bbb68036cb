//! A callable for a method's place in a class, which tells of the outermost call.
//!
//! A model calls its modules hundreds of times within one iteration. A function in C
//! adds next to nothing to such a call, and no frame: tracebacks and the depth of
//! recursion are as without it. In all else it passes for the function in whose place it
//! is: it binds as that does, and its attributes are that one's.
//!
//! What begins and ends with the outermost call is Python's side's to say.

use super::api::{Api, Object, Pointer, api, functions};
use super::slice;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;
use std::sync::OnceLock;

functions! {
    /// What only this needs, of Python 3.9 and later.
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

/// It can be called by a vector of arguments, and with the instance as the first of them.
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

// SAFETY: addresses of constants; the interpreter only reads it.
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
    /// Whether such a call is under way on this thread.
    static WITHIN: Cell<bool> = const { Cell::new(false) };
}

/// `around(original, began, ended)`: the callable; `None` where this Python cannot have
/// one. `began(instance)` is called before the outermost call on a thread, and `ended`
/// after it with what that returned.
pub(super) unsafe extern "C" fn around(
    _: Pointer,
    arguments: *const Pointer,
    count: isize,
) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    let Some(more) = more() else {
        return api.nothing();
    };
    // SAFETY: the interpreter's own call, with its lock held.
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

/// `within()`: 1 while such a call is under way on this thread.
pub(super) unsafe extern "C" fn within(_: Pointer, _: *const Pointer, _: isize) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: the interpreter's own call, with its lock held.
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
        // Some tell functions by the name of their type.
        name: c"builtins.function".as_ptr(),
        size: size_of::<Around>() as c_int,
        item_size: 0,
        flags: FLAGS,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the specification has CPython's layout, and the functions in it are of the
    // types that their slots ask for; the interpreter copies what it keeps of it, other
    // than names and members, which are constants. The new object is of the size that was
    // asked for, so that the fields after its head are ours.
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
        // There is one in a process, or two: it stays, so that nothing needs to free it.
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
    // There is one: it made this callable.
    let Some(more) = more() else {
        return null_mut();
    };
    // SAFETY: Python calls this with one of ours, which keeps its fields alive, and passes
    // arguments as it would to the original.
    unsafe {
        let original = (*callable.cast::<Around>()).original;
        if WITHIN.get() {
            return (more.vectorcall)(original, arguments, count, keywords);
        }
        outermost(more, callable, arguments, count, keywords)
    }
}

/// # Safety
/// As for [`called`].
#[cold]
#[inline(never)]
unsafe fn outermost(
    more: &More,
    callable: Pointer,
    arguments: *const Pointer,
    count: usize,
    keywords: Pointer,
) -> Pointer {
    /// The rest of the number of arguments is flags.
    const COUNT: usize = usize::MAX >> 1;
    let Some(api) = api() else { return null_mut() };
    // SAFETY: as the caller says. All that is used is held by the callable or the caller,
    // and the callable is held here: what it calls may take it out of its class.
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

/// Whether the error that is set is of our own making, as where memory or the stack ends: it
/// is dropped then. What a signal's handler raises to end the program is for that.
///
/// # Safety
/// An error must be set.
unsafe fn is_ours(api: &Api, more: &More) -> bool {
    // SAFETY: the variable holds the class for as long as there is an interpreter.
    unsafe {
        let ours = (more.is_error)(*more.exception) != 0;
        if ours {
            (api.clear_error)();
        }
        ours
    }
}

/// Tells of the end. An error of the call is what it was before; only what a signal's
/// handler raises meanwhile to end the program takes its place.
///
/// # Safety
/// The objects must be alive, the token and the result the caller's own; the result is
/// null if an error is set.
unsafe fn after(
    api: &Api,
    more: &More,
    ended: Pointer,
    token: Pointer,
    result: Pointer,
) -> Pointer {
    // SAFETY: as the caller says; the error is taken, and given back or dropped.
    unsafe {
        let mut error = [null_mut(); 3];
        if result.is_null() {
            let [kind, value, trace] = &mut error;
            (more.take_error)(kind, value, trace);
        }
        let told = (api.call_with)(ended, token, null_mut::<Object>());
        api.drop(token);
        if told.is_null() && !is_ours(api, more) {
            error.iter().for_each(|part| api.drop(*part));
            api.drop(result);
            return null_mut();
        }
        api.drop(told);
        if result.is_null() {
            let [kind, value, trace] = error;
            (more.raise_again)(kind, value, trace);
        }
        result
    }
}

/// Binds to an instance as a function does.
unsafe extern "C" fn get(callable: Pointer, instance: Pointer, _: Pointer) -> Pointer {
    let (Some(api), Some(more)) = (api(), more()) else {
        return null_mut();
    };
    // SAFETY: the interpreter's own call, with objects that are alive.
    unsafe {
        if instance.is_null() || instance == api.none {
            (api.increment)(callable);
            return callable;
        }
        (more.bind)(callable, instance)
    }
}

/// What it is itself; all else is the original's, its class too: who asks takes it for a
/// function.
const OWN: [&[u8]; 3] = [b"__wrapped__", b"__get__", b"__call__"];

unsafe extern "C" fn attribute(callable: Pointer, name: Pointer) -> Pointer {
    let (Some(api), Some(more)) = (api(), more()) else {
        return null_mut();
    };
    // SAFETY: the interpreter's own call, with one of ours and a name.
    unsafe {
        if OWN.contains(&api.bytes(name)) {
            return (more.own_attribute)(callable, name);
        }
        (api.attribute)((*callable.cast::<Around>()).original, name)
    }
}

unsafe extern "C" fn set_attribute(callable: Pointer, name: Pointer, value: Pointer) -> c_int {
    let Some(more) = more() else { return -1 };
    // SAFETY: the interpreter's own call, with one of ours; no value means to delete,
    // there as here.
    unsafe { (more.set_attribute)((*callable.cast::<Around>()).original, name, value) }
}

unsafe extern "C" fn repr(callable: Pointer) -> Pointer {
    let Some(more) = more() else {
        return null_mut();
    };
    // SAFETY: the interpreter's own call, with one of ours.
    unsafe { (more.represent)((*callable.cast::<Around>()).original) }
}
