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

mod given;
mod request;

pub(crate) use given::prepare;
pub(crate) use request::{is_requested, take};

use crate::recorder::system::{Errno, process_number};
use crate::{background, hooks, loader};
use request::PLAN;
use std::ffi::{CStr, c_int, c_long, c_uint, c_void};
use std::mem::{MaybeUninit, transmute};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

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
const LONGEST_SECONDS: i64 = 20;

/// Starts the planned initialization, once.
pub(crate) fn begin() {
    let begun = STATE.compare_exchange(NOT_BEGUN, UNDER_WAY, Ordering::AcqRel, Ordering::Relaxed);
    if begun.is_err() {
        return;
    }
    let _errno = Errno::keep();
    PROCESS.store(process_number(), Ordering::Relaxed);
    given::keep();
    background::wait_at_forks();
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
    let until = monotonic() + LONGEST_SECONDS;
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
    background::wait_at_end();
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
