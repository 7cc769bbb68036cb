//! Libraries loaded at run time, with `dlopen` and `dlsym`.
//!
//! We bind the few functions we need instead of using a complete binding crate: this needs
//! no vendor headers at build time, allows loading to be timed separately from
//! initialization, and tolerates drivers that lack some of the functions. `libloading` would
//! replace only two calls, not the search for a library or the tables of functions. Callers
//! are responsible for using the functions correctly.

use std::env;
use std::ffi::{CStr, CString, c_void};
use std::fs;
use std::path::Path;

/// A loaded library.
///
/// It is never closed: drivers start threads and register exit handlers whose code would be
/// unmapped, and function pointers from the library are copied freely and must stay valid.
#[derive(Debug)]
pub(crate) struct Library {
    handle: *mut c_void,
}

impl Library {
    /// Loads the first of `names` that can be loaded; otherwise returns the loader's error
    /// for the first one, which is the name that users expect.
    pub fn open<N: AsRef<str>>(names: &[N]) -> Result<Library, String> {
        let mut first_answer = None;
        for name in names {
            let Ok(name) = CString::new(name.as_ref()) else {
                continue;
            };
            // SAFETY: the name is a NUL-terminated string. Loading runs the library's
            // constructors, as the caller intends.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            if !handle.is_null() {
                return Ok(Library { handle });
            }
            let answer = last_error();
            first_answer.get_or_insert(answer);
        }
        Err(first_answer.unwrap_or_else(|| "no name to load was given".to_owned()))
    }

    /// Looks up a function by name.
    ///
    /// # Safety
    /// `F` must be the function pointer type of that symbol.
    pub unsafe fn symbol<F: Copy>(&self, name: &str) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let name = CString::new(name).ok()?;
        // SAFETY: the library is open and the name NUL-terminated.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        if address.is_null() {
            return None;
        }
        // SAFETY: F has the size of a pointer (asserted above), the address is not null,
        // and the caller guarantees that it is a function of type F.
        Some(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) })
    }
}

fn last_error() -> String {
    // SAFETY: dlerror returns null or a NUL-terminated string that stays valid
    // until this thread's next dl call; it is copied before that.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            "the loader gave no reason".to_owned()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}

/// A table of functions of one library, bound by name.
///
/// Each line is `field = "symbol" (argument: type, …) -> type;`. `required` symbols must
/// exist; `optional` ones become `Option`s.
macro_rules! functions {
    (
        $(#[$meta:meta])*
        struct $table:ident {
            required { $($field:ident = $symbol:literal
                ($($argument:ident: $type:ty),* $(,)?) -> $answer:ty;)* }
            optional { $($maybe:ident = $maybe_symbol:literal
                ($($maybe_argument:ident: $maybe_type:ty),* $(,)?) -> $maybe_answer:ty;)* }
        }
    ) => {
        $(#[$meta])*
        pub(crate) struct $table {
            $(pub $field: unsafe extern "C" fn($($argument: $type),*) -> $answer,)*
            $(pub $maybe:
                Option<unsafe extern "C" fn($($maybe_argument: $maybe_type),*) -> $maybe_answer>,)*
        }

        impl $table {
            /// Binds all functions, or returns the name of a missing required one.
            ///
            /// # Safety
            /// The library must be the one whose headers declare these functions.
            pub unsafe fn bind(library: &$crate::dynlib::Library) -> Result<$table, &'static str> {
                // SAFETY: the caller guarantees that the types match the header.
                unsafe {
                    Ok($table {
                        $($field: library.symbol($symbol).ok_or($symbol)?,)*
                        $($maybe: library.symbol($maybe_symbol),)*
                    })
                }
            }
        }
    };
}
pub(crate) use functions;

/// Directories where distributions, containers and WSL install vendor libraries, in
/// addition to those the loader searches.
const DIRECTORIES: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/cuda/compat",
    "/run/opengl-driver/lib",
];

/// Names under which to open a library: first the bare names, for the loader's normal
/// search, then existing files in well-known directories.
pub(crate) fn candidates(names: &[&str]) -> Vec<String> {
    let bare = names.iter().map(|&name| name.to_owned());
    let located = DIRECTORIES
        .iter()
        .flat_map(|directory| names.iter().map(move |name| format!("{directory}/{name}")))
        .filter(|path| Path::new(path).exists());
    bare.chain(located).collect()
}

/// Returns true if one of these libraries seems to be installed, without loading it:
/// loading is timed later. Also true if in doubt.
pub(crate) fn is_present(names: &[&str]) -> bool {
    let in_path = env::var("LD_LIBRARY_PATH").is_ok_and(|path| {
        path.split(':')
            .filter(|directory| !directory.is_empty())
            .any(|directory| {
                names
                    .iter()
                    .any(|name| Path::new(directory).join(name).exists())
            })
    });
    in_path
        || candidates(names).len() > names.len()
        || match fs::read("/etc/ld.so.cache") {
            Ok(cache) => names.iter().any(|name| contains_name(&cache, name)),
            Err(_) => true,
        }
}

/// Returns true if the loader's cache, which contains NUL-terminated strings, has exactly
/// this name.
fn contains_name(cache: &[u8], name: &str) -> bool {
    let needle = [name.as_bytes(), b"\0"].concat();
    cache.windows(needle.len()).any(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_an_error_with_its_name() {
        let answer = Library::open(&["libpreheat-nowhere.so.1"]).expect_err("it does not exist");
        assert!(answer.contains("libpreheat-nowhere.so.1"), "{answer}");
        assert!(Library::open::<&str>(&[]).is_err());
        assert!(Library::open(&["a\0b"]).is_err());
    }

    #[test]
    fn symbols_of_the_c_library_are_found() {
        let library = Library::open(&["libpreheat-nowhere.so.1", "libc.so.6"]).expect("libc");
        type Abs = unsafe extern "C" fn(i32) -> i32;
        // SAFETY: this is the type of abs.
        let abs = unsafe { library.symbol::<Abs>("abs") }.expect("libc has abs");
        // SAFETY: abs accepts any int but the smallest.
        assert_eq!(unsafe { abs(-3) }, 3);
        // SAFETY: the symbol does not exist, so its type does not matter.
        assert!(unsafe { library.symbol::<Abs>("preheat_nowhere") }.is_none());
    }

    #[test]
    fn the_loader_cache_is_searched_for_whole_names() {
        let cache = b"ld.so\0libcuda.so.1\0libcudart.so.11.0\0";
        assert!(contains_name(cache, "libcuda.so.1"));
        assert!(!contains_name(cache, "libcuda.so"));
        assert!(!contains_name(cache, "libcudart.so.11"));
        assert!(is_present(&["libc.so.6"]));
    }
}
