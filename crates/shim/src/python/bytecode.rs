//! Source that the import system compiles, because usable bytecode is missing.
//!
//! `importlib` looks up `compile` by name. A global of that name in its module takes
//! precedence over the built-in function; a function in C leaves no frame, and only imports
//! use it.

use super::api::{Api, Object, Pointer, api};
use super::importer::{Name, Text};
use super::{METH_KEYWORDS, METH_VARARGS, MethodDefinition};
use crate::recorder::{self, now, system::Errno, usage};
use preheat_wire::{BytecodeWrite, Kind, NoBytecode};
use std::ffi::{c_int, c_long, c_void};
use std::ptr::null_mut;

static BACK: Name = Name::new(c"f_back");
static CODE: Name = Name::new(c"f_code");
static NAME: Name = Name::new(c"co_name");
static COMPILE: Name = Name::new(c"compile");
static TAG: Name = Name::new(c"cache_tag");
static OPTIMIZE: Name = Name::new(c"optimize");

/// Same as [`super::importer::forget`].
pub(super) fn forget() {
    for name in [&BACK, &CODE, &NAME, &COMPILE, &TAG, &OPTIMIZE] {
        name.forget();
    }
}

static DEFINITION: MethodDefinition = MethodDefinition {
    name: c"compile".as_ptr(),
    function: compile as *const c_void,
    flags: METH_VARARGS | METH_KEYWORDS,
    documentation: std::ptr::null(),
};

/// `watch_compile(original)`: a function that `importlib` calls as `compile`.
pub(super) unsafe extern "C" fn watch(
    _: Pointer,
    arguments: *const Pointer,
    count: isize,
) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    if count != 1 {
        return api.nothing();
    }
    // SAFETY: Python passes this many arguments; the new function keeps this one alive.
    unsafe {
        (api.new_function)(
            (&raw const DEFINITION).cast_mut().cast(),
            *arguments,
            null_mut(),
        )
    }
}

unsafe extern "C" fn compile(
    original: Pointer,
    arguments: *mut Object,
    keywords: *mut Object,
) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: Python passes the object that `watch` received, a tuple of arguments and
    // perhaps keywords, and holds its lock. Borrowed references are used immediately.
    unsafe {
        // A program may have replaced the built-in function.
        let builtins = (api.builtins)();
        let current = match builtins.is_null() {
            true => null_mut(),
            false => (api.dict_item)(builtins, COMPILE.get(api)),
        };
        let function = if current.is_null() { original } else { current };
        let source = (api.tuple_item)(arguments, 1);
        if source.is_null() {
            (api.clear_error)();
        }
        let path = api.bytes(source);
        if path.is_empty() || !recorder::active() || !is_import(api) {
            return (api.call)(function, arguments, keywords);
        }
        let (why, write) = state(api, path);
        recorder::detail::request_window();
        let open = recorder::begin(Kind::Bytecode, why as u16, 0, 1, path, false);
        let mark = usage();
        let code = (api.call)(function, arguments, keywords);
        let ended = now();
        open.put(0, &mark.since());
        open.end_at(ended, write as i32, None);
        code
    }
}

/// The maximum number of frames to the loader's `get_code`, including `source_to_code`.
const MAX_FRAMES: usize = 5;

/// Returns whether the import system is loading a module. `py_compile` and others compile
/// too.
///
/// # Safety
/// The interpreter's lock must be held and no error set.
unsafe fn is_import(api: &Api) -> bool {
    // SAFETY: guaranteed by the caller. The frame is borrowed, so a reference is added.
    unsafe {
        let mut frame = (api.frame)();
        if !frame.is_null() {
            (api.increment)(frame);
        }
        let mut found = false;
        for _ in 0..MAX_FRAMES {
            if frame.is_null() || frame == api.none {
                break;
            }
            let code = api.get(frame, CODE.get(api));
            if !code.is_null() {
                let name = api.get(code, NAME.get(api));
                found = api.bytes(name) == b"get_code";
                api.drop(name);
                api.drop(code);
            }
            let back = api.get(frame, BACK.get(api));
            api.drop(frame);
            frame = back;
            if found {
                break;
            }
        }
        api.drop(frame);
        found
    }
}

/// A path that ends with a NUL.
type Path = Text<{ libc::PATH_MAX as usize }>;

/// The reason that a source has no bytecode, and whether it will be written.
///
/// # Safety
/// Same as [`is_import`].
unsafe fn state(api: &Api, source: &[u8]) -> (NoBytecode, BytecodeWrite) {
    let _errno = Errno::keep();
    let mut path = Path::EMPTY;
    // SAFETY: guaranteed by the caller; objects of `sys` are borrowed and used immediately.
    let off = unsafe {
        bytecode_path(api, source, &mut path);
        let off = (api.system)(c"dont_write_bytecode".as_ptr());
        api.value(off) != 0
    };
    let why = match access(path.bytes(), libc::R_OK) {
        0 => NoBytecode::Stale,
        libc::ENOENT | libc::ENOTDIR => NoBytecode::Missing,
        _ => NoBytecode::Unreadable,
    };
    let write = if off {
        BytecodeWrite::TurnedOff
    } else if is_writable(path.bytes()) {
        BytecodeWrite::Writes
    } else {
        BytecodeWrite::NotWritable
    };
    (why, write)
}

/// The path of the bytecode of a source, following `importlib.util.cache_from_source`.
///
/// # Safety
/// Same as [`is_import`].
unsafe fn bytecode_path(api: &Api, source: &[u8], path: &mut Path) {
    let cut = source.iter().rposition(|&byte| byte == b'/');
    let (directory, file) = source.split_at(cut.map_or(0, |cut| cut + 1));
    let stem = match file.iter().rposition(|&byte| byte == b'.') {
        Some(dot) if dot > 0 => &file[..dot],
        _ => file,
    };
    // SAFETY: guaranteed by the caller; objects of `sys` are borrowed, attributes released.
    unsafe {
        let prefix = api.bytes((api.system)(c"pycache_prefix".as_ptr()));
        if prefix.is_empty() {
            path.put(directory);
            path.put(b"__pycache__/");
        } else {
            path.put(prefix);
            if !directory.starts_with(b"/") {
                path.put(b"/");
                path.put(current_directory(&mut [0; libc::PATH_MAX as usize]));
            }
            path.put(b"/");
            path.put(directory);
        }
        path.put(stem);
        path.put(b".");
        let implementation = (api.system)(c"implementation".as_ptr());
        if !implementation.is_null() {
            let tag = api.get(implementation, TAG.get(api));
            path.put(api.bytes(tag));
            api.drop(tag);
        }
        let flags = (api.system)(c"flags".as_ptr());
        if !flags.is_null() {
            let level = api.get(flags, OPTIMIZE.get(api));
            let number = api.value(level);
            api.drop(level);
            if number > 0 {
                path.put(b".opt-");
                path.number(number);
            }
        }
        path.put(b".pyc\0");
    }
}

/// The current directory, without the NUL; empty on errors.
fn current_directory(buffer: &mut [u8; libc::PATH_MAX as usize]) -> &[u8] {
    // SAFETY: the kernel writes at most as many bytes as the buffer has.
    let length = unsafe {
        libc::syscall(
            libc::SYS_getcwd,
            buffer.as_mut_ptr(),
            buffer.len() as c_long,
        )
    };
    match usize::try_from(length) {
        Ok(length) if length > 1 => buffer.get(..length - 1).unwrap_or_default(),
        _ => &[],
    }
}

/// 0 if this process has this access to a path, or else the error. The path ends with a
/// NUL.
fn access(path: &[u8], how: c_int) -> c_int {
    // A path that was cut off has no NUL.
    if path.last() != Some(&0) {
        return libc::ENAMETOOLONG;
    }
    // SAFETY: a path with a NUL at its end.
    let result = unsafe {
        libc::syscall(
            libc::SYS_faccessat,
            c_long::from(libc::AT_FDCWD),
            path.as_ptr(),
            c_long::from(how),
        )
    };
    if result == 0 { 0 } else { Errno::now() }
}

/// Returns whether a file can be written there: in its directory, or in the nearest
/// existing parent, where Python would create the others.
fn is_writable(path: &[u8]) -> bool {
    let mut directory = Path::EMPTY;
    let mut end = path.len();
    while let Some(cut) = path[..end].iter().rposition(|&byte| byte == b'/') {
        directory.clear();
        directory.put(if cut == 0 { b"/" } else { &path[..cut] });
        directory.put(b"\0");
        match access(directory.bytes(), libc::W_OK | libc::X_OK) {
            0 => return true,
            libc::ENOENT if cut > 0 => end = cut,
            _ => return false,
        }
    }
    // A relative path without a directory.
    access(b".\0", libc::W_OK | libc::X_OK) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_nearest_existing_directory_decides() {
        let at = std::env::temp_dir().join(format!("preheat-bytecode-{}", std::process::id()));
        fs::create_dir(&at).expect("a directory for the test");
        let file = |rest: &str| format!("{}/{rest}\0", at.display()).into_bytes();
        assert!(is_writable(&file("__pycache__/a/b.pyc")));
        assert_eq!(access(&file("b.pyc"), libc::R_OK), libc::ENOENT);
        assert!(!is_writable(b"/dev/null/b.pyc\0"));
        let long = vec![b'a'; libc::PATH_MAX as usize];
        assert_eq!(access(&long, libc::R_OK), libc::ENAMETOOLONG);
        fs::remove_dir_all(&at).expect("it can be removed");
    }
}
