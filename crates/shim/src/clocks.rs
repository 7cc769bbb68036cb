//! Clocks of native programs: records readings by the executable's own code, with the
//! address of the call and those of its callers.
//!
//! A program times itself with two readings, and prints the difference. The return address
//! shows who reads: readings by libraries jump to the real function and cost one
//! comparison. Python programs have other hooks ([`crate::python`]), and installed tools
//! have none.

use crate::callers::{self, Caller};
use crate::files::real_function;
use crate::loader::{Call, Step, each_mapped, entry, entry_of_any_type, range_around};
use crate::recorder::{self, system::Errno};
use preheat_wire::{Clock, Elapsed, Event, Kind};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

static CLOCK_GETTIME: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static GETTIMEOFDAY: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static CLOCK: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// True if that is another `clock` than the C library's: one that a library of the program
/// exports, with any arguments.
static OTHER_CLOCK: AtomicBool = AtomicBool::new(false);

/// The executable's own code, if its readings are recorded; otherwise empty.
static FROM: AtomicUsize = AtomicUsize::new(0);
static LENGTH: AtomicUsize = AtomicUsize::new(0);
/// The base address of the executable.
static BASE: AtomicUsize = AtomicUsize::new(0);

/// The maximum number of readings recorded per process: 16 MiB.
const MAX_READINGS: u32 = 1 << 19;
static READINGS: AtomicU32 = AtomicU32::new(0);

// The address of a function that only an interpreter has, or null. The loader resolves it: a
// failed lookup would allocate its error message and free it later, and an executable that brings
// its own allocator may not have prepared it before `main` (GCL, and with it Maxima).
std::arch::global_asm!(
    ".weak Py_BytesMain",
    ".pushsection .data.rel.ro.preheat_interpreter, \"aw\"",
    ".balign 8",
    ".globl preheat_interpreter",
    ".hidden preheat_interpreter",
    "preheat_interpreter:",
    ".quad Py_BytesMain",
    ".popsection",
);

unsafe extern "C" {
    #[link_name = "preheat_interpreter"]
    static INTERPRETER: *const c_void;
}

/// Returns true if the executable is a Python.
fn is_python() -> bool {
    // SAFETY: the loader has written it before any code of this library runs.
    !unsafe { INTERPRETER }.is_null()
}

/// Looks up the real functions.
pub(crate) fn prepare() {
    real_function(&CLOCK_GETTIME, c"clock_gettime");
    real_function(&GETTIMEOFDAY, c"gettimeofday");
    let clock = real_function(&CLOCK, c"clock");
    let c_library = range_around(libc::gnu_get_libc_version as *const u8);
    let is_other = !clock.is_null() && !c_library.contains(&(clock as usize));
    OTHER_CLOCK.store(is_other, Ordering::Relaxed);
}

/// Called before `main` in a recorded process: records its own readings from now on, unless
/// it is an interpreter or an installed tool.
pub(crate) fn main_begins() {
    let mut path = [0; 512];
    // SAFETY: the kernel writes at most the length of the buffer.
    let length = unsafe {
        libc::syscall(
            libc::SYS_readlinkat,
            libc::AT_FDCWD,
            c"/proc/self/exe".as_ptr(),
            path.as_mut_ptr(),
            path.len(),
        )
    };
    let path = usize::try_from(length).ok().and_then(|end| path.get(..end));
    if is_python() || path.is_none_or(is_installed) {
        return;
    }
    each_mapped(|executable| {
        let code = executable
            .segments()
            .iter()
            .filter(|segment| segment.p_type == libc::PT_LOAD && segment.p_flags & libc::PF_X != 0);
        let (mut from, mut to) = (usize::MAX, 0);
        for segment in code {
            let at = executable.base().wrapping_add(segment.p_vaddr as usize);
            from = from.min(at);
            to = to.max(at.saturating_add(segment.p_memsz as usize));
        }
        if from < to {
            BASE.store(executable.base(), Ordering::Relaxed);
            FROM.store(from, Ordering::Relaxed);
            LENGTH.store(to - from, Ordering::Relaxed);
        }
        // The executable is the first in the list.
        true
    });
}

/// Returns whether an executable is a system tool, or part of a package: the solvers of an
/// optimization library read their clocks thousands of times.
fn is_installed(path: &[u8]) -> bool {
    const PACKAGES: [&[u8]; 3] = [b"/site-packages/", b"/dist-packages/", b"/node_modules/"];
    let within = |directory: &[u8]| path.windows(directory.len()).any(|part| part == directory);
    const SYSTEM: [&[u8]; 5] = [b"/usr/", b"/bin/", b"/sbin/", b"/lib/", b"/snap/"];
    const OWN: [&[u8]; 2] = [b"/usr/local/", b"/usr/src/"];
    let under = |roots: &[&[u8]]| roots.iter().any(|root| path.starts_with(root));
    (under(&SYSTEM) && !under(&OWN)) || PACKAGES.into_iter().any(within)
}

/// Returns true if this process has code whose readings are recorded here.
pub(crate) fn has_own_code() -> bool {
    LENGTH.load(Ordering::Relaxed) > 0
}

/// Returns true if an address lies in that code.
#[inline]
pub(crate) fn is_own(caller: *const u8) -> bool {
    let from = FROM.load(Ordering::Relaxed);
    (caller as usize).wrapping_sub(from) < LENGTH.load(Ordering::Relaxed)
}

/// Returns whether readings are still recorded.
pub(crate) fn may_record() -> bool {
    recorder::active() && READINGS.load(Ordering::Relaxed) < MAX_READINGS
}

/// Records a reading at a call site, unless the program is only polling.
pub(crate) fn keep(clock: Clock, place: u32, value: u64) {
    // Recording may wait, for a disk or a processor: the time is that of the reading.
    let time = recorder::now();
    if is_polling(place, time) {
        return;
    }
    if READINGS.fetch_add(1, Ordering::Relaxed) + 1 == MAX_READINGS {
        let note = b"The program reads its clocks very often: regions that it timed later are \
                     not listed.";
        recorder::instant(Kind::Event, Event::Note as u16, 0, 0, None, note);
    }
    recorder::instant_at(time, Kind::Clock, clock as u16, place as i32, value);
    recorder::record_cpu();
}

/// A call site is polling if it reads again within this time, this often, without other
/// readings in between. The duration of polling is of no interest.
const POLLING_WITHIN_NS: u64 = 20_000;
const OFTEN: u32 = 64;
/// A pause offsets this many readings.
const PAUSE: u32 = 8;

#[derive(Clone, Copy)]
struct Last {
    place: u32,
    time: u64,
    often: u32,
}

thread_local! {
    static LAST: Cell<Last> = const {
        Cell::new(Last { place: 0, time: 0, often: 0 })
    };
}

/// Returns whether this reading is part of a polling loop.
fn is_polling(place: u32, time: u64) -> bool {
    let last = LAST.get();
    let soon = time.wrapping_sub(last.time) < POLLING_WITHIN_NS;
    let often = match (last.place == place, soon) {
        (true, true) => last.often.saturating_add(1).min(2 * OFTEN),
        // The thread was preempted for a moment.
        (true, false) => last.often.saturating_sub(PAUSE),
        (false, _) => 0,
    };
    LAST.set(Last { place, time, often });
    often > OFTEN
}

/// The callers recorded with a reading, so that a helper such as `now()` is not all that is
/// known of it.
const MAX_CALLERS: usize = 6;
/// The readings of a process that are recorded with their callers. Finding them takes about
/// a microsecond.
const WITH_CALLERS: u32 = 1 << 16;

/// Records a reading by the executable's own code.
#[cold]
fn keep_native(clock: Clock, call: Call, nanoseconds: u64) {
    if !may_record() {
        return;
    }
    let _errno = Errno::keep();
    let mut place = Place::default();
    place.add(b'+', call.caller as usize);
    if READINGS.load(Ordering::Relaxed) < WITH_CALLERS {
        let mut callers = [Caller::default(); MAX_CALLERS];
        let count = callers::of(call.caller as usize, call.stack, &mut callers);
        for caller in callers.get(..count).unwrap_or_default() {
            place.add(b'<', caller.address);
            place.add(b'=', caller.calls.unwrap_or_default());
        }
    }
    keep(clock, recorder::text(place.text()), nanoseconds);
}

/// Records that one of these callers, all in the executable's own code, has recorded a CUDA
/// event.
pub(crate) fn keep_event(callers: &[Caller], event: u64) {
    let mut place = Place::default();
    for caller in callers {
        place.add(b'+', caller.address);
    }
    keep(Clock::CudaEvent, recorder::text(place.text()), event);
}

/// Records that the program knows the time between two CUDA events.
pub(crate) fn keep_elapsed(from: u64, to: u64, nanoseconds: u64, place: u32) {
    let open = recorder::begin(Kind::Elapsed, 0, nanoseconds, 1, b"", false);
    let events = Elapsed {
        from,
        to,
        reserved: [0; 2],
    };
    open.put(0, &events);
    open.end_at(open.began(), place as i32, None);
}

/// Addresses in the executable as text: `+4711<815=4096`. An address that does not fit is
/// left out.
struct Place {
    text: [u8; 2 * (MAX_CALLERS + 1) * 24],
    length: usize,
}

impl Default for Place {
    fn default() -> Place {
        Place {
            text: [0; 2 * (MAX_CALLERS + 1) * 24],
            length: 0,
        }
    }
}

impl Place {
    /// Adds a mark and an address, in decimal and relative to the executable.
    fn add(&mut self, mark: u8, address: usize) {
        let mut digits = [0; 24];
        let digits = decimal(
            address.wrapping_sub(BASE.load(Ordering::Relaxed)),
            mark,
            &mut digits,
        );
        let end = self.length + digits.len();
        if let Some(to) = self.text.get_mut(self.length..end) {
            to.copy_from_slice(digits);
            self.length = end;
        }
    }

    fn text(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or_default()
    }
}

/// Formats a mark and the number at the end of the buffer.
fn decimal(mut number: usize, mark: u8, buffer: &mut [u8; 24]) -> &[u8] {
    let mut at = buffer.len();
    let mut put = |byte| {
        at -= 1;
        if let Some(place) = buffer.get_mut(at) {
            *place = byte;
        }
    };
    loop {
        put(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    put(mark);
    buffer.get(at..).unwrap_or_default()
}

entry!(
    /// The program's `clock_gettime`.
    clock_gettime => clock_gettime_read
);
entry!(
    /// The program's `gettimeofday`.
    gettimeofday => gettimeofday_read
);
entry_of_any_type!(
    /// The program's `clock`.
    clock => clock_read
);
entry!(
    /// The program's `std::chrono::system_clock::now()`.
    system_clock_now as "_ZNSt6chrono3_V212system_clock3nowEv" => system_now_read
);
entry!(
    /// The program's `std::chrono::steady_clock::now()`.
    steady_clock_now as "_ZNSt6chrono3_V212steady_clock3nowEv" => steady_now_read
);

extern "C" fn clock_gettime_read(clock: *mut c_void, time: *const c_char, call: Call) -> Step {
    type Real = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;
    let real = CLOCK_GETTIME.load(Ordering::Relaxed);
    let own = is_own(call.caller);
    if !real.is_null() && !own {
        return Step::jump_to(real);
    }
    let which = clock as usize as libc::clockid_t;
    let time = time.cast_mut().cast::<libc::timespec>();
    // SAFETY: the program's own arguments are passed to the C library's function or, before
    // that is found, to the kernel, which checks them.
    let result = unsafe {
        if real.is_null() {
            libc::syscall(libc::SYS_clock_gettime, which, time) as c_int
        } else {
            transmute::<*mut c_void, Real>(real)(which, time)
        }
    };
    if own && result == 0 {
        let kind = match which {
            libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => {
                Clock::ClockGettimeCpu
            }
            _ => Clock::ClockGettime,
        };
        // SAFETY: the function has just written it.
        let time = unsafe { *time };
        keep_native(kind, call, nanoseconds(time.tv_sec, time.tv_nsec));
    }
    Step::done(result as usize as *mut c_void)
}

extern "C" fn gettimeofday_read(time: *mut c_void, zone: *const c_char, call: Call) -> Step {
    type Real = unsafe extern "C" fn(*mut libc::timeval, *mut c_void) -> c_int;
    let real = GETTIMEOFDAY.load(Ordering::Relaxed);
    let own = is_own(call.caller);
    if !real.is_null() && !own {
        return Step::jump_to(real);
    }
    let time = time.cast::<libc::timeval>();
    let zone = zone.cast_mut().cast::<c_void>();
    // SAFETY: same as for `clock_gettime`.
    let result = unsafe {
        if real.is_null() {
            libc::syscall(libc::SYS_gettimeofday, time, zone) as c_int
        } else {
            transmute::<*mut c_void, Real>(real)(time, zone)
        }
    };
    if own && result == 0 && !time.is_null() {
        // SAFETY: the function has just written it.
        let time = unsafe { *time };
        keep_native(
            Clock::GetTimeOfDay,
            call,
            nanoseconds(time.tv_sec, time.tv_usec * 1000),
        );
    }
    Step::done(result as usize as *mut c_void)
}

extern "C" fn clock_read(_: *mut c_void, _: *const c_char, call: Call) -> Step {
    type Real = unsafe extern "C" fn() -> libc::clock_t;
    let real = CLOCK.load(Ordering::Relaxed);
    let own = is_own(call.caller);
    if !real.is_null() && (!own || OTHER_CLOCK.load(Ordering::Relaxed)) {
        return Step::jump_to(real);
    }
    let ticks = if real.is_null() {
        processor_ticks()
    } else {
        // SAFETY: `real` is the C library's `clock`, which has no arguments.
        unsafe { transmute::<*mut c_void, Real>(real)() }
    };
    if own {
        let nanoseconds = (ticks as u64).wrapping_mul(1_000_000_000 / TICKS_PER_SECOND);
        keep_native(Clock::CClock, call, nanoseconds);
    }
    Step::done(ticks as usize as *mut c_void)
}

/// `CLOCKS_PER_SEC`, as POSIX requires.
const TICKS_PER_SECOND: u64 = 1_000_000;

/// The CPU time of this process, as the C library computes it for `clock`.
fn processor_ticks() -> libc::clock_t {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec.
    unsafe {
        libc::syscall(
            libc::SYS_clock_gettime,
            libc::CLOCK_PROCESS_CPUTIME_ID,
            &mut time,
        );
    }
    (nanoseconds(time.tv_sec, time.tv_nsec) / (1_000_000_000 / TICKS_PER_SECOND)) as libc::clock_t
}

extern "C" fn system_now_read(_: *mut c_void, _: *const c_char, call: Call) -> Step {
    chrono_now(Clock::ChronoSystem, libc::CLOCK_REALTIME, call)
}

extern "C" fn steady_now_read(_: *mut c_void, _: *const c_char, call: Call) -> Step {
    chrono_now(Clock::ChronoSteady, libc::CLOCK_MONOTONIC, call)
}

/// Does the same as libstdc++. Its function cannot be called, because it may have been
/// loaded where a lookup from here does not find it.
fn chrono_now(clock: Clock, which: libc::clockid_t, call: Call) -> Step {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the C library writes one timespec.
    unsafe { libc::clock_gettime(which, &mut time) };
    let now = nanoseconds(time.tv_sec, time.tv_nsec);
    if is_own(call.caller) {
        keep_native(clock, call, now);
    }
    Step::done(now as usize as *mut c_void)
}

/// The wall-clock time in nanoseconds.
pub(crate) fn wall_clock() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the C library writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut time) };
    nanoseconds(time.tv_sec, time.tv_nsec)
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> u64 {
    seconds
        .wrapping_mul(1_000_000_000)
        .wrapping_add(nanoseconds) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_in_decimal() {
        assert_eq!(decimal(0, b'+', &mut [0; 24]), b"+0");
        assert_eq!(decimal(4711, b'<', &mut [0; 24]), b"<4711");
        let most = format!("+{}", usize::MAX);
        assert_eq!(decimal(usize::MAX, b'+', &mut [0; 24]), most.as_bytes());
    }

    #[test]
    fn a_call_site_that_reads_continuously_is_polling() {
        let at = |number: u32| u64::from(number) * POLLING_WITHIN_NS / 2;
        let polls = (0..1000).filter(|number| is_polling(7, at(*number)));
        assert_eq!(polls.count(), 1000 - OFTEN as usize - 1);
        // Two alternating call sites measure something.
        let alternating = (0..1000).filter(|number| is_polling(1 + number % 2, at(*number)));
        assert_eq!(alternating.count(), 0);
    }

    #[test]
    fn system_tools_are_not_user_programs() {
        assert!(is_installed(b"/usr/bin/bash"));
        assert!(is_installed(b"/bin/sh"));
        assert!(is_installed(
            b"/home/me/.venv/lib/python3.12/site-packages/pulp/solverdir/cbc/linux/i64/cbc"
        ));
        assert!(!is_installed(b"/usr/local/bin/infer"));
        assert!(!is_installed(b"/home/me/infer"));
    }
}
