//! Records files that are opened for reading, each path once.
//!
//! Only calls by the program and its libraries are hooked, not those inside the C library
//! (loaded libraries are recorded separately). The constructor looks up the real functions;
//! a call before that, for example by a memory allocator during its initialization, goes
//! directly to the kernel without a lookup.

use crate::loader;
use crate::recorder::{self, system::Errno};
use preheat_wire::{Event, Kind};
use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The real function, looked up once.
pub(crate) fn real_function(place: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let mut real = place.load(Ordering::Relaxed);
    if real.is_null() {
        real = loader::next(name);
        place.store(real, Ordering::Relaxed);
    }
    real
}

static OPEN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static OPEN64: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static OPENAT: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static OPENAT64: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static FOPEN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static FOPEN64: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static OPEN_2: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static OPEN64_2: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Looks up the real functions.
pub(crate) fn prepare() {
    real_function(&OPEN, c"open");
    real_function(&OPEN64, c"open64");
    real_function(&OPENAT, c"openat");
    real_function(&OPENAT64, c"openat64");
    real_function(&FOPEN, c"fopen");
    real_function(&FOPEN64, c"fopen64");
    real_function(&OPEN_2, c"__open_2");
    real_function(&OPEN64_2, c"__open64_2");
}

type Open = unsafe extern "C" fn(*const c_char, c_int, ...) -> c_int;
type Openat = unsafe extern "C" fn(c_int, *const c_char, c_int, ...) -> c_int;
type Open2 = unsafe extern "C" fn(*const c_char, c_int) -> c_int;
type Fopen = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut libc::FILE;

fn by_kernel(directory: c_int, path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the program's own arguments, which the kernel checks.
    (unsafe {
        libc::syscall(
            libc::SYS_openat,
            c_long::from(directory),
            path,
            c_long::from(flags),
            c_long::from(mode),
        )
    }) as c_int
}

/// # Safety
/// Same as `open`; `real` must be null or the real function.
unsafe fn open_by(
    real: *mut c_void,
    path: *const c_char,
    flags: c_int,
    mode: libc::mode_t,
) -> c_int {
    let fd = if real.is_null() {
        by_kernel(libc::AT_FDCWD, path, flags, mode)
    } else {
        // SAFETY: the real open with the program's own arguments. If the program passed no
        // mode, the real function does not read it.
        unsafe { transmute::<*mut c_void, Open>(real)(path, flags, mode) }
    };
    opened(path, flags, fd);
    fd
}

/// # Safety
/// Same as `openat`; `real` must be null or the real function.
unsafe fn openat_by(
    real: *mut c_void,
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mode: libc::mode_t,
) -> c_int {
    let fd = if real.is_null() {
        by_kernel(directory, path, flags, mode)
    } else {
        // SAFETY: same as above.
        unsafe { transmute::<*mut c_void, Openat>(real)(directory, path, flags, mode) }
    };
    opened(path, flags, fd);
    fd
}

/// # Safety
/// Same as `fopen`; `place` must be that of the real function.
unsafe fn fopen_by(
    place: &AtomicPtr<c_void>,
    name: &CStr,
    path: *const c_char,
    mode: *const c_char,
) -> *mut libc::FILE {
    let real = real_function(place, name);
    if real.is_null() {
        return null_mut();
    }
    // SAFETY: the real fopen with the program's own arguments.
    let stream = unsafe { transmute::<*mut c_void, Fopen>(real)(path, mode) };
    if !stream.is_null() {
        // SAFETY: a mode that the real function accepted is a C string, and the stream is
        // the one that it just created.
        let (mode, fd) = unsafe { (CStr::from_ptr(mode).to_bytes(), libc::fileno(stream)) };
        if mode.first() == Some(&b'r') && !mode.contains(&b'+') {
            opened(path, libc::O_RDONLY, fd);
        }
    }
    stream
}

macro_rules! exported {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty = $body:expr;)*) => {$(
        /// The program's function of this name.
        ///
        /// # Safety
        /// Same as the C library's.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the program's own arguments go to the real function.
            unsafe { $body }
        }
    )*};
}

// On the supported architectures, a variadic function gets its third word in the same
// register as any other function; if the program passed none, nothing reads it.
exported! {
    open(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int =
        open_by(OPEN.load(Ordering::Relaxed), path, flags, mode);
    open64(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int =
        open_by(OPEN64.load(Ordering::Relaxed), path, flags, mode);
    openat(directory: c_int, path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int =
        openat_by(OPENAT.load(Ordering::Relaxed), directory, path, flags, mode);
    openat64(directory: c_int, path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int =
        openat_by(OPENAT64.load(Ordering::Relaxed), directory, path, flags, mode);
    __open_2(path: *const c_char, flags: c_int) -> c_int =
        open_2_by(&OPEN_2, c"__open_2", path, flags);
    __open64_2(path: *const c_char, flags: c_int) -> c_int =
        open_2_by(&OPEN64_2, c"__open64_2", path, flags);
    fopen(path: *const c_char, mode: *const c_char) -> *mut libc::FILE =
        fopen_by(&FOPEN, c"fopen", path, mode);
    fopen64(path: *const c_char, mode: *const c_char) -> *mut libc::FILE =
        fopen_by(&FOPEN64, c"fopen64", path, mode);
}

/// The variants in programs with fortified calls.
///
/// # Safety
/// Same as `open`; `place` must be that of the real function.
unsafe fn open_2_by(
    place: &AtomicPtr<c_void>,
    name: &CStr,
    path: *const c_char,
    flags: c_int,
) -> c_int {
    let real = real_function(place, name);
    let fd = if real.is_null() {
        by_kernel(libc::AT_FDCWD, path, flags, 0)
    } else {
        // SAFETY: the real function with the program's own arguments.
        unsafe { transmute::<*mut c_void, Open2>(real)(path, flags) }
    };
    opened(path, flags, fd);
    fd
}

/// Records the path, if it is a file that the program reads.
fn opened(path: *const c_char, flags: c_int, fd: c_int) {
    const OTHER: c_int = libc::O_CREAT | libc::O_DIRECTORY | libc::O_PATH;
    if recorder::is_confined()
        || fd < 0
        || flags & libc::O_ACCMODE != libc::O_RDONLY
        || flags & OTHER != 0
    {
        return;
    }
    // SAFETY: the kernel has just read this C string.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    if !is_interesting(path) || !recorder::first_time(Event::File, path) {
        return;
    }
    let _errno = Errno::keep();
    if !is_regular(fd) {
        return;
    }
    if path.first() == Some(&b'/') {
        record(path);
    } else {
        opened_here(fd);
    }
}

/// A separate function, because some callers have little stack space, and few paths are
/// relative.
#[cold]
#[inline(never)]
fn opened_here(fd: c_int) {
    let mut whole = [0u8; 1024];
    came_from(path_of(fd, &mut whole));
}

fn record(path: &[u8]) {
    recorder::instant(Kind::Event, Event::File as u16, 0, 0, None, path);
}

/// Records that this file was read, for example as the source of a Python module.
pub(crate) fn came_from(path: &[u8]) {
    if path.first() == Some(&b'/') && recorder::first_time(Event::File, path) {
        record(path);
    }
}

fn is_interesting(path: &[u8]) -> bool {
    ![b"/proc/".as_slice(), b"/sys/", b"/dev/"]
        .iter()
        .any(|begin| path.starts_with(begin))
}

#[inline(never)]
fn is_regular(fd: c_int) -> bool {
    // SAFETY: stat contains only numbers, for which zero is valid.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one stat.
    let asked = unsafe { libc::syscall(libc::SYS_fstat, c_long::from(fd), &raw mut status) };
    asked == 0 && status.st_mode & libc::S_IFMT == libc::S_IFREG
}

/// The absolute path of an open file.
fn path_of(fd: c_int, place: &mut [u8]) -> &[u8] {
    if fd < 0 {
        return &[];
    }
    let mut link = *b"/proc/self/fd/0000000000\0";
    let (mut number, digits) = (fd, 14..24);
    for at in digits.rev() {
        if let Some(digit) = link.get_mut(at) {
            *digit = b'0' + (number % 10) as u8;
        }
        number /= 10;
    }
    // The kernel accepts no leading zeros.
    let zeros = link
        .iter()
        .skip(14)
        .take(9)
        .take_while(|&&digit| digit == b'0')
        .count();
    link.copy_within(14 + zeros.., 14);
    // SAFETY: the link is a C string, and the kernel writes at most the length of the
    // buffer.
    let length = unsafe {
        libc::syscall(
            libc::SYS_readlinkat,
            libc::AT_FDCWD,
            link.as_ptr(),
            place.as_mut_ptr(),
            place.len(),
        )
    };
    let length = usize::try_from(length).unwrap_or(0);
    place.get(..length).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn an_open_file_has_a_path() {
        let path = std::env::current_exe().unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let mut place = [0; 1024];
        let found = path_of(file.as_raw_fd(), &mut place);
        assert_eq!(
            found,
            path.canonicalize().unwrap().as_os_str().as_encoded_bytes()
        );
        assert!(is_regular(file.as_raw_fd()));
        assert!(path_of(-1, &mut place).is_empty());
    }

    #[test]
    fn devices_are_not_recorded_as_files() {
        assert!(!is_interesting(b"/proc/self/maps"));
        assert!(!is_interesting(b"/dev/nvidia0"));
        assert!(is_interesting(b"/device"));
        assert!(is_interesting(b"data.bin"));
    }
}
