//! Wrappers: functions that the program gets in place of the real ones.
//!
//! A wrapper is keyed by the pointer that the real library returned, not by a name:
//! versions, per-thread streams and drivers newer than this table stay right. There is a
//! fixed number of wrappers, each with a slot for its function. [`super::call`] defines
//! what a call records.

#[cfg(not(target_arch = "x86_64"))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicUsize, Ordering};

use preheat_wire::{Kind, base_name};

use super::handles::Lock;
use super::quick::Quick;
use super::table::{self, Entry, PLAIN};
use crate::recorder;

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use portable::stub;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::stub;

/// The maximum number of hooked functions; the driver has fewer than 600.
pub(crate) const SLOTS: usize = 1024;

/// The function of a wrapper. All zero until it is in use.
pub(crate) struct Slot {
    real: AtomicUsize,
    entry: AtomicPtr<Entry>,
    /// The position of its name and library in [`NAMES`], and their total length.
    text: AtomicU32,
    length: AtomicU32,
    /// The generation in whose file the symbol is defined.
    defined: AtomicU32,
    quick: Quick,
}

impl Slot {
    const fn free() -> Slot {
        Slot {
            real: AtomicUsize::new(0),
            entry: AtomicPtr::new(null_mut()),
            text: AtomicU32::new(0),
            length: AtomicU32::new(0),
            defined: AtomicU32::new(0),
            quick: Quick::new(),
        }
    }

    /// The real function.
    #[inline]
    pub(crate) fn real(&self) -> usize {
        self.real.load(Ordering::Acquire)
    }

    /// The details to record.
    #[inline]
    pub(crate) fn entry(&self) -> &'static Entry {
        // SAFETY: either null or a reference to a static, stored by `fill` or `wrap`.
        unsafe { self.entry.load(Ordering::Relaxed).as_ref() }.unwrap_or(&PLAIN)
    }

    /// The detection of quick calls.
    #[inline]
    pub(crate) fn quick(&self) -> &Quick {
        &self.quick
    }

    /// Defines the symbol in the file of this process, if necessary.
    #[inline]
    pub(crate) fn define(&self, number: u16) {
        let generation = recorder::generation();
        if generation != 0 && self.defined.load(Ordering::Relaxed) != generation {
            self.define_in(number, generation);
        }
    }

    #[cold]
    fn define_in(&self, number: u16, generation: u32) {
        let text = names().text(
            self.text.load(Ordering::Relaxed),
            self.length.load(Ordering::Relaxed),
        );
        let shape = self.entry().detail.shape();
        // Two threads may both define it, with the same content.
        let open = recorder::begin(Kind::Symbol, number, u64::from(number), 0, text, false);
        if open.is_recording() {
            open.end(shape as i32, None);
            self.defined.store(generation, Ordering::Relaxed);
        }
    }
}

static WRAPPED: [Slot; SLOTS] = [const { Slot::free() }; SLOTS];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// From a real function to the number of its slot plus one: open addressing by the pointer.
const BUCKETS: usize = 4 * SLOTS;
static BY_POINTER: [AtomicU16; BUCKETS] = [const { AtomicU16::new(0) }; BUCKETS];

#[inline]
pub(crate) fn slot(number: usize) -> Option<&'static Slot> {
    WRAPPED.get(number)
}

fn places(real: usize) -> impl Iterator<Item = &'static AtomicU16> {
    let hash = (real >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) >> 20;
    (0..BUCKETS).filter_map(move |step| BY_POINTER.get(hash.wrapping_add(step) % BUCKETS))
}

fn known(real: usize) -> Option<(usize, &'static Slot)> {
    for place in places(real) {
        let number = usize::from(place.load(Ordering::Acquire)).checked_sub(1)?;
        let slot = slot(number)?;
        if slot.real() == real {
            return Some((number, slot));
        }
    }
    None
}

/// The wrapper of a real function, for the program. `name` is the base name, `library` the
/// file name of its library. Returns the real function if no wrapper is left.
pub(crate) fn wrap(
    real: *mut c_void,
    entry: &'static Entry,
    name: &[u8],
    library: &[u8],
) -> *mut c_void {
    let address = real as usize;
    if let Some((number, slot)) = known(address) {
        // Two functions may share their code. Unless both are hooked in the same way, the
        // meaning of the arguments is unknown.
        if !slot.entry().is_hooked_like(entry) {
            let plain = (&raw const PLAIN).cast_mut();
            slot.entry.store(plain, Ordering::Relaxed);
        }
        return stub(number).unwrap_or(real);
    }
    let Some(_guard) = LOCK.try_lock() else {
        return real;
    };
    if let Some((number, _)) = known(address) {
        return stub(number).unwrap_or(real);
    }
    match add(address, entry, name, library) {
        Some(number) => stub(number).unwrap_or(real),
        None => real,
    }
}

/// A separate wrapper, for functions that may have the same pointer under several names.
pub(crate) fn wrap_anew(
    real: *mut c_void,
    entry: &'static Entry,
    library: &[u8],
) -> Option<*mut c_void> {
    let _guard = LOCK.try_lock()?;
    let number = fill(real as usize, entry, entry.name.as_bytes(), library)?;
    stub(number)
}

/// Only with the lock.
fn add(real: usize, entry: &'static Entry, name: &[u8], library: &[u8]) -> Option<usize> {
    let number = fill(real, entry, name, library)?;
    let place = places(real).find(|place| place.load(Ordering::Relaxed) == 0)?;
    place.store(number as u16 + 1, Ordering::Release);
    Some(number)
}

/// Only with the lock.
fn fill(real: usize, entry: &'static Entry, name: &[u8], library: &[u8]) -> Option<usize> {
    let number = COUNT.load(Ordering::Relaxed);
    let slot = slot(number)?;
    let (text, length) = names().keep(name, library)?;
    COUNT.store(number + 1, Ordering::Relaxed);
    recorder::detail::calls_are_hooked();
    slot.text.store(text, Ordering::Relaxed);
    slot.length.store(length, Ordering::Relaxed);
    let entry = (&raw const *entry).cast_mut();
    slot.entry.store(entry, Ordering::Relaxed);
    slot.real.store(real, Ordering::Release);
    Some(number)
}

/// The names of functions and libraries for symbols. Only grows.
struct Names {
    bytes: UnsafeCell<[u8; Names::BYTES]>,
    used: AtomicUsize,
}

// SAFETY: bytes are written once, under the lock, before anything refers to them.
unsafe impl Sync for Names {}

fn names() -> &'static Names {
    static NAMES: Names = Names {
        bytes: UnsafeCell::new([0; Names::BYTES]),
        used: AtomicUsize::new(0),
    };
    &NAMES
}

impl Names {
    const BYTES: usize = 80 * SLOTS;

    /// Only with the lock.
    fn keep(&self, name: &[u8], library: &[u8]) -> Option<(u32, u32)> {
        let at = self.used.load(Ordering::Relaxed);
        let length = name.len() + 1 + library.len();
        if at + length > Names::BYTES {
            return None;
        }
        // SAFETY: within bounds, and nothing refers to these bytes yet.
        unsafe {
            let place = self.bytes.get().cast::<u8>().add(at);
            place.copy_from_nonoverlapping(name.as_ptr(), name.len());
            let place = place.add(name.len() + 1);
            place.copy_from_nonoverlapping(library.as_ptr(), library.len());
        }
        self.used.store(at + length, Ordering::Relaxed);
        Some((at as u32, length as u32))
    }

    fn text(&self, at: u32, length: u32) -> &[u8] {
        let (at, length) = (at as usize, length as usize);
        if at + length > Names::BYTES {
            return &[];
        }
        // SAFETY: within bounds, and `keep` wrote them before it returned the position.
        unsafe { std::slice::from_raw_parts(self.bytes.get().cast::<u8>().add(at), length) }
    }
}

/// Protects the assignment of slots.
static LOCK: Lock = Lock::new();

/// The entry for a name that was looked up, and its base name; `None` if the function is
/// not hooked. `is_old` means that the name refers to CUDA before 3.2.
pub(crate) fn entry_of(name: &[u8], is_old: bool) -> Option<(&'static Entry, &[u8])> {
    let base = base_name(name);
    match table::find(base) {
        Some(entry) if entry.old && is_old => Some((&PLAIN, base)),
        Some(entry) => Some((entry, base)),
        None if matches!(base, [b'c', b'u', b'A'..=b'Z', ..]) && !table::left_alone(base) => {
            Some((&PLAIN, base))
        }
        None => None,
    }
}
