//! Initializes the driver and makes a device's primary context in a thread of its own,
//! while the program imports: for a program that was seen to do just that itself, a
//! little later, with the same device. Its own calls then find both made.
//!
//! The thread begins when `main` does: before that the loader is under way. It makes the
//! context current nowhere, and keeps it: whoever gave it back before the program has
//! taken it would destroy it. When anything fails it stops, and the program meets the
//! same failure by itself.
//!
//! A fork waits for the thread, because a child would find the loader's lock held for
//! ever; and so does the end of the program, because the driver must not be taken down
//! while it comes up.

mod asked;
mod given;

pub(crate) use asked::{is_asked, take};
pub(crate) use given::prepare;

use crate::recorder::system::{Errno, process_number};
use crate::{hooks, loader, start};
use asked::PLAN;
use std::ffi::{CStr, c_int, c_long, c_uint, c_void};
use std::mem::{MaybeUninit, transmute};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// What comes of it.
static STATE: AtomicU32 = AtomicU32::new(NOT_BEGUN);
const NOT_BEGUN: u32 = 0;
const UNDER_WAY: u32 = 1;
const OVER: u32 = 2;

/// The process that the thread is one of: a forked child has a copy of the state, and no
/// such thread.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// The thread, while it is there.
static THREAD: AtomicUsize = AtomicUsize::new(0);

/// The driver has the stack that threads usually have, however little the program's limit
/// leaves for others.
const STACK_BYTES: usize = 8 << 20;

/// Nobody waits longer than that: who forks or ends within the loader's lock would wait
/// for a thread that waits for it.
const LONGEST_SECONDS: i64 = 20;

/// Begins with what was asked for; the first time only.
pub(crate) fn begin() {
    let begun = STATE.compare_exchange(NOT_BEGUN, UNDER_WAY, Ordering::AcqRel, Ordering::Relaxed);
    if begun.is_err() {
        return;
    }
    let _errno = Errno::keep();
    PROCESS.store(process_number(), Ordering::Relaxed);
    given::keep();
    // SAFETY: the functions live as long as the process; all else is given room for what
    // is written, and initialized before it is read. The thread takes nothing.
    unsafe {
        libc::pthread_atfork(Some(before_fork), None, None);
        let mut attributes = MaybeUninit::uninit();
        if libc::pthread_attr_init(attributes.as_mut_ptr()) != 0 {
            return over();
        }
        let attributes = attributes.as_mut_ptr();
        libc::pthread_attr_setstacksize(attributes, STACK_BYTES);
        libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED);
        // Signals are for the program's threads. The driver's own inherit this.
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

/// Begins with this device and driver, which Python's side names: in a child of a warm
/// parent, which was not asked for anything when it began.
pub(crate) fn begin_with(device: u64, driver: &[u8]) {
    if STATE.load(Ordering::Relaxed) == NOT_BEGUN && PLAN.set(device, driver) {
        begin();
    }
}

/// Waits until the thread is done, where there is one.
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

/// Whether this is the thread; its process may fork, for the driver does.
fn is_this_thread() -> bool {
    // SAFETY: it takes nothing and cannot fail.
    THREAD.load(Ordering::Relaxed) == unsafe { libc::pthread_self() } as usize
}

unsafe extern "C" fn before_fork() {
    wait();
}

unsafe extern "C" fn before_exit(_: *mut c_void) {
    wait();
}

/// For an interpreter that ends.
pub(crate) extern "C" fn wait_at_exit() {
    wait();
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
    // SAFETY: no memory is involved but the name, which the kernel reads.
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

/// As the program will do it: the calls are recorded like its own. Nothing where it fails.
fn initialize() -> Option<()> {
    let (ordinal, driver) = PLAN.get()?;
    // SAFETY: the path is a C string. It is this library's own dlopen, which records.
    let driver = unsafe { libc::dlopen(driver.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if driver.is_null() {
        return None;
    }
    // Runs before what the library itself has registered by now.
    // SAFETY: the function lives as long as the process.
    unsafe { start::__cxa_atexit(before_exit, null_mut(), null_mut()) };
    let find = |name: &CStr| {
        let found = loader::real_dlsym(driver, name);
        (!found.is_null()).then(|| hooks::looked_up(name, found))
    };
    let (init, get) = (find(c"cuInit")?, find(c"cuDeviceGet")?);
    let retain = find(c"cuDevicePrimaryCtxRetain")?;
    let (mut device, mut context) = (0, 0);
    // SAFETY: the driver's functions of these names, with what its documentation says;
    // each is called only after the one before has succeeded.
    let made = unsafe {
        transmute::<*mut c_void, Init>(init)(0) == 0
            && transmute::<*mut c_void, Get>(get)(&mut device, ordinal) == 0
            && transmute::<*mut c_void, Retain>(retain)(&mut context, device) == 0
    };
    made.then_some(())
}

fn futex(what: c_int, value: u32, time: *const libc::timespec) {
    // SAFETY: the word lives as long as the process, and the time is null or one.
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

fn monotonic() -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec
}
