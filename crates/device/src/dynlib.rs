//! Libraries that are found at run time: `dlopen` and `dlsym`, and nothing else.
//!
//! Binding our own few functions, rather than all of a vendor's through a binding
//! crate, needs no vendor headers at build time, lets loading be timed apart from
//! initialisation, and tolerates a driver that is too old to have one of them.
//! What the functions do and whether they are used rightly is their caller's.

use std::env;
use std::ffi::{CStr, CString, c_void};
use std::fs;
use std::path::Path;

/// A loaded library.
///
/// It is never closed: drivers start threads and register exit handlers whose
/// code would be unmapped under them, and function pointers taken from the
/// library are copied freely and must stay valid.
#[derive(Debug)]
pub(crate) struct Library {
    handle: *mut c_void,
}

impl Library {
    /// Load the first of `names` that can be loaded; else what the loader said
    /// of the first, which is the name that a person would expect.
    pub fn open<N: AsRef<str>>(names: &[N]) -> Result<Library, String> {
        let mut first_answer = None;
        for name in names {
            let Ok(name) = CString::new(name.as_ref()) else {
                continue;
            };
            // SAFETY: the name is a NUL-terminated string. Loading runs the
            // library's constructors, which is what the caller asks for.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            if !handle.is_null() {
                return Ok(Library { handle });
            }
            let answer = last_error();
            first_answer.get_or_insert(answer);
        }
        Err(first_answer.unwrap_or_else(|| "no name to load was given".to_owned()))
    }

    /// The function of that name, if the library has it.
    ///
    /// # Safety
    /// `F` must be the function pointer type of that symbol.
    pub unsafe fn symbol<F: Copy>(&self, name: &str) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let name = CString::new(name).ok()?;
        // SAFETY: the handle is of an open library, the name is NUL-terminated.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        if address.is_null() {
            return None;
        }
        // SAFETY: F has a pointer's size (asserted above), the address is not
        // null, and the caller vouches that it is a function of type F.
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

/// A table of functions of one library, bound by name in one go.
///
/// Each line is `field = "symbol" (argument: type, …) -> type;`. The symbols under
/// `required` must be there; those under `optional` become `Option`s.
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
            /// Bind all functions, or name the required one that is missing.
            ///
            /// # Safety
            /// The library must be the one whose headers declare these functions.
            pub unsafe fn bind(library: &$crate::dynlib::Library) -> Result<$table, &'static str> {
                // SAFETY: the types are those of the header, as the caller vouches.
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

/// Where distributions, containers and WSL put vendors' libraries, beyond the
/// places that the loader knows.
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

/// The names under which to open a library: first the bare ones, for the loader to
/// find in its own way, then those in well-known directories where it exists.
pub(crate) fn candidates(names: &[&str]) -> Vec<String> {
    let bare = names.iter().map(|&name| name.to_owned());
    let placed = DIRECTORIES
        .iter()
        .flat_map(|directory| names.iter().map(move |name| format!("{directory}/{name}")))
        .filter(|path| Path::new(path).exists());
    bare.chain(placed).collect()
}

/// Whether one of these libraries seems to be on this machine, without loading it:
/// loading is a step to be timed later. In doubt the answer is yes.
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
            Ok(cache) => names.iter().any(|name| holds_name(&cache, name)),
            Err(_) => true,
        }
}

/// Whether the loader's cache, a table of NUL-terminated strings among other
/// things, has this very name in it.
fn holds_name(cache: &[u8], name: &str) -> bool {
    let needle = [name.as_bytes(), b"\0"].concat();
    cache.windows(needle.len()).any(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_a_sentence() {
        let answer = Library::open(&["libpreheat-nowhere.so.1"]).expect_err("nobody has it");
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
        // SAFETY: abs takes any int but the smallest.
        assert_eq!(unsafe { abs(-3) }, 3);
        // SAFETY: there is no such symbol, so its type does not matter.
        assert!(unsafe { library.symbol::<Abs>("preheat_nowhere") }.is_none());
    }

    #[test]
    fn the_loaders_cache_is_searched_for_whole_names() {
        let cache = b"ld.so\0libcuda.so.1\0libcudart.so.11.0\0";
        assert!(holds_name(cache, "libcuda.so.1"));
        assert!(!holds_name(cache, "libcuda.so"));
        assert!(!holds_name(cache, "libcudart.so.11"));
        assert!(is_present(&["libc.so.6"]));
    }
}
