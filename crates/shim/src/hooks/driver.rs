//! The few functions of the CUDA driver that we call ourselves: to sample the device
//! memory, and to wait for the device on request. Hooks the events by which native programs time
//! themselves.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering};

use super::arguments::Words;
use super::{objects, wrap};
use crate::callers::{Caller, on_stack};
use crate::recorder::system::Errno;
use crate::{clocks, loader};

static PREPARED: AtomicBool = AtomicBool::new(false);

static CURRENT: AtomicUsize = AtomicUsize::new(0);
static DEVICE: AtomicUsize = AtomicUsize::new(0);
static ATTRIBUTE: AtomicUsize = AtomicUsize::new(0);
static MEMORY: AtomicUsize = AtomicUsize::new(0);
static PUSH: AtomicUsize = AtomicUsize::new(0);
static POP: AtomicUsize = AtomicUsize::new(0);
static SYNCHRONIZE: AtomicUsize = AtomicUsize::new(0);

/// The driver's file name, as in its symbols.
static NAME: [AtomicU8; 48] = [const { AtomicU8::new(0) }; 48];

/// Looks up the functions in the library that contains this one; only the first time.
pub(crate) fn prepare(function: *const c_void) {
    if PREPARED.load(Ordering::Relaxed) || !loader::may_ask() {
        return;
    }
    if PREPARED.swap(true, Ordering::Relaxed) {
        return;
    }
    let Some(path) = objects::path_of(function) else {
        return;
    };
    objects::keep_loaded(function);
    for (place, &byte) in NAME.iter().zip(objects::file_name(path.to_bytes())) {
        place.store(byte, Ordering::Relaxed);
    }
    let wanted: [(&AtomicUsize, &CStr); 7] = [
        (&CURRENT, c"cuCtxGetCurrent"),
        (&DEVICE, c"cuCtxGetDevice"),
        (&ATTRIBUTE, c"cuDeviceGetAttribute"),
        (&MEMORY, c"cuMemGetInfo_v2"),
        (&PUSH, c"cuCtxPushCurrent_v2"),
        (&POP, c"cuCtxPopCurrent_v2"),
        (&SYNCHRONIZE, c"cuCtxSynchronize"),
    ];
    for (place, name) in wanted {
        place.store(objects::in_object(path, name) as usize, Ordering::Release);
    }
    objects::forget_errors();
}

/// The file name of the library that [`prepare`] was called for.
pub(crate) fn with_file_name<R>(work: impl FnOnce(&[u8]) -> R) -> R {
    let bytes = NAME.each_ref().map(|byte| byte.load(Ordering::Relaxed));
    let length = bytes
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(bytes.len());
    work(bytes.get(..length).unwrap_or_default())
}

/// Calls a function of at most three words; `None` if it was not found.
fn call(function: &AtomicUsize, words: [usize; 3]) -> Option<i32> {
    let function = function.load(Ordering::Acquire);
    if function == 0 {
        return None;
    }
    // SAFETY: a function of the driver with at most three words, which the callers below
    // pass as documented.
    let function: unsafe extern "C" fn(usize, usize, usize) -> i32 =
        unsafe { std::mem::transmute(function) };
    let [a, b, c] = words;
    // SAFETY: same as above.
    Some(unsafe { function(a, b, c) })
}

/// This thread's context.
pub(crate) fn current_context() -> Option<usize> {
    let mut context = 0usize;
    let status = call(&CURRENT, [&raw mut context as usize, 0, 0])?;
    (status == 0 && context != 0).then_some(context)
}

/// The device of this thread's context.
fn current_device() -> Option<i32> {
    let mut device = 0i32;
    let status = call(&DEVICE, [&raw mut device as usize, 0, 0])?;
    (status == 0).then_some(device)
}

/// The memory of the device of this thread's context.
pub(crate) struct Memory {
    pub(crate) device: u32,
    pub(crate) free: u64,
    pub(crate) total: u64,
}

/// Queries the driver. Only if a context is current.
pub(crate) fn memory() -> Option<Memory> {
    let device = current_device()? as u32;
    let (mut free, mut total) = (0u64, 0u64);
    let status = call(
        &MEMORY,
        [&raw mut free as usize, &raw mut total as usize, 0],
    )?;
    (status == 0).then_some(Memory {
        device,
        free,
        total,
    })
}

/// Runs `work` with a context that may not be that of this thread.
pub(crate) fn within(context: usize, work: impl FnOnce()) {
    if call(&PUSH, [context, 0, 0]) != Some(0) {
        return;
    }
    work();
    let mut popped = 0usize;
    call(&POP, [&raw mut popped as usize, 0, 0]);
}

/// The architecture of this thread's device, as 10 × major + minor; 0 if unknown.
pub(crate) fn architecture() -> u16 {
    static KNOWN: AtomicU32 = AtomicU32::new(0);
    const MAJOR: usize = 75;
    const MINOR: usize = 76;
    let known = KNOWN.load(Ordering::Relaxed);
    if known != 0 {
        return known as u16;
    }
    let ask = |attribute: usize, device: i32| {
        let mut value = 0i32;
        let words = [&raw mut value as usize, attribute, device as usize];
        (call(&ATTRIBUTE, words) == Some(0)).then_some(value)
    };
    // Code may be loaded before there is a context: the first device will do.
    let device = current_device().unwrap_or(0);
    let (Some(major), Some(minor)) = (ask(MAJOR, device), ask(MINOR, device)) else {
        return 0;
    };
    let found = (major.clamp(0, 99) * 10 + minor.clamp(0, 9)) as u32;
    KNOWN.store(found, Ordering::Relaxed);
    found as u16
}

/// Waits for the device, with a call that is recorded like those of the program.
pub(crate) fn synchronize() {
    let real = SYNCHRONIZE.load(Ordering::Acquire);
    if real == 0 || current_context().is_none() {
        return;
    }
    let real = real as *mut c_void;
    let path = objects::path_of(real)
        .map(CStr::to_bytes)
        .unwrap_or_default();
    let Some((entry, name)) = wrap::entry_of(b"cuCtxSynchronize", false) else {
        return;
    };
    let wrapper = wrap::wrap(real, entry, name, objects::file_name(path));
    // SAFETY: the function, or its wrapper, has no arguments and returns a status.
    unsafe {
        let wrapper: unsafe extern "C" fn() -> i32 = std::mem::transmute(wrapper);
        wrapper();
    }
}

// CUDA events that a native program records to time itself, and the times between them.
//
// A program mostly records an event through the CUDA runtime, which is a library or part
// of the executable. The recorder keeps every return address of the executable that lies
// on the stack: the one that has a source line is the program's own. Python programs have
// their own hooks ([`crate::python`]).

/// Addresses that are kept of a call.
const MAX_CALLERS: usize = 6;

/// An event was recorded.
#[cold]
pub(super) fn recorded(words: Words) {
    if !clocks::has_own_code() || !clocks::may_record() {
        return;
    }
    let _errno = Errno::keep();
    let mut callers = [Caller::default(); MAX_CALLERS];
    let count = on_stack(words.stack(), &mut callers);
    let callers = callers.get(..count).unwrap_or_default();
    if !callers.is_empty() {
        clocks::keep_event(callers, words.get(0) as u64);
    }
}

/// The program has asked for the time between two events.
#[cold]
pub(super) fn elapsed(words: Words) {
    if !clocks::has_own_code() || !clocks::may_record() {
        return;
    }
    if let Some(milliseconds) = words.out::<f32>(0) {
        let nanoseconds = (f64::from(milliseconds) * 1e6) as u64;
        clocks::keep_elapsed(words.get(1) as u64, words.get(2) as u64, nanoseconds, 0);
    }
}
