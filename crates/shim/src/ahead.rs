//! Initializes the driver and creates the primary context of a device in a separate thread
//! while the program imports its modules. This is done for programs that were observed to
//! do the same a little later, with the same device. Their own calls then find both ready.
//!
//! The thread starts together with `main`: before that, the loader is busy. It makes the
//! context current nowhere, and never releases it: releasing it before the program has
//! retained it would destroy it. On any error the thread stops, and the program gets the
//! same error from its own call.
//!
//! A fork waits for the thread, because otherwise the child could find the loader's lock
//! held forever. The end of the program also waits, because the driver must not be shut
//! down during its initialization.

mod request;

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_uint, c_void};
use std::mem::{MaybeUninit, transmute};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::environment::{strings, value};
use crate::recorder::system::{Errno, process_number};
use crate::{files, hooks, loader, restore};
use request::PLAN;

pub(crate) use request::{is_requested, take};

/// The state of the initialization.
static STATE: AtomicU32 = AtomicU32::new(NOT_BEGUN);
const NOT_BEGUN: u32 = 0;
const UNDER_WAY: u32 = 1;
const OVER: u32 = 2;

/// The process of the thread: a forked child has a copy of the state, but not the thread.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// The thread, while it exists.
static THREAD: AtomicUsize = AtomicUsize::new(0);

/// The usual stack size of threads, however small the limit of the program is.
const STACK_BYTES: usize = 8 << 20;

/// The maximum waiting time: a thread that forks or exits while holding the loader's lock
/// would wait for a thread that waits for it.
const MAX_SECONDS: i64 = 20;

/// Starts the planned initialization, once.
pub(crate) fn begin() {
    let begun = STATE.compare_exchange(NOT_BEGUN, UNDER_WAY, Ordering::AcqRel, Ordering::Relaxed);
    if begun.is_err() {
        return;
    }
    let _errno = Errno::keep();
    PROCESS.store(process_number(), Ordering::Relaxed);
    keep();
    restore::wait_at_forks();
    // SAFETY: all pointers refer to memory for what is written, which is initialized before it
    // is read. The thread has no argument.
    unsafe {
        let mut attributes = MaybeUninit::uninit();
        if libc::pthread_attr_init(attributes.as_mut_ptr()) != 0 {
            return over();
        }
        let attributes = attributes.as_mut_ptr();
        libc::pthread_attr_setstacksize(attributes, STACK_BYTES);
        libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED);
        // Signals are for the program's threads. The driver's threads inherit this mask.
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let mut thread = 0;
        let made = libc::pthread_create(&mut thread, attributes, run, null_mut());
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut());
        libc::pthread_attr_destroy(attributes);
        if made != 0 {
            over();
        }
    }
}

/// Starts with the device and driver that Python passes: for a child of a warm parent,
/// which had no request when it started.
pub(crate) fn begin_with(device: u64, driver: &[u8]) {
    if STATE.load(Ordering::Relaxed) == NOT_BEGUN && PLAN.set(device, driver) {
        begin();
    }
}

/// Waits until the thread is done, if there is one.
pub(crate) fn wait() {
    if STATE.load(Ordering::Acquire) != UNDER_WAY
        || PROCESS.load(Ordering::Relaxed) != process_number()
        || is_this_thread()
    {
        return;
    }
    let _errno = Errno::keep();
    let until = monotonic() + MAX_SECONDS;
    while STATE.load(Ordering::Acquire) == UNDER_WAY && monotonic() < until {
        let second = libc::timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        futex(libc::FUTEX_WAIT, UNDER_WAY, &second);
    }
}

/// Returns whether this is the thread; the driver may fork on it.
fn is_this_thread() -> bool {
    // SAFETY: it has no arguments and cannot fail.
    THREAD.load(Ordering::Relaxed) == unsafe { libc::pthread_self() } as usize
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
    // SAFETY: the only memory involved is the name, which the kernel reads.
    unsafe {
        THREAD.store(libc::pthread_self() as usize, Ordering::Relaxed);
        let name = c"preheat-ahead".as_ptr();
        libc::syscall(libc::SYS_prctl, c_long::from(libc::PR_SET_NAME), name);
    }
    initialize();
    THREAD.store(0, Ordering::Relaxed);
    over();
    null_mut()
}

fn over() {
    STATE.store(OVER, Ordering::Release);
    futex(libc::FUTEX_WAKE, i32::MAX as u32, null());
}

type Init = unsafe extern "C" fn(c_uint) -> c_int;
type Get = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
type Retain = unsafe extern "C" fn(*mut usize, c_int) -> c_int;

/// Makes the same calls as the program would. They are recorded like the program's. `None`
/// on errors.
fn initialize() -> Option<()> {
    let (ordinal, driver) = PLAN.get()?;
    // SAFETY: the path is a C string. This calls this library's dlopen, which records.
    let driver = unsafe { libc::dlopen(driver.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if driver.is_null() {
        return None;
    }
    // Before the handlers that the library has registered so far.
    restore::wait_at_end();
    let find = |name: &CStr| {
        let found = loader::real_dlsym(driver, name);
        (!found.is_null()).then(|| hooks::looked_up(name, found))
    };
    let (init, get) = (find(c"cuInit")?, find(c"cuDeviceGet")?);
    let retain = find(c"cuDevicePrimaryCtxRetain")?;
    let (mut device, mut context) = (0, 0);
    // SAFETY: the driver's functions of these names, called as documented; each only after
    // the previous one has succeeded.
    let made = unsafe {
        transmute::<*mut c_void, Init>(init)(0) == 0
            && transmute::<*mut c_void, Get>(get)(&mut device, ordinal) == 0
            && transmute::<*mut c_void, Retain>(retain)(&mut context, device) == 0
    };
    made.then_some(())
}

fn futex(what: c_int, value: u32, time: *const libc::timespec) {
    // SAFETY: the word lives as long as the process, and the time is null or valid.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            STATE.as_ptr(),
            c_long::from(what | libc::FUTEX_PRIVATE_FLAG),
            value,
            time,
        )
    };
}

pub(crate) fn monotonic() -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec
}

// The environment of the driver while it is initialized ahead: that in which the program
// started.
//
// The program may set variables meanwhile; numpy does when it is imported. A C library
// before 2.41 may then free the array while another thread reads it. So the thread gets
// copies, and all others use the real functions.

unsafe extern "C" {
    static environ: *const *mut c_char;
}

static GIVEN: OnceLock<Vec<CString>> = OnceLock::new();

/// Copies the environment permanently: the driver may keep pointers to it.
fn keep() {
    GIVEN.get_or_init(|| {
        // SAFETY: the array of the process, before the threads of the program exist.
        let texts = unsafe { strings(environ) };
        texts.filter_map(|text| CString::new(text).ok()).collect()
    });
}

fn given(name: &[u8]) -> *mut c_char {
    let Ok(name) = std::str::from_utf8(name) else {
        return null_mut();
    };
    let found = GIVEN.get().into_iter().flatten().find_map(|text| {
        let value = value(text.to_bytes_with_nul(), name)?;
        Some(value.as_ptr().cast_mut().cast())
    });
    found.unwrap_or(null_mut())
}

static GETENV: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static SECURE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Looks up the real functions.
pub(crate) fn prepare() {
    files::real_function(&GETENV, c"getenv");
    files::real_function(&SECURE, c"secure_getenv");
}

/// # Safety
/// `name` must be a C string, and `real` hold null or the real function.
unsafe fn get(real: &AtomicPtr<c_void>, name: *const c_char) -> *mut c_char {
    type Get = unsafe extern "C" fn(*const c_char) -> *mut c_char;
    // SAFETY: guaranteed by the caller. Before the constructor nothing is looked up, since
    // the caller may be a memory allocator during its initialization; there are no threads
    // yet.
    unsafe {
        if is_this_thread() {
            return given(CStr::from_ptr(name).to_bytes());
        }
        let real = real.load(Ordering::Relaxed);
        if !real.is_null() {
            return transmute::<*mut c_void, Get>(real)(name);
        }
        let name = CStr::from_ptr(name).to_bytes();
        let found = strings(environ).find_map(|text| text.strip_prefix(name)?.strip_prefix(b"="));
        found.map_or(null_mut(), |value| value.as_ptr().cast_mut().cast())
    }
}

/// The program's `getenv`.
///
/// # Safety
/// Same as the C library's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn getenv(name: *const c_char) -> *mut c_char {
    // SAFETY: the caller's own argument.
    unsafe { get(&GETENV, name) }
}

/// The program's `secure_getenv`. In programs in which it differs, this library is not
/// loaded.
///
/// # Safety
/// Same as the C library's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn secure_getenv(name: *const c_char) -> *mut c_char {
    // SAFETY: the caller's own argument.
    unsafe { get(&SECURE, name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_variable_is_found_by_its_full_name() {
        keep();
        let (name, value) = std::env::vars()
            .next()
            .expect("the environment is not empty");
        let found = given(name.as_bytes());
        assert!(!found.is_null(), "{name}");
        // SAFETY: a text that is never freed.
        let found = unsafe { CStr::from_ptr(found) };
        assert_eq!(found.to_bytes(), value.as_bytes());
        assert!(given(b"PREHEAT_NO_SUCH_VARIABLE").is_null());
        // SAFETY: names that end with a NUL.
        unsafe {
            let name = CString::new(name).expect("a name");
            let found = getenv(name.as_ptr());
            assert_eq!(CStr::from_ptr(found).to_bytes(), value.as_bytes());
            assert!(secure_getenv(c"PREHEAT_NO_SUCH_VARIABLE".as_ptr()).is_null());
        }
    }
}
