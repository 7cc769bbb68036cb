//! Python's clocks: records readings by the program's own code, with their call site.
//!
//! A program times itself with two readings, and prints the difference. The functions of
//! the module `time`, and `now` and `utcnow` of `datetime`, are hooked where their
//! definitions point to their code in C: the function objects stay the same, so that the
//! program sees no difference, however it got hold of them. Readings by libraries pass
//! through.

use super::api::{Api, Object, Pointer, api};
use super::importer::{Name, Text, main_globals};
use super::{METH_CLASS, METH_FASTCALL, METH_KEYWORDS, METH_NOARGS, MethodDefinition, slice};
use crate::recorder;
use crate::{clocks, hooks};
use preheat_wire::Clock;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

type Read = unsafe extern "C" fn(Pointer, Pointer) -> Pointer;
type ReadFast = unsafe extern "C" fn(Pointer, *const Pointer, isize, Pointer) -> Pointer;

/// The beginning of CPython's `PyCFunctionObject`.
#[repr(C)]
struct Builtin {
    head: Object,
    definition: *mut MethodDefinition,
}

/// True to wait for the device after each reading, to see how much work was left.
static SYNCHRONIZE: AtomicBool = AtomicBool::new(false);

/// The directory of the standard library, with a trailing slash.
static LIBRARY: OnceLock<Text<512>> = OnceLock::new();

/// The number of frames of the program's own code in a call site.
const FRAMES: usize = 3;
/// The number of frames that are searched for them.
const MAX_SEARCHED_FRAMES: usize = 32;

static BACK: Name = Name::new(c"f_back");
static INSTRUCTION: Name = Name::new(c"f_lasti");
static CODE: Name = Name::new(c"f_code");
static GLOBALS: Name = Name::new(c"f_globals");
static FILE: Name = Name::new(c"co_filename");
static FUNCTION: Name = Name::new(c"co_name");
static LOCALS: Name = Name::new(c"f_locals");
static NUMBER: Name = Name::new(c"number");

/// The attributes of a `datetime`, from years to microseconds.
static FIELDS: [Name; 7] = [
    Name::new(c"year"),
    Name::new(c"month"),
    Name::new(c"day"),
    Name::new(c"hour"),
    Name::new(c"minute"),
    Name::new(c"second"),
    Name::new(c"microsecond"),
];

/// Same as [`super::importer::forget`].
pub(super) fn forget() {
    for name in [
        &BACK,
        &INSTRUCTION,
        &CODE,
        &GLOBALS,
        &FILE,
        &FUNCTION,
        &LOCALS,
        &NUMBER,
    ] {
        name.forget();
    }
    FIELDS.iter().for_each(Name::forget);
}

/// One hooked function: its original code, and what it returns.
struct Hooked {
    original: AtomicPtr<c_void>,
    clock: Clock,
    returns: Returns,
    flags: c_int,
}

/// The return type of a hooked function.
#[derive(Clone, Copy)]
enum Returns {
    Seconds,
    Nanoseconds,
    /// An object that holds the wall-clock time.
    Moment,
}

const fn hooked(clock: Clock, returns: Returns) -> Hooked {
    Hooked {
        original: AtomicPtr::new(null_mut()),
        clock,
        returns,
        flags: METH_NOARGS,
    }
}

/// A class method that returns the wall-clock time.
const fn moment(flags: c_int) -> Hooked {
    Hooked {
        original: AtomicPtr::new(null_mut()),
        clock: Clock::Time,
        returns: Returns::Moment,
        flags: flags | METH_CLASS,
    }
}

static HOOKED: [Hooked; 12] = [
    hooked(Clock::Time, Returns::Seconds),
    hooked(Clock::Time, Returns::Nanoseconds),
    hooked(Clock::PerfCounter, Returns::Seconds),
    hooked(Clock::PerfCounter, Returns::Nanoseconds),
    hooked(Clock::Monotonic, Returns::Seconds),
    hooked(Clock::Monotonic, Returns::Nanoseconds),
    hooked(Clock::ProcessTime, Returns::Seconds),
    hooked(Clock::ProcessTime, Returns::Nanoseconds),
    hooked(Clock::ThreadTime, Returns::Seconds),
    hooked(Clock::ThreadTime, Returns::Nanoseconds),
    moment(METH_NOARGS),
    moment(METH_FASTCALL | METH_KEYWORDS),
];

/// The index of the one with arguments.
const FAST: usize = 11;

/// The code that takes the place of `HOOKED[N]`.
unsafe extern "C" fn reads<const N: usize>(module: Pointer, nothing: Pointer) -> Pointer {
    // SAFETY: Python's own call of a function of this definition.
    unsafe { read(&HOOKED[N], |original| original(module, nothing)) }
}

/// The code that takes the place of `HOOKED[FAST]`.
unsafe extern "C" fn reads_fast(
    class: Pointer,
    arguments: *const Pointer,
    count: isize,
    names: Pointer,
) -> Pointer {
    // SAFETY: Python's own call of a function of this definition, whose flags say that it
    // has these arguments.
    unsafe {
        read(&HOOKED[FAST], |original| {
            let original: ReadFast = std::mem::transmute(original);
            original(class, arguments, count, names)
        })
    }
}

/// The code that replaces each function.
fn code(number: usize) -> Option<*mut c_void> {
    const CODES: [Read; FAST] = [
        reads::<0>,
        reads::<1>,
        reads::<2>,
        reads::<3>,
        reads::<4>,
        reads::<5>,
        reads::<6>,
        reads::<7>,
        reads::<8>,
        reads::<9>,
        reads::<10>,
    ];
    match number {
        FAST => Some(reads_fast as *mut c_void),
        _ => CODES.get(number).map(|code| *code as *mut c_void),
    }
}

/// `hook_clock(function, number)`: hooks a function of the module `time`, or a class method of
/// `datetime`. `number` is its index in [`HOOKED`]. Ignores anything but a built-in function
/// with the expected calling convention.
pub(super) unsafe extern "C" fn hook(
    _: Pointer,
    arguments: *const Pointer,
    count: isize,
) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: called by the interpreter, with its lock held. The definition of a built-in
    // function follows its header and lives as long as its module, which is never unloaded;
    // its code is replaced by a function of the same type.
    unsafe {
        if let &[function, number] = slice(arguments, count) {
            let definition = definition(function);
            let number = api.value(number) as usize;
            if let (Some(place), Some(code)) = (HOOKED.get(number), code(number)) {
                let free = place.original.load(Ordering::Acquire).is_null();
                if free && !definition.is_null() && (*definition).flags == place.flags {
                    let original = (*definition).function.cast_mut();
                    place.original.store(original, Ordering::Release);
                    let pointer = AtomicPtr::from_ptr((&raw mut (*definition).function).cast());
                    pointer.store(code, Ordering::Release);
                }
            }
        }
    }
    api.nothing()
}

/// The definition of a built-in function; null for anything else.
///
/// # Safety
/// The object must be alive, and the interpreter's lock held.
pub(super) unsafe fn definition(function: Pointer) -> *mut MethodDefinition {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: a live object, and a built-in function has this layout.
    unsafe {
        let its_type = (api.object_type)(function);
        let builtin = its_type == api.builtin_type;
        api.drop(its_type);
        if builtin {
            (*function.cast::<Builtin>()).definition
        } else {
            null_mut()
        }
    }
}

/// `clock_settings(library, synchronize)`: the directory of the standard library, and
/// whether to wait for the device after each reading.
pub(super) unsafe extern "C" fn settings(
    _: Pointer,
    arguments: *const Pointer,
    count: isize,
) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: called by the interpreter, with its lock held.
    unsafe {
        if let &[library, synchronize] = slice(arguments, count) {
            let mut text = Text::EMPTY;
            text.put(api.bytes(library));
            text.put(b"/");
            let _ = LIBRARY.set(text);
            SYNCHRONIZE.store(api.value(synchronize) != 0, Ordering::Relaxed);
        }
    }
    api.nothing()
}

/// `cuda_event(identity)`: the program has recorded a CUDA event.
pub(super) unsafe extern "C" fn event(
    _: Pointer,
    arguments: *const Pointer,
    count: isize,
) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: called by the interpreter, with its lock held.
    unsafe {
        if let &[identity] = slice(arguments, count)
            && clocks::may_record()
        {
            let place = place(api, 1);
            if place != 0 {
                let identity = api.value(identity);
                clocks::keep(Clock::CudaEvent, place, identity);
            }
        }
    }
    api.nothing()
}

/// `cuda_elapsed(from, to, nanoseconds)`: the program has computed the time between two
/// events.
pub(super) unsafe extern "C" fn elapsed(
    _: Pointer,
    arguments: *const Pointer,
    count: isize,
) -> Pointer {
    let Some(api) = api() else { return null_mut() };
    // SAFETY: called by the interpreter, with its lock held.
    unsafe {
        if let &[from, to, nanoseconds] = slice(arguments, count)
            && clocks::may_record()
        {
            let place = place(api, 1);
            let nanoseconds = api.value(nanoseconds);
            if place != 0 {
                clocks::keep_elapsed(api.value(from), api.value(to), nanoseconds, place);
            }
        }
    }
    api.nothing()
}

/// # Safety
/// To be called by the interpreter in place of a hooked function; `call` calls the original
/// with its own arguments.
unsafe fn read(hooked: &Hooked, call: impl FnOnce(Read) -> Pointer) -> Pointer {
    // SAFETY: this code only runs after the original was stored.
    let original: Read = unsafe { std::mem::transmute(hooked.original.load(Ordering::Acquire)) };
    let place = match api() {
        // SAFETY: called by the interpreter, with its lock held and no error set.
        Some(api) if clocks::may_record() => unsafe { place(api, 0) },
        _ => 0,
    };
    let reading = call(original);
    if place == 0 || reading.is_null() {
        return reading;
    }
    let Some(api) = api() else { return reading };
    // SAFETY: the reading is a new reference to a number where it is used as one, and the
    // lock is held.
    let value = unsafe {
        match hooked.returns {
            Returns::Seconds => ((api.as_float)(reading) * 1e9) as i64 as u64,
            Returns::Nanoseconds => api.value(reading),
            Returns::Moment => moment_of(api, reading, clocks::wall_clock()),
        }
    };
    clocks::keep(hooked.clock, place, value);
    if SYNCHRONIZE.load(Ordering::Relaxed) {
        // SAFETY: the lock is released while others may need it, and acquired again.
        unsafe {
            let thread = (api.save_thread)();
            hooks::synchronize();
            (api.restore_thread)(thread);
        }
    }
    reading
}

/// The wall-clock time that a `datetime` holds, in nanoseconds. Its fields count from its own
/// time zone, which differs from the wall clock `now` by a multiple of a quarter of an hour.
/// Returns `now` for anything else.
///
/// # Safety
/// The interpreter's lock must be held and no error set; the object must be live.
unsafe fn moment_of(api: &Api, object: Pointer, now: u64) -> u64 {
    const QUARTER: i64 = 900 * 1_000_000;
    // SAFETY: guaranteed by the caller.
    let field = |name: &Name| unsafe {
        let found = api.get(object, name.get(api));
        let value = (!found.is_null()).then(|| api.value(found));
        api.drop(found);
        // The largest field of a `datetime` is the microsecond.
        value
            .filter(|value| *value < 1_000_000)
            .map(|value| value as i64)
    };
    let fields = || {
        let [year, month, day, hour, minute, second, micros] = &FIELDS;
        let days = days(field(year)?, field(month)?, field(day)?);
        let seconds = days * 86400 + field(hour)? * 3600 + field(minute)? * 60 + field(second)?;
        Some(seconds * 1_000_000 + field(micros)?)
    };
    let now_micros = (now / 1000) as i64;
    // Anything else than the current time in some time zone is rejected.
    let Some(local) = fields().filter(|local| (local - now_micros).abs() < 2 * 96 * QUARTER) else {
        return now;
    };
    let zone = (local - now_micros + QUARTER / 2).div_euclid(QUARTER) * QUARTER;
    ((local - zone) * 1000) as u64
}

/// The days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that a leap day is the last of its year.
    let (year, month) = match month > 2 {
        true => (year, month - 3),
        false => (year - 1, month + 9),
    };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (153 * month + 2) / 5 + day - 719_469
}

/// The number of a text with the call site in the program's own code; 0 if a library makes
/// the call. The innermost `skip` frames are ours.
///
/// # Safety
/// The interpreter's lock must be held and no error set.
unsafe fn place(api: &Api, skip: usize) -> u32 {
    let mut text = Text::<1024>::EMPTY;
    // SAFETY: guaranteed by the caller. The first frame is borrowed, so a reference is
    // added.
    unsafe {
        let mut frame = (api.frame)();
        if !frame.is_null() {
            (api.increment)(frame);
        }
        let main = main_globals(api);
        let mut frames = 0;
        // Distinguishes the readings of one line.
        let mut instruction = 0;
        // Code generated by `timeit`, whose function in the module is the next frame.
        let mut generated = false;
        for depth in 0..MAX_SEARCHED_FRAMES {
            if frame.is_null() || frame == api.none || frames == FRAMES {
                break;
            }
            let code = api.get(frame, CODE.get(api));
            let file = match code.is_null() {
                true => null_mut(),
                false => api.get(code, FILE.get(api)),
            };
            let bytes = api.bytes(file);
            let globals = api.get(frame, GLOBALS.get(api));
            let own = depth >= skip && (is_own(bytes) || (!globals.is_null() && globals == main));
            let transparent = is_timeit(bytes);
            if own && !transparent {
                if frames > 0 {
                    text.put(b"\0");
                } else {
                    let offset = api.get(frame, INSTRUCTION.get(api));
                    instruction = api.value(offset);
                    api.drop(offset);
                }
                text.put(bytes);
                text.put(b"\0");
                text.number((api.line)(frame).max(0) as u64);
                text.put(b"\0");
                let name = api.get(code, FUNCTION.get(api));
                text.put(api.bytes(name));
                api.drop(name);
                generated = frames == 0 && bytes == TIMEIT;
                frames += 1;
            } else if transparent && generated {
                // Executions with other numbers of loops are other regions.
                let loops = local_number(api, frame);
                if loops > 0 {
                    text.put(" ×".as_bytes());
                    text.number(loops);
                }
                generated = false;
            }
            let back = match own || transparent || depth != skip {
                true => api.get(frame, BACK.get(api)),
                // A library reads the clock: its caller does not matter.
                false => null_mut(),
            };
            for object in [globals, file, code, frame] {
                api.drop(object);
            }
            frame = back;
        }
        api.drop(frame);
        if frames > 0 {
            text.put(b"\0@");
            text.number(instruction);
        }
    }
    recorder::text(text.bytes())
}

/// The local variable `number` of a frame; 0 if there is none.
///
/// # Safety
/// The frame must be alive, and the interpreter's lock held with no error set.
unsafe fn local_number(api: &Api, frame: Pointer) -> u64 {
    // SAFETY: guaranteed by the caller; what was found is a new reference.
    unsafe {
        let locals = api.get(frame, LOCALS.get(api));
        if locals.is_null() {
            return 0;
        }
        let number = (api.item)(locals, NUMBER.get(api));
        if number.is_null() {
            (api.clear_error)();
        }
        let value = api.value(number);
        api.drop(number);
        api.drop(locals);
        value
    }
}

/// The file name of the code that `timeit` generates.
const TIMEIT: &[u8] = b"<timeit-src>";

/// Returns whether code in this file belongs to the program itself, and not to an installed
/// package, the standard library or the interpreter.
fn is_own(file: &[u8]) -> bool {
    let within = |directory: &[u8]| {
        file.windows(directory.len())
            .any(|window| window == directory)
    };
    let standard = LIBRARY.get().is_some_and(|library| {
        let library = library.bytes();
        library.len() > 1 && file.starts_with(library)
    });
    !(file.is_empty()
        || standard
        || file.starts_with(b"<frozen ")
        || within(b"/site-packages/")
        || within(b"/dist-packages/"))
}

/// Returns whether this is the module `timeit`, whose generated code reads the clock for
/// the program.
fn is_timeit(file: &[u8]) -> bool {
    file.ends_with(b"/timeit.py")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_code_is_not_the_programs_own() {
        assert!(is_own(b"/home/me/train.py"));
        assert!(is_own(b"<stdin>"));
        assert!(is_own(b"/tmp/ipykernel_7/123.py"));
        assert!(!is_own(
            b"/home/me/.venv/lib/python3.12/site-packages/torch/x.py"
        ));
        assert!(!is_own(b"/usr/lib/python3/dist-packages/torch/x.py"));
        assert!(!is_own(b"<frozen importlib._bootstrap>"));
        assert!(!is_own(b""));
    }

    #[test]
    fn days_are_counted_from_1970() {
        assert_eq!(days(1970, 1, 1), 0);
        assert_eq!(days(1969, 12, 31), -1);
        assert_eq!(days(2000, 2, 29), 11_016);
        assert_eq!(days(2000, 3, 1), 11_017);
        assert_eq!(days(2026, 11, 16), 20_773);
    }

    #[test]
    fn timeit_reads_the_clock_for_the_program() {
        assert!(is_own(TIMEIT));
        assert!(is_timeit(b"/usr/lib/python3.11/timeit.py"));
        assert!(!is_timeit(b"/home/me/mytimeit.py"));
    }
}
