//! The lifetime of the process: its start, its `main`, its forks and its end.
//!
//! The constructor runs before all others (see build.rs), including that of the C library:
//! it reads the environment from its arguments, not with `getenv`.

use std::ffi::{c_char, c_int, c_long, c_ulong, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use preheat_wire::{Event, Kind, variables};

use crate::environment::variable;
use crate::recorder::system::{Errno, File};
use crate::{ahead, chain, clocks, files, loader, python, recorder, restore};

/// The maximum size of a process file, if the launcher does not set one.
const LIMIT: u64 = 256 << 20;

#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: unsafe extern "C" fn(c_int, *const *const c_char, *mut *mut c_char) =
    constructor;

#[cfg_attr(test, expect(dead_code, reason = "tests are not preloaded"))]
unsafe extern "C" fn constructor(
    count: c_int,
    arguments: *const *const c_char,
    environment: *mut *mut c_char,
) {
    let _errno = Errno::keep();
    // SAFETY: no memory is involved.
    let is_secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    if !is_secure {
        // SAFETY: the loader passes these to constructors; this is the first one.
        unsafe { chain::follow(count, arguments, environment) };
    }
    loader::prepare();
    files::prepare();
    clocks::prepare();
    prepare();
    // The program must not see errors of our lookups.
    // SAFETY: the message is not used.
    unsafe { libc::dlerror() };
    if is_secure {
        return;
    }
    // SAFETY: the loader passes the environment to constructors; this is the first one.
    unsafe {
        ahead::take(environment);
        let get = |name| variable(environment, name);
        match (get(variables::DIRECTORY), get(variables::SHIM)) {
            (Some(directory), _) => begin(
                directory,
                get(variables::LIMIT).unwrap_or_default(),
                get(variables::ITERATIONS).unwrap_or_default(),
            ),
            (None, Some(_)) => recorder::wait(),
            (None, None) => {}
        }
    }
}

/// Starts to record with the launcher's settings. Does nothing if that has happened before.
pub(crate) fn begin(directory: &[u8], limit: &[u8], iterations: &[u8]) {
    let limit = std::str::from_utf8(limit).ok();
    let limit = limit.and_then(|text| text.parse().ok()).unwrap_or(LIMIT);
    if !iterations.is_empty() && !recorder::active() {
        recorder::detail::iterations_are(iterations);
    }
    if recorder::start(directory, limit) {
        loader::record_new();
        recorder::follow_forks(in_child);
        // SAFETY: the function lives as long as the process: nothing unloads it.
        unsafe { __cxa_atexit(at_exit, null_mut(), null_mut()) };
    }
}

static FORK: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static START_MAIN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static PRCTL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static EXIT: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Looks up the real functions now: a later lookup would clear the program's `dlerror`.
fn prepare() {
    files::real_function(&FORK, c"fork");
    files::real_function(&START_MAIN, c"__libc_start_main");
    files::real_function(&PRCTL, c"prctl");
    files::real_function(&EXIT, c"exit");
    ahead::prepare();
    crate::hooks::prepare();
}

unsafe extern "C" {
    // The C library's `atexit` would call us when this library is finalized; this function,
    // without a library, calls us after everything that was registered later.
    pub(crate) fn __cxa_atexit(
        function: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
        library: *mut c_void,
    ) -> c_int;
}

unsafe extern "C" fn at_exit(_: *mut c_void) {
    event(Event::Exit, 0, b"");
}

fn event(event: Event, value: u64, text: &[u8]) {
    recorder::instant(Kind::Event, event as u16, 0, value, None, text);
}

/// Records the program and its arguments, once the file is open. `text` is the buffer,
/// since this may run on the small stack of a signal handler.
#[cold]
#[inline(never)]
pub(crate) fn describe(text: &mut [u8]) {
    let _errno = Errno::keep();
    // SAFETY: the kernel writes at most the length of the buffer.
    let length = unsafe {
        libc::syscall(
            libc::SYS_readlinkat,
            libc::AT_FDCWD,
            c"/proc/self/exe".as_ptr(),
            text.as_mut_ptr(),
            text.len(),
        )
    };
    if let Some(path) = usize::try_from(length)
        .ok()
        .and_then(|length| text.get(..length))
    {
        event(Event::Program, 0, path);
    }
    if let Ok(file) = File::open(b"/proc/self/cmdline\0", libc::O_RDONLY) {
        let length = file.read(text);
        event(Event::Arguments, 0, text.get(..length).unwrap_or_default());
    }
}

unsafe extern "C" fn in_child() {
    loader::forked();
    recorder::forked();
}

/// The program's `fork`.
///
/// # Safety
/// Same as the C library's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn fork() -> libc::pid_t {
    let real = files::real_function(&FORK, c"fork");
    if real.is_null() {
        // SAFETY: the errno of this thread.
        unsafe { *libc::__errno_location() = libc::ENOSYS };
        return -1;
    }
    // SAFETY: it is the C library's fork.
    let child = unsafe { transmute::<*mut c_void, unsafe extern "C" fn() -> libc::pid_t>(real)() };
    if child > 0 {
        event(Event::Forked, child as u64, b"");
    }
    child
}

/// For measuring the overhead of recording: a program that calls this between iterations
/// can compare recorded iterations (0) with other iterations at the same time
/// (examples/timing.py): unrecorded ones (1), all in detail (2), all without detail (3).
/// All calls still go through the recorder, which then only forwards them.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn preheat_pause(how: c_int) {
    recorder::pause(how == 1);
    recorder::detail::force(how == 2, how == 3);
}

type Prctl = unsafe extern "C" fn(c_int, c_ulong, c_ulong, c_ulong, c_ulong) -> c_int;

/// The program's `prctl`. After a call that restricts system calls, the recorder makes no
/// additional ones.
///
/// # Safety
/// Same as the C library's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn prctl(
    option: c_int,
    a: c_ulong,
    b: c_ulong,
    c: c_ulong,
    d: c_ulong,
) -> c_int {
    if option == libc::PR_SET_SECCOMP {
        recorder::confine();
    }
    let real = PRCTL.load(Ordering::Relaxed);
    // On the supported architectures, a variadic function gets its words in the same
    // registers as any other function; if the program passed none, nothing reads them.
    if real.is_null() {
        // SAFETY: the program's own arguments, which the kernel checks.
        return (unsafe { libc::syscall(libc::SYS_prctl, c_long::from(option), a, b, c, d) })
            as c_int;
    }
    // SAFETY: the C library's function with the program's own arguments.
    unsafe { transmute::<*mut c_void, Prctl>(real)(option, a, b, c, d) }
}

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type StartMain = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    *mut *mut c_char,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
) -> c_int;

static MAIN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

unsafe extern "C" fn main(
    count: c_int,
    arguments: *mut *mut c_char,
    environment: *mut *mut c_char,
) -> c_int {
    static ONCE: AtomicBool = AtomicBool::new(false);
    if !ONCE.swap(true, Ordering::Relaxed) {
        event(Event::Main, 0, b"");
        if recorder::active() {
            clocks::main_begins();
        }
        if ahead::is_requested() {
            ahead::begin();
        }
    }
    // SAFETY: the program's own main, with its own arguments.
    let code = unsafe {
        transmute::<*mut c_void, Main>(MAIN.load(Ordering::Relaxed))(count, arguments, environment)
    };
    restore::wait_for_all();
    code
}

/// The program's `exit`: waits while the driver is initialized ahead, or the GPU is restored.
///
/// # Safety
/// Same as the C library's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn exit(code: c_int) -> ! {
    restore::wait_for_all();
    let real = files::real_function(&EXIT, c"exit");
    // SAFETY: the C library's function with the program's own argument; if there is none,
    // the process exits anyway.
    unsafe {
        if !real.is_null() {
            transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> !>(real)(code);
        }
        libc::_exit(code)
    }
}

/// Called by the first code of every program: runs the constructors and then `main`.
///
/// # Safety
/// Same as the C library's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __libc_start_main(
    its_main: *mut c_void,
    count: c_int,
    arguments: *mut *mut c_char,
    init: *mut c_void,
    fini: *mut c_void,
    loader_fini: *mut c_void,
    stack_end: *mut c_void,
) -> c_int {
    let real = files::real_function(&START_MAIN, c"__libc_start_main");
    if real.is_null() {
        // Without it the program cannot run, and every C library has it.
        // SAFETY: ends the process.
        unsafe { libc::_exit(127) };
    }
    MAIN.store(its_main, Ordering::Relaxed);
    let ours = if recorder::active() || ahead::is_requested() {
        if let Ok(count) = usize::try_from(count)
            && !arguments.is_null()
        {
            // SAFETY: the environment follows the arguments and the null at their end; the
            // program has not started, and has no threads that access it.
            unsafe { python::leave_without_site(arguments, arguments.add(count + 1)) };
        }
        main as *mut c_void
    } else {
        its_main
    };
    // SAFETY: the C library's function with the program's own arguments; our main calls
    // the program's.
    unsafe {
        transmute::<*mut c_void, StartMain>(real)(
            ours,
            count,
            arguments,
            init,
            fini,
            loader_fini,
            stack_end,
        )
    }
}
