//! Wraps the function that Python calls for every import that is not loaded yet.
//!
//! A function in C leaves no frame: tracebacks, warnings and recursion are the same as
//! without it.

use super::api::{Object, Pointer, api};
use super::importer::{Name, asked, done};
use super::{METH_KEYWORDS, METH_VARARGS, MethodDefinition};
use crate::files;
use crate::recorder::{self, now, usage};
use preheat_wire::Kind;
use std::ffi::c_void;
use std::ptr::null_mut;

static FILE: Name = Name::new(c"__file__");

/// Same as [`super::importer::forget`].
pub(super) fn forget() {
    FILE.forget();
}

static DEFINITION: MethodDefinition = MethodDefinition {
    name: c"_find_and_load".as_ptr(),
    function: find_and_load as *const c_void,
    flags: METH_VARARGS | METH_KEYWORDS,
    documentation: std::ptr::null(),
};

/// `watch_imports(original, watched)`: a function that replaces the original. `watched`
/// maps names of modules to functions that are called with the module after its import.
pub(super) unsafe extern "C" fn watch(
    _: Pointer,
    arguments: *const Pointer,
    count: isize,
) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    if count != 2 {
        return api.nothing();
    }
    // SAFETY: Python passes this many arguments; the tuple keeps them alive, and the new
    // function the tuple.
    unsafe {
        let state = (api.tuple_of)(2, *arguments, *arguments.add(1));
        if state.is_null() {
            return null_mut();
        }
        let function =
            (api.new_function)((&raw const DEFINITION).cast_mut().cast(), state, null_mut());
        api.drop(state);
        function
    }
}

unsafe extern "C" fn find_and_load(
    state: Pointer,
    arguments: *mut Object,
    keywords: *mut Object,
) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: the state is the tuple that `watch` created; Python passes a tuple of
    // arguments and perhaps keywords, and holds its lock.
    unsafe {
        let original = (api.tuple_item)(state, 0);
        let name = (api.tuple_item)(arguments, 0);
        if original.is_null() || name.is_null() || !recorder::active() {
            (api.clear_error)();
            return (api.call)(original, arguments, keywords);
        }
        let asked = asked(api, api.bytes(name));
        recorder::detail::request_window();
        let open = recorder::begin(Kind::Import, 0, asked.line, 1, asked.text.bytes(), false);
        let mark = usage();
        let module = (api.call)(original, arguments, keywords);
        let ended = now();
        open.put(0, &mark.since());
        open.end_at(ended, i32::from(module.is_null()), None);
        done();
        if module.is_null() {
            // With the original error.
            return module;
        }
        remember_file(module);
        let then = (api.dict_item)((api.tuple_item)(state, 1), name);
        if !then.is_null() {
            (api.increment)(then);
            let result = (api.call_with)(then, module, null_mut::<Object>());
            api.drop(then);
            if result.is_null() {
                // It only lets exceptions from signal handlers through.
                api.drop(module);
                return null_mut();
            }
            api.drop(result);
        }
        module
    }
}

/// Records the file of a module. Only for plain modules, and not through attributes: others
/// may run arbitrary code on access, such as loading themselves.
///
/// # Safety
/// The module must be alive, and the interpreter's lock held.
unsafe fn remember_file(module: Pointer) {
    let Some(api) = api() else { return };
    // SAFETY: guaranteed by the caller; borrowed references are used immediately.
    unsafe {
        let its_type = (api.object_type)(module);
        let plain = its_type == api.module_type;
        api.drop(its_type);
        if plain {
            let dict = (api.module_dict)(module);
            let file = (api.dict_item)(dict, FILE.get(api));
            files::came_from(api.bytes(file));
        }
    }
}
