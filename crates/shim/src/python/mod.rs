//! This library as a Python module, `_preheat`, which our `sitecustomize` loads: through
//! it, Python reports imports, iterations and allocators.
//!
//! Nothing here raises its own exceptions. A call with invalid arguments does nothing and
//! returns `None` or 0.

mod api;
mod around;
mod bytecode;
mod clocks;
mod compiled;
mod importer;
mod imports;
mod path;
mod replaced;

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use preheat_wire::{Allocator, Event, Kind};

use crate::hooks;
use crate::recorder::{self, Open, detail};
use api::{Pointer, api};

pub(crate) use path::leave_without_site;

const METH_VARARGS: c_int = 0x01;
const METH_KEYWORDS: c_int = 0x02;
const METH_NOARGS: c_int = 0x04;
const METH_CLASS: c_int = 0x10;
const METH_FASTCALL: c_int = 0x80;

/// CPython's `PyMethodDef`.
#[repr(C)]
struct MethodDefinition {
    name: *const c_char,
    function: *const c_void,
    flags: c_int,
    documentation: *const c_char,
}

// SAFETY: addresses of items that live as long as the library.
unsafe impl Sync for MethodDefinition {}

type Fast = unsafe extern "C" fn(Pointer, *const Pointer, isize) -> Pointer;

const fn method(name: &'static CStr, function: Fast) -> MethodDefinition {
    MethodDefinition {
        name: name.as_ptr(),
        function: function as *const c_void,
        flags: METH_FASTCALL,
        documentation: null(),
    }
}

static METHODS: [MethodDefinition; 21] = [
    method(c"begin", begin),
    method(c"ahead", ahead),
    method(c"watch_restore", replaced::watch),
    method(c"around", around::around),
    method(c"within", around::within),
    method(c"watch_imports", imports::watch),
    method(c"watch_compile", bytecode::watch),
    method(c"iteration_begin", iteration_begin),
    method(c"iteration_end", iteration_end),
    method(c"expect_steps", expect_steps),
    method(c"range_begin", range_begin),
    method(c"range_end", range_end),
    method(c"allocator", allocator),
    method(c"event", event),
    method(c"synchronize", synchronize),
    method(c"clock_settings", clocks::settings),
    method(c"hook_clock", clocks::hook),
    method(c"hook_compiled", compiled::hook),
    method(c"cuda_event", clocks::event),
    method(c"cuda_elapsed", clocks::elapsed),
    MethodDefinition {
        name: null(),
        function: null(),
        flags: 0,
        documentation: null(),
    },
];

/// CPython's `PyModuleDef`, of builds with a global lock.
#[repr(C)]
struct ModuleDefinition {
    references: isize,
    its_type: *mut c_void,
    init: *mut c_void,
    index: isize,
    copy: *mut c_void,
    name: *const c_char,
    documentation: *const c_char,
    size: isize,
    methods: *const MethodDefinition,
    rest: [*mut c_void; 4],
}

struct Definition(UnsafeCell<ModuleDefinition>);

// SAFETY: only the interpreter accesses it, with its lock held.
unsafe impl Sync for Definition {}

static DEFINITION: Definition = Definition(UnsafeCell::new(ModuleDefinition {
    references: 1,
    its_type: null_mut(),
    init: null_mut(),
    index: 0,
    copy: null_mut(),
    name: c"_preheat".as_ptr(),
    documentation: null(),
    size: -1,
    methods: METHODS.as_ptr(),
    rest: [null_mut(); 4],
}));

/// Called by Python when the module is loaded.
///
/// # Safety
/// To be called by the interpreter.
#[allow(non_snake_case)]
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn PyInit__preheat() -> *mut c_void {
    const API_VERSION: c_int = 1013;
    let Some(api) = api() else { return null_mut() };
    importer::forget();
    bytecode::forget();
    clocks::forget();
    imports::forget();
    // SAFETY: the definition has the layout that the interpreter expects, and is static.
    unsafe { (api.module_create)(DEFINITION.0.get().cast(), API_VERSION) }.cast()
}

/// The arguments of a call.
///
/// # Safety
/// To be called with the arguments that the interpreter passed.
unsafe fn slice<'a>(arguments: *const Pointer, count: isize) -> &'a [Pointer] {
    if arguments.is_null() || count <= 0 {
        return &[];
    }
    // SAFETY: guaranteed by the caller.
    unsafe { std::slice::from_raw_parts(arguments, count as usize) }
}

/// `begin(directory, limit, iterations)`: starts to record, unless that has happened
/// before: for a child of a process that waited.
unsafe extern "C" fn begin(_: Pointer, arguments: *const Pointer, count: isize) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: called by the interpreter, with its lock held.
    unsafe {
        if let &[directory, limit, iterations] = slice(arguments, count) {
            let text = |object| api.bytes(object);
            crate::lifetime::begin(text(directory), text(limit), text(iterations));
        }
    }
    api.nothing()
}

/// `ahead(device, driver)`: initializes the driver in a separate thread. The interpreter
/// waits for it at exit.
unsafe extern "C" fn ahead(_: Pointer, arguments: *const Pointer, count: isize) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: called by the interpreter, with its lock held.
    unsafe {
        if let &[device, driver] = slice(arguments, count) {
            (api.at_exit)(crate::restore::at_interpreter_exit);
            crate::ahead::begin_with(api.value(device), api.bytes(driver));
        }
    }
    api.nothing()
}

/// `iteration_begin(which, name)`: returns a token for the end.
unsafe extern "C" fn iteration_begin(
    _: Pointer,
    arguments: *const Pointer,
    count: isize,
) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: called by the interpreter, with its lock held.
    unsafe {
        let mut token = 0;
        if let &[which, name] = slice(arguments, count) {
            let (which, name) = (api.value(which) as u16, recorder::text(api.bytes(name)));
            recorder::record_cpu();
            let open = recorder::begin(Kind::Iteration, which, u64::from(name), 0, b"", false);
            detail::iteration_began(which, name, open.began(), hooks::is_within_range());
            token = open.into_token();
        }
        (api.number)(token)
    }
}

/// `iteration_end(token)`.
unsafe extern "C" fn iteration_end(_: Pointer, arguments: *const Pointer, count: isize) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: called by the interpreter. Tokens come from `iteration_begin`: only our
    // `sitecustomize` has this module.
    unsafe {
        if let &[token] = slice(arguments, count) {
            let open = Open::from_token(api.value(token));
            let (which, name) = open.iteration();
            let time = recorder::now();
            open.end_at(time, 0, None);
            recorder::record_cpu();
            detail::iteration_ended(which, name, time, hooks::is_within_range());
        }
    }
    api.nothing()
}

/// `expect_steps()`: an optimizer was created, whose steps will be the iterations.
unsafe extern "C" fn expect_steps(_: Pointer, _: *const Pointer, _: isize) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    detail::expect_steps();
    api.nothing()
}

/// `range_begin(name)`: returns a token for the end. Used for compilations.
unsafe extern "C" fn range_begin(_: Pointer, arguments: *const Pointer, count: isize) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: called by the interpreter, with its lock held.
    unsafe {
        let mut token = 0;
        if let &[name] = slice(arguments, count) {
            let name = recorder::text(api.bytes(name));
            detail::request_window();
            token = recorder::begin(Kind::Range, 0, u64::from(name), 0, b"", false).into_token();
        }
        (api.number)(token)
    }
}

/// `range_end(token, domain)`.
unsafe extern "C" fn range_end(_: Pointer, arguments: *const Pointer, count: isize) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: called by the interpreter. Tokens come from `range_begin`: only our
    // `sitecustomize` has this module.
    unsafe {
        if let &[token, domain] = slice(arguments, count) {
            let domain = recorder::text(api.bytes(domain));
            Open::from_token(api.value(token)).end(domain as i32, None);
        }
    }
    api.nothing()
}

/// `allocator(name, used, reserved, peak_used, peak_reserved)`.
unsafe extern "C" fn allocator(_: Pointer, arguments: *const Pointer, count: isize) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: called by the interpreter, with its lock held.
    unsafe {
        if let &[name, used, reserved, peak_used, peak_reserved] = slice(arguments, count) {
            let name = recorder::text(api.bytes(name));
            let open = recorder::begin(Kind::Allocator, 0, u64::from(name), 1, b"", false);
            let slot = Allocator {
                used: api.value(used),
                reserved: api.value(reserved),
                peak_used: api.value(peak_used),
                peak_reserved: api.value(peak_reserved),
            };
            open.put(0, &slot);
            open.end_at(open.began(), 0, None);
        }
    }
    api.nothing()
}

/// `event(which, text)`, for events that Python reports.
unsafe extern "C" fn event(_: Pointer, arguments: *const Pointer, count: isize) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: called by the interpreter, with its lock held.
    unsafe {
        if let &[which, text] = slice(arguments, count)
            && let Some(which) = Event::from_u16(api.value(which) as u16)
        {
            recorder::instant(Kind::Event, which as u16, 0, 0, None, api.bytes(text));
        }
    }
    api.nothing()
}

/// `synchronize()`: waits for the device, and lets other threads run meanwhile.
unsafe extern "C" fn synchronize(_: Pointer, _: *const Pointer, _: isize) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: called by the interpreter, with its lock held; it is acquired again
    // afterwards.
    unsafe {
        let thread = (api.save_thread)();
        hooks::synchronize();
        (api.restore_thread)(thread);
    }
    api.nothing()
}
