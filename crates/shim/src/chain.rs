//! Recognizes the Python that a command becomes through a chain of `exec`: version manager
//! shims, `env`, `nice`, `uv run`, shell scripts.
//!
//! `preheat start` cannot know in advance which Python such a command becomes, so it
//! preloads this library into the chain. Programs in the chain pass it on. A Python removes
//! it from its environment before its first line runs and, if it is the process that was
//! `preheat start`, executes `preheat start` again. (`uv` and `timeout` run a program as
//! their child instead of becoming it, so their child counts as well.) That process has
//! everything that the chain has set: variables, priority, limits, directory, ignored
//! signals, its pid. Nothing of the Python has run by then. If the client cannot be
//! executed, the process simply continues as the Python that it is.

use crate::environment::{place, remove, variable};
use crate::recorder::system::process_number;
use preheat_wire::variables;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::ptr::{null, null_mut};

/// The maximum length of a path.
const MAX_PATH: usize = 4096;

/// The request in the environment.
#[derive(Debug, PartialEq, Eq)]
struct Chain<'a> {
    /// The process that was `preheat start` when the chain began.
    process: u32,
    /// This library, as `LD_PRELOAD` names it.
    shim: &'a [u8],
    /// The program to execute, and its arguments before those of the Python.
    client: &'a [u8],
}

fn parse(value: &[u8]) -> Option<Chain<'_>> {
    let mut parts = value.splitn(3, |&byte| byte == b'\n');
    Some(Chain {
        process: std::str::from_utf8(parts.next()?).ok()?.parse().ok()?,
        shim: parts.next()?,
        client: parts.next()?,
    })
}

/// Removes the request from the environment if this process is a Python, and becomes the
/// client if it is the intended process. Otherwise it does nothing.
///
/// # Safety
/// `arguments` must be the `count` arguments of this process and `environment` its array,
/// which nothing else has read yet.
pub(crate) unsafe fn follow(
    count: c_int,
    arguments: *const *const c_char,
    environment: *mut *mut c_char,
) {
    // SAFETY: guaranteed by the caller. The text of the request stays in memory when it is
    // removed from the array.
    unsafe {
        let Some(chain) = variable(environment, variables::CHAIN).and_then(parse) else {
            return;
        };
        if !is_python() {
            return;
        }
        if let Some(at) = place(environment, variables::CHAIN) {
            remove(at);
        }
        if let Some(at) = place(environment, "LD_PRELOAD") {
            leave(at, chain.shim);
        }
        let is_meant = chain.process == process_number()
            || chain.process == libc::getppid() as u32 && runs_one_child(chain.process);
        if let (true, Ok(count)) = (is_meant, usize::try_from(count)) {
            become_client(chain.client, count, arguments, environment);
        }
    }
}

/// Programs that run one other program as their child and wait for it.
const LAUNCHERS: [&[u8]; 3] = [b"uv", b"uvx", b"timeout"];

/// Returns whether a process is such a program.
fn runs_one_child(process: u32) -> bool {
    let mut path = *b"/proc/0000000000/exe\0";
    let mut rest = process;
    // Leading zeros are not accepted there, but slashes are.
    for digit in path[6..16].iter_mut().rev() {
        *digit = match rest {
            0 => b'/',
            _ => b'0' + (rest % 10) as u8,
        };
        rest /= 10;
    }
    CStr::from_bytes_with_nul(&path)
        .is_ok_and(|path| executable(path, |name| LAUNCHERS.contains(&base(name))))
}

/// Returns whether this process runs a Python, according to the name of its executable.
fn is_python() -> bool {
    executable(c"/proc/self/exe", names_python)
}

/// Returns whether the path that a link refers to is accepted.
fn executable(link: &CStr, accepts: impl FnOnce(&[u8]) -> bool) -> bool {
    let mut room = [0u8; MAX_PATH];
    // SAFETY: the kernel writes at most the length of the buffer.
    let length = unsafe {
        libc::syscall(
            libc::SYS_readlinkat,
            c_long::from(libc::AT_FDCWD),
            link.as_ptr(),
            room.as_mut_ptr(),
            room.len(),
        )
    };
    let path = usize::try_from(length)
        .ok()
        .and_then(|length| room.get(..length));
    path.is_some_and(accepts)
}

/// The last component of a path.
fn base(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

/// The same criterion as in `preheat start`.
fn names_python(path: &[u8]) -> bool {
    let version = base(path).strip_prefix(b"python");
    version.is_some_and(|version| {
        let mut bytes = version.iter();
        bytes.all(|byte| byte.is_ascii_digit() || *byte == b'.')
    })
}

/// Removes a library from a list, at any position, together with the separator after it, or
/// before it if it is the last. Removes the variable if the list becomes empty.
///
/// # Safety
/// Same as `environment::remove`; the text must be writable.
unsafe fn leave(at: *mut *mut c_char, shim: &[u8]) {
    // SAFETY: the variable has a name and a value; the moved bytes are within its text,
    // which gets shorter.
    unsafe {
        let whole = CStr::from_ptr(*at).to_bytes_with_nul();
        let is_end = |byte: &u8| matches!(byte, b'=' | b':' | b' ' | 0);
        let found = (1..whole.len()).find(|&begin| {
            let ends = whole.get(begin + shim.len()).is_some_and(is_end);
            ends && is_end(&whole[begin - 1]) && whole[begin..].starts_with(shim)
        });
        let Some(begin) = found.filter(|_| !shim.is_empty()) else {
            return;
        };
        let (before, after) = (whole[begin - 1], whole[begin + shim.len()]);
        match (before, after) {
            (b'=', 0) => remove(at),
            // The NUL moves as well.
            (_, 0) => cut(*at, whole, begin - 1, begin + shim.len()),
            _ => cut(*at, whole, begin, begin + shim.len() + 1),
        }
    }
}

/// Removes bytes from a text.
///
/// # Safety
/// `text` must be the memory of `whole`, and writable.
unsafe fn cut(text: *mut c_char, whole: &[u8], from: usize, to: usize) {
    let rest = &whole[to..];
    // SAFETY: both ranges are within the text, which ends with the rest.
    unsafe {
        text.cast::<u8>()
            .add(from)
            .copy_from(rest.as_ptr(), rest.len())
    };
}

/// Executes the client for this Python: the client's arguments, one per line, then the path
/// that the kernel executed, and the arguments of the Python. Returns if that fails.
///
/// # Safety
/// Same as [`follow`].
unsafe fn become_client(
    client: &[u8],
    count: usize,
    arguments: *const *const c_char,
    environment: *mut *mut c_char,
) {
    const REACHED: &CStr = c"--reached";
    const END: &CStr = c"--";
    // SAFETY: the auxiliary vector exists from the beginning; its texts live as long as the
    // process.
    let executed = unsafe { libc::getauxval(libc::AT_EXECFN) } as *const c_char;
    if executed.is_null() || count == 0 {
        return;
    }
    let words = client.split(|&byte| byte == b'\n').count();
    let pointers = (words + count + 4) * size_of::<*const c_char>();
    let length = pointers + client.len() + 1;
    // SAFETY: the kernel provides memory of this length, aligned to a page: first the
    // array, with space for all arguments and a null, then a copy of the client's
    // arguments. The process becomes another program, or keeps these few pages.
    unsafe {
        let (how, map) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        let room = libc::mmap(null_mut::<c_void>(), length, how, map, -1, 0);
        if room == libc::MAP_FAILED {
            return;
        }
        let (array, text) = (
            room.cast::<*const c_char>(),
            room.cast::<u8>().add(pointers),
        );
        text.copy_from(client.as_ptr(), client.len());
        let mut next = 0;
        let mut put = |word: *const c_char| {
            array.add(next).write(word);
            next += 1;
        };
        put(text.cast());
        for (at, _) in client
            .iter()
            .enumerate()
            .filter(|&(_, &byte)| byte == b'\n')
        {
            text.add(at).write(0);
            put(text.add(at + 1).cast());
        }
        put(REACHED.as_ptr());
        put(executed);
        put(END.as_ptr());
        for index in 0..count {
            put(*arguments.add(index));
        }
        put(null());
        libc::syscall(libc::SYS_execve, text, array, environment);
        libc::munmap(room, length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::strings;
    use std::ffi::CString;

    #[test]
    fn only_a_complete_request_is_understood() {
        let chain = Chain {
            process: 7,
            shim: b"/shim",
            client: b"/preheat\nstart\n-v",
        };
        assert_eq!(parse(b"7\n/shim\n/preheat\nstart\n-v"), Some(chain));
        for text in ["", "7", "x\n/shim\n/preheat", "7\n/shim"] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn pythons_are_recognized_by_name() {
        for path in ["/usr/bin/python3.11", "/opt/python", "python3"] {
            assert!(names_python(path.as_bytes()), "{path}");
        }
        for path in ["/bin/bash", "/usr/bin/python3-config", "/python3/uv", ""] {
            assert!(!names_python(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn a_process_is_recognized_by_its_executable() {
        let this = std::env::current_exe().unwrap();
        let this = this.as_os_str().as_encoded_bytes().to_vec();
        assert!(executable(c"/proc/self/exe", |path| path == this));
        assert!(!runs_one_child(process_number()) && !runs_one_child(0));
    }

    #[test]
    fn the_library_is_removed_from_any_position() {
        let left = |value: &str| {
            // Leaked: freeing it would use its length, which changes.
            let text = CString::new(format!("LD_PRELOAD={value}")).unwrap();
            let mut array = [text.into_raw(), null_mut()];
            // SAFETY: an array of one C string, which may be written to, and a null.
            unsafe {
                leave(array.as_mut_ptr(), b"/s.so");
                let mut texts = strings(array.as_ptr());
                texts
                    .next()
                    .map(|text| String::from_utf8_lossy(text).into_owned())
            }
        };
        assert_eq!(left("/s.so"), None);
        for (value, expected) in [
            ("/s.so:", ""),
            ("/s.so:/a.so b.so", "/a.so b.so"),
            ("/a.so:/s.so", "/a.so"),
            ("/a.so /s.so b.so", "/a.so b.so"),
            ("/a/s.so:/s.so.1", "/a/s.so:/s.so.1"),
        ] {
            let expected = format!("LD_PRELOAD={expected}");
            assert_eq!(left(value).as_deref(), Some(&expected[..]), "{value}");
        }
    }
}
