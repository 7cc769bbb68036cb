//! The required part of CPython's C API, found in the running interpreter.
//!
//! Nothing of it is linked: the same library is loaded into programs without Python, and
//! works with every version that has these functions (3.8 and later).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// An opaque Python object.
#[repr(C)]
pub(super) struct Object {
    opaque: [usize; 2],
}

pub(super) type Pointer = *mut Object;

/// Defines a table of functions and objects of the interpreter, and their lookup.
macro_rules! functions {
    ($(#[$about:meta])* struct $table:ident {
        $($field:ident = $symbol:literal: $type:ty;)*
    }) => {
        $(#[$about])*
        pub(super) struct $table { $(pub(super) $field: $type,)* }

        impl $table {
            fn find() -> Option<$table> {
                Some($table { $($field: {
                    let found = $crate::loader::real_dlsym(
                        libc::RTLD_DEFAULT,
                        CStr::from_bytes_with_nul(concat!($symbol, "\0").as_bytes()).ok()?,
                    );
                    if found.is_null() {
                        return None;
                    }
                    const { assert!(size_of::<$type>() == size_of::<*mut c_void>()) };
                    // SAFETY: CPython's documentation defines the type of each symbol: a
                    // function or the address of an object, both of a pointer's size.
                    unsafe { std::mem::transmute_copy::<*mut c_void, $type>(&found) }
                },)* })
            }
        }

        // SAFETY: addresses in the interpreter, which lives as long as its threads.
        unsafe impl Send for $table {}
        // SAFETY: same as above; they are called with the interpreter's lock held.
        unsafe impl Sync for $table {}
    };
}

pub(super) use functions;

functions! {
    /// The functions and objects that all modules need.
    struct Api {
        module_create = "PyModule_Create2": unsafe extern "C" fn(*mut c_void, c_int) -> Pointer;
        new_function = "PyCFunction_NewEx":
            unsafe extern "C" fn(*mut c_void, Pointer, Pointer) -> Pointer;
        increment = "Py_IncRef": unsafe extern "C" fn(Pointer);
        decrement = "Py_DecRef": unsafe extern "C" fn(Pointer);
        none = "_Py_NoneStruct": Pointer;
        module_type = "PyModule_Type": Pointer;
        builtin_type = "PyCFunction_Type": Pointer;
        clear_error = "PyErr_Clear": unsafe extern "C" fn();
        error = "PyErr_Occurred": unsafe extern "C" fn() -> Pointer;
        utf8 = "PyUnicode_AsUTF8AndSize": unsafe extern "C" fn(Pointer, *mut isize) -> *const c_char;
        interned = "PyUnicode_InternFromString": unsafe extern "C" fn(*const c_char) -> Pointer;
        number = "PyLong_FromUnsignedLongLong": unsafe extern "C" fn(u64) -> Pointer;
        as_number = "PyLong_AsUnsignedLongLongMask": unsafe extern "C" fn(Pointer) -> u64;
        as_float = "PyFloat_AsDouble": unsafe extern "C" fn(Pointer) -> f64;
        tuple_item = "PyTuple_GetItem": unsafe extern "C" fn(Pointer, isize) -> Pointer;
        tuple_of = "PyTuple_Pack": unsafe extern "C" fn(isize, ...) -> Pointer;
        dict_item = "PyDict_GetItem": unsafe extern "C" fn(Pointer, Pointer) -> Pointer;
        attribute = "PyObject_GetAttr": unsafe extern "C" fn(Pointer, Pointer) -> Pointer;
        item = "PyObject_GetItem": unsafe extern "C" fn(Pointer, Pointer) -> Pointer;
        call = "PyObject_Call": unsafe extern "C" fn(Pointer, Pointer, Pointer) -> Pointer;
        call_with = "PyObject_CallFunctionObjArgs": unsafe extern "C" fn(Pointer, ...) -> Pointer;
        frame = "PyEval_GetFrame": unsafe extern "C" fn() -> Pointer;
        line = "PyFrame_GetLineNumber": unsafe extern "C" fn(Pointer) -> c_int;
        builtins = "PyEval_GetBuiltins": unsafe extern "C" fn() -> Pointer;
        system = "PySys_GetObject": unsafe extern "C" fn(*const c_char) -> Pointer;
        modules = "PyImport_GetModuleDict": unsafe extern "C" fn() -> Pointer;
        item_string = "PyDict_GetItemString": unsafe extern "C" fn(Pointer, *const c_char) -> Pointer;
        module_dict = "PyModule_GetDict": unsafe extern "C" fn(Pointer) -> Pointer;
        object_type = "PyObject_Type": unsafe extern "C" fn(Pointer) -> Pointer;
        save_thread = "PyEval_SaveThread": unsafe extern "C" fn() -> *mut c_void;
        restore_thread = "PyEval_RestoreThread": unsafe extern "C" fn(*mut c_void);
        at_exit = "Py_AtExit": unsafe extern "C" fn(extern "C" fn()) -> c_int;
    }
}

/// The interpreter's API, if there is an interpreter.
pub(super) fn api() -> Option<&'static Api> {
    static API: OnceLock<Option<Api>> = OnceLock::new();
    API.get_or_init(Api::find).as_ref()
}

impl Api {
    /// `None`, as a new reference.
    pub(super) fn nothing(&self) -> Pointer {
        // SAFETY: this object always exists.
        unsafe { (self.increment)(self.none) };
        self.none
    }

    /// The bytes of a string, valid as long as the object lives; empty for anything else.
    ///
    /// # Safety
    /// The object must be null or alive for as long as the bytes are used, and the
    /// interpreter's lock held.
    pub(super) unsafe fn bytes<'a>(&self, object: Pointer) -> &'a [u8] {
        if object.is_null() || object == self.none {
            return &[];
        }
        let mut length = 0;
        // SAFETY: a live object; the function fails for anything but a string.
        let text = unsafe { (self.utf8)(object, &mut length) };
        if text.is_null() || length < 0 {
            // SAFETY: clears the error that was just set.
            unsafe { (self.clear_error)() };
            return &[];
        }
        // SAFETY: the object keeps these bytes while it lives.
        unsafe { std::slice::from_raw_parts(text.cast(), length as usize) }
    }

    /// A number; 0 for anything else.
    ///
    /// # Safety
    /// The object must be null or alive, and the interpreter's lock held.
    pub(super) unsafe fn value(&self, object: Pointer) -> u64 {
        if object.is_null() {
            return 0;
        }
        // SAFETY: a live object; the error is cleared.
        unsafe {
            let value = (self.as_number)(object);
            if value == u64::MAX && !(self.error)().is_null() {
                (self.clear_error)();
                return 0;
            }
            value
        }
    }

    /// An attribute as a new reference; null if there is none.
    ///
    /// # Safety
    /// The objects must be alive, and the interpreter's lock held.
    pub(super) unsafe fn get(&self, object: Pointer, name: Pointer) -> Pointer {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let found = (self.attribute)(object, name);
            if found.is_null() {
                (self.clear_error)();
            }
            found
        }
    }

    /// Releases a reference.
    ///
    /// # Safety
    /// The object must be null or a reference that the caller owns.
    pub(super) unsafe fn drop(&self, object: Pointer) {
        if !object.is_null() {
            // SAFETY: guaranteed by the caller.
            unsafe { (self.decrement)(object) };
        }
    }
}
