//! The common code of all wrappers: begins a record, calls the real function with the same
//! words, and ends the record. Then it reads details of the call from its arguments, as
//! defined in the table; this is not part of the measured time.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use preheat_wire::{Allocation, Copied, Image, Kind, Shape};

use super::arguments::{self, Words};
use super::handles::Handles;
use super::quick::Quick;
use super::table::{Answer, Detail, Entry, HandlePosition, Library, NONE, Then};
use super::{copied, driver, image, memory, wrap};
use crate::recorder::system::Errno;
use crate::recorder::{self, Open, detail};
use crate::restore;

/// The minimum size of an allocation after which the device memory is sampled.
const SAMPLE_MEMORY_FROM: usize = 1 << 20;

/// The result of a wrapper whose slot is not in use. There is no such call.
const NO_SLOT: usize = 999;

/// The target of all wrappers.
///
/// # Safety
/// Called by a wrapper with its number and the words that it was called with.
pub(crate) unsafe extern "C" fn forward(
    number: u32,
    first: *const usize,
    rest: *const usize,
) -> usize {
    let Some(slot) = wrap::slot(number as usize) else {
        return NO_SLOT;
    };
    // SAFETY: guaranteed by the caller.
    let words = unsafe { Words::new(first, rest) };
    let symbol = number as u16;
    let (real, entry) = (slot.real(), slot.entry());
    let call = Call {
        real,
        entry,
        words,
        symbol,
    };
    if entry.often && detail::is_sparse() && !call.is_new() {
        return call.real();
    }
    slot.define(symbol);
    match entry.detail {
        Detail::Plain => call.simple(0),
        Detail::Usual => call.usual(slot.quick()),
        Detail::Launch(function) => call.launch(words.get(function)),
        Detail::Free(address) => call.simple(words.get(address)),
        Detail::Once(handle) => call.once(words.get(handle)),
        Detail::Copy {
            bytes,
            to,
            from,
            stream,
        } => call.copy(
            Some(words.get(bytes) as u64),
            &Copied {
                destination: words.get(to) as u64,
                source: words.get(from) as u64,
                stream: words.get(stream) as u64,
                reserved: 0,
            },
        ),
        _ => call.rarer(),
    }
}

/// Begins the span of a wait for the restored GPU, with the symbol of the function that
/// another process calls for that.
fn begin_wait() -> Open {
    /// No wrapper has this number.
    const SYMBOL: u16 = wrap::SLOTS as u16;
    static DEFINED: AtomicU32 = AtomicU32::new(0);
    let generation = recorder::generation();
    if generation != 0 && DEFINED.swap(generation, Ordering::Relaxed) != generation {
        let text = b"cuCheckpointProcessRestore\0libcuda.so.1";
        let open = recorder::begin(Kind::Symbol, SYMBOL, u64::from(SYMBOL), 0, text, false);
        open.end(Shape::Plain as i32, None);
    }
    recorder::begin(Kind::Call, SYMBOL, 0, 0, &[], false)
}

/// A call in progress.
#[derive(Clone, Copy)]
struct Call {
    real: usize,
    entry: &'static Entry,
    words: Words,
    symbol: u16,
}

impl Call {
    #[inline]
    fn begin(self, value: u64, slots: usize, text: &[u8]) -> Open {
        recorder::begin(Kind::Call, self.symbol, value, slots, text, self.entry.hot)
    }

    #[inline]
    fn real(self) -> usize {
        if restore::is_under_way() {
            return self.behind_restore();
        }
        self.forwarded()
    }

    /// A call that waits in the driver until the GPU is restored. The wait is a span within
    /// that of the call; its length is 0 if the call did not wait.
    #[cold]
    #[inline(never)]
    fn behind_restore(self) -> usize {
        let open = begin_wait();
        let result = self.forwarded();
        let now = recorder::now();
        let end = restore::ended().map_or(open.began(), |end| end.clamp(open.began(), now));
        open.end_at(end, 0, None);
        result
    }

    #[inline]
    fn forwarded(self) -> usize {
        // SAFETY: the slot's function and the words of its call; the entry defines how many
        // words a function of this name has.
        unsafe { self.words.call(self.real, self.entry.width) }
    }

    /// The status of the call: 0 is success.
    #[inline]
    fn status(self, result: usize) -> i32 {
        match self.entry.answer {
            Answer::Status => result as i32,
            Answer::Handle(NONE) => i32::from(result == 0),
            Answer::Handle(_) if result != 0 => 0,
            // A negative number is the error that the function stored; some store none.
            Answer::Handle(error) => self
                .words
                .out::<i32>(error)
                .filter(|&code| code != 0)
                .unwrap_or(-1),
        }
    }

    #[inline]
    fn simple(self, value: usize) -> usize {
        let open = self.begin(value as u64, 0, &[]);
        let result = self.real();
        let status = self.status(result);
        open.end(status, None);
        self.then(status);
        result
    }

    #[inline]
    fn usual(self, quick: &Quick) -> usize {
        if !quick.is_worth_it() {
            return self.real();
        }
        let open = self.begin(0, 0, &[]);
        let result = self.real();
        let time = recorder::now();
        if open.is_recording() {
            quick.took(time.saturating_sub(open.began()));
        }
        open.end_at(time, self.status(result), None);
        result
    }

    /// The first query about a handle may load its kernel; all others are cheaper than
    /// their record.
    #[inline]
    fn once(self, handle: usize) -> usize {
        if self.is_first_of(handle) {
            self.simple(handle)
        } else {
            self.real()
        }
    }

    /// Returns whether this function is called with this handle for the first time.
    #[inline]
    fn is_first_of(self, handle: usize) -> bool {
        static SEEN: Handles<32768> = Handles::new();
        // Addresses have 48 bits: the bits above distinguish the functions.
        SEEN.is_new(handle ^ (usize::from(self.symbol) << 48))
    }

    #[inline]
    fn launch(self, function: usize) -> usize {
        let result = self.simple(function);
        if self.status(result) == 0
            && memory::is_first_launch(function)
            && self.entry.library == Library::Driver
        {
            memory::sample(self.symbol, memory::Priority::Low);
        }
        result
    }

    /// Returns whether a call that would be left out is one that no iteration has made
    /// before: the first launch of a kernel.
    #[inline]
    fn is_new(self) -> bool {
        let Detail::Launch(function) = self.entry.detail else {
            return false;
        };
        let new = !memory::was_launched(self.words.get(function));
        if new {
            detail::request_window();
        }
        new
    }

    #[inline]
    fn copy(self, bytes: Option<u64>, copied: &Copied) -> usize {
        let open = self.begin(bytes.unwrap_or(0), 1, &[]);
        open.put(0, copied);
        let result = self.real();
        open.end(self.status(result), None);
        result
    }

    #[inline(never)]
    fn rarer(self) -> usize {
        match self.entry.detail {
            Detail::Heavy => self.heavy(),
            Detail::Allocate { .. } | Detail::AllocatePitch | Detail::AllocateArray { .. } => {
                self.allocate()
            }
            Detail::CopyRegion { region, to, from } => {
                let (bytes, copied) = copied::region(self.words, region, to, from);
                self.copy(bytes, &copied)
            }
            Detail::CopyDescribed { sizes, stream } => {
                let (bytes, copied) = copied::described(self.words, sizes, stream);
                self.copy(bytes, &copied)
            }
            Detail::CopyBatch => self.copy(copied::batch(self.words), &Copied::default()),
            Detail::Module { code, is_file } => self.load(code, is_file),
            Detail::Lookup { name, place } => self.look_up(self.words.text(name), place),
            Detail::Alias => self.alias(),
            Detail::ProcAddress => self.proc_address(),
            Detail::Plain
            | Detail::Usual
            | Detail::Launch(_)
            | Detail::Free(_)
            | Detail::Once(_)
            | Detail::Copy { .. } => self.simple(0),
        }
    }

    fn heavy(self) -> usize {
        detail::request_window();
        let open = self.begin(0, 1, &[]);
        let usage = recorder::usage();
        let result = self.real();
        let time = recorder::now();
        let status = self.status(result);
        open.put(0, &usage.since());
        open.end_at(time, status, None);
        self.then(status);
        result
    }

    fn allocate(self) -> usize {
        let stream = match self.entry.detail {
            Detail::Allocate { stream, .. } => self.words.get(stream),
            _ => 0,
        };
        let open = self.begin(self.bytes().unwrap_or(0) as u64, 1, &[]);
        let result = self.real();
        let time = recorder::now();
        let status = self.status(result);
        let place = match self.entry.detail {
            Detail::Allocate { place, .. } => place,
            _ => HandlePosition::Out(0),
        };
        let bytes = match self.entry.detail {
            Detail::AllocatePitch if status == 0 => self.pitched(),
            _ => self.bytes(),
        };
        let pointer = if status == 0 {
            self.at(place, result)
        } else {
            0
        };
        open.put(
            0,
            &Allocation {
                pointer,
                stream: stream as u64,
                reserved: [0; 2],
            },
        );
        open.end_at(time, status, bytes.map(|bytes| bytes as u64));
        if self.entry.library == Library::Driver
            && status == 0
            && bytes >= Some(SAMPLE_MEMORY_FROM)
            && stream == 0
        {
            memory::sample(self.symbol, memory::Priority::Low);
        }
        result
    }

    /// The requested size, if it is known before the call.
    fn bytes(self) -> Option<usize> {
        match self.entry.detail {
            Detail::Allocate { bytes, .. } => Some(self.words.get(bytes)),
            Detail::AllocateArray { sizes } => copied::array(self.words, sizes),
            _ => None,
        }
    }

    fn pitched(self) -> Option<usize> {
        self.words.out::<usize>(1)?.checked_mul(self.words.get(3))
    }

    /// A handle or an address that a successful call returned.
    fn at(self, place: HandlePosition, result: usize) -> u64 {
        match place {
            HandlePosition::Out(index) => self.words.out::<u64>(index).unwrap_or(0),
            HandlePosition::In(index) => self.words.get(index) as u64,
            HandlePosition::Returned => result as u64,
        }
    }

    fn load(self, code: u8, is_file: bool) -> usize {
        detail::request_window();
        let open = self.begin(0, 2, &[]);
        let usage = recorder::usage();
        let result = self.real();
        let time = recorder::now();
        let status = self.status(result);
        open.put(0, &usage.since());
        let code = self.words.get(code) as *const u8;
        if status == 0 && open.is_recording() {
            let _errno = Errno::keep();
            let image = match (is_file, arguments::path(code)) {
                (true, Some(path)) => image::file(path),
                (true, None) => Image::default(),
                // SAFETY: the driver has just loaded it, so it is code.
                (false, _) => unsafe { image::code(code, driver::architecture()) },
            };
            open.put(1, &image);
        }
        let handle = if status == 0 {
            self.at(HandlePosition::Out(0), result)
        } else {
            0
        };
        open.end_at(time, status, Some(handle));
        if status == 0 {
            memory::sample(self.symbol, memory::Priority::High);
        }
        result
    }

    fn look_up(self, name: &[u8], place: HandlePosition) -> usize {
        let open = self.begin(0, 0, name);
        let result = self.real();
        let time = recorder::now();
        let status = self.status(result);
        let handle = if status == 0 {
            self.at(place, result)
        } else {
            0
        };
        open.end_at(time, status, Some(handle));
        result
    }

    fn alias(self) -> usize {
        if !self.is_first_of(self.words.get(1)) {
            return self.real();
        }
        let open = self.begin(0, 1, &[]);
        let kernel = self.words.get(1) as u64;
        open.put(
            0,
            &Allocation {
                pointer: kernel,
                ..Allocation::default()
            },
        );
        let result = self.real();
        let time = recorder::now();
        let status = self.status(result);
        let function = if status == 0 {
            self.at(HandlePosition::Out(0), result)
        } else {
            0
        };
        open.end_at(time, status, Some(function));
        result
    }

    /// Wraps the function that the driver returns for a name.
    fn proc_address(self) -> usize {
        let result = self.simple(0);
        let place = self.words.get(1) as *mut *mut c_void;
        if self.status(result) != 0 || place.is_null() {
            return result;
        }
        let is_old = (self.words.get(2) as i32) < 3020;
        // SAFETY: the driver has succeeded, so this argument points to the address that it
        // has just stored.
        unsafe {
            *place = super::given(self.words.text(0), *place, is_old);
        }
        result
    }

    /// The side effects of a call.
    #[inline]
    fn then(self, status: i32) {
        match self.entry.then {
            Then::Nothing => {}
            Then::Context if status == 0 => {
                memory::sample_in(self.words.out::<usize>(0).unwrap_or(0), self.symbol);
            }
            Then::Context => {}
            Then::EventRecorded if status == 0 => driver::recorded(self.words),
            Then::Elapsed if status == 0 => driver::elapsed(self.words),
            Then::EventRecorded | Then::Elapsed => {}
            Then::CaptureBegan if status == 0 => memory::capture_began(),
            Then::CaptureBegan => {}
            // A failed capture is over, too.
            Then::CaptureEnded => memory::capture_ended(),
        }
    }
}
