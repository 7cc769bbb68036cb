//! NVTX: ranges and marks that a program names.
//!
//! The NVTX header loads the library in `NVTX_INJECTION64_PATH` and calls
//! [`InitializeInjectionNvtx2`], which puts our functions into its tables. Without a tool,
//! NVTX returns numbers that mean *not tracked*; ours are the same, except for the handles
//! by which we identify texts and ranges.

mod ranges;

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null;

use crate::hooks::arguments;
use crate::recorder;

pub(super) use ranges::is_within;

/// The result of `nvtxRangePush` when nesting is not tracked.
const NOT_TRACKED: c_int = -2;

type Function = *const c_void;
type GetExportTable = unsafe extern "C" fn(u32) -> *const c_void;

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    size: usize,
    module: Option<unsafe extern "C" fn(u32, *mut *mut *mut Function, *mut u32) -> c_int>,
}

const CALLBACKS: u32 = 1;
const CORE: u32 = 1;
const CORE_2: u32 = 5;

/// Hooks the relevant functions of NVTX. Returns whether it succeeded.
///
/// # Safety
/// Called by NVTX, with its own function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(tables: Option<GetExportTable>) -> c_int {
    let Some(tables) = tables.filter(|_| recorder::should_hook()) else {
        return 0;
    };
    // SAFETY: NVTX's function returns a table of this layout, or null.
    let Some(callbacks) = (unsafe { tables(CALLBACKS).cast::<Callbacks>().as_ref() }) else {
        return 0;
    };
    let Some(module) = callbacks
        .module
        .filter(|_| callbacks.size >= size_of::<Callbacks>())
    else {
        return 0;
    };
    let core: [(usize, Function); 11] = [
        (1, mark_ex as Function),
        (2, mark as Function),
        (3, mark_wide as Function),
        (4, start_ex as Function),
        (5, start as Function),
        (6, start_wide as Function),
        (7, end as Function),
        (8, push_ex as Function),
        (9, push as Function),
        (10, push_wide as Function),
        (11, pop as Function),
    ];
    let core_2: [(usize, Function); 9] = [
        (1, domain_mark_ex as Function),
        (2, domain_start_ex as Function),
        (3, domain_end as Function),
        (4, domain_push_ex as Function),
        (5, domain_pop as Function),
        (10, domain_register as Function),
        (11, domain_register_wide as Function),
        (12, domain_create as Function),
        (13, domain_create_wide as Function),
    ];
    for (number, functions) in [(CORE, core.as_slice()), (CORE_2, core_2.as_slice())] {
        let (mut table, mut count) = (std::ptr::null_mut::<*mut Function>(), 0u32);
        // SAFETY: NVTX's function, which writes a table and its size.
        if unsafe { module(number, &mut table, &mut count) } == 0 || table.is_null() {
            continue;
        }
        for &(index, function) in functions
            .iter()
            .filter(|(index, _)| *index < count as usize)
        {
            // SAFETY: the table has this many pointers to function pointers.
            unsafe {
                if let Some(place) = (*table.add(index)).as_mut() {
                    *place = function;
                }
            }
        }
    }
    1
}

// The functions of the default domain, whose handle is null.

unsafe extern "C" fn mark_ex(attributes: *const Attributes) {
    ranges::mark(null(), name_of(attributes));
}

unsafe extern "C" fn mark(text: *const c_char) {
    ranges::mark(null(), text_of(text));
}

unsafe extern "C" fn mark_wide(text: *const i32) {
    ranges::mark(null(), wide(text));
}

unsafe extern "C" fn start_ex(attributes: *const Attributes) -> u64 {
    ranges::start(null(), name_of(attributes))
}

unsafe extern "C" fn start(text: *const c_char) -> u64 {
    ranges::start(null(), text_of(text))
}

unsafe extern "C" fn start_wide(text: *const i32) -> u64 {
    ranges::start(null(), wide(text))
}

unsafe extern "C" fn end(range: u64) {
    ranges::end(range);
}

unsafe extern "C" fn push_ex(attributes: *const Attributes) -> c_int {
    ranges::push(null(), name_of(attributes));
    NOT_TRACKED
}

unsafe extern "C" fn push(text: *const c_char) -> c_int {
    ranges::push(null(), text_of(text));
    NOT_TRACKED
}

unsafe extern "C" fn push_wide(text: *const i32) -> c_int {
    ranges::push(null(), wide(text));
    NOT_TRACKED
}

unsafe extern "C" fn pop() -> c_int {
    ranges::pop(null());
    NOT_TRACKED
}

// The functions of other domains. We keep the handles of domains and registered texts.

unsafe extern "C" fn domain_mark_ex(domain: *const c_void, attributes: *const Attributes) {
    ranges::mark(domain, name_of(attributes));
}

unsafe extern "C" fn domain_start_ex(domain: *const c_void, attributes: *const Attributes) -> u64 {
    ranges::start(domain, name_of(attributes))
}

unsafe extern "C" fn domain_end(_: *const c_void, range: u64) {
    ranges::end(range);
}

unsafe extern "C" fn domain_push_ex(domain: *const c_void, attributes: *const Attributes) -> c_int {
    ranges::push(domain, name_of(attributes));
    NOT_TRACKED
}

unsafe extern "C" fn domain_pop(domain: *const c_void) -> c_int {
    ranges::pop(domain);
    NOT_TRACKED
}

unsafe extern "C" fn domain_register(_: *const c_void, text: *const c_char) -> *const c_void {
    keep(text)
}

unsafe extern "C" fn domain_register_wide(_: *const c_void, text: *const i32) -> *const c_void {
    keep_wide(text)
}

unsafe extern "C" fn domain_create(text: *const c_char) -> *const c_void {
    keep(text)
}

unsafe extern "C" fn domain_create_wide(text: *const i32) -> *const c_void {
    keep_wide(text)
}

// The texts of NVTX: messages, registered ones, names of domains.
//
// A text that the program may free afterwards is converted to a number immediately.
// Registered texts are never freed, because a forked child has to define them again.

/// `nvtxEventAttributes_v2`.
#[repr(C)]
struct Attributes {
    version: u16,
    size: u16,
    category: u32,
    color: [u32; 2],
    payload_type: [u32; 2],
    payload: u64,
    message_type: i32,
    message: *const c_void,
}

const ASCII: i32 = 1;
const WIDE: i32 = 2;
const REGISTERED: i32 = 3;

/// The maximum length of a text, in bytes.
const MAX_TEXT_BYTES: usize = 512;

/// The number of an event's message; 0 if it has none.
fn name_of(attributes: *const Attributes) -> u32 {
    // SAFETY: NVTX forwards the program's argument: attributes of this layout, or null.
    let Some(attributes) = (unsafe { attributes.as_ref() }) else {
        return 0;
    };
    if usize::from(attributes.size) < size_of::<Attributes>() {
        return 0;
    }
    match attributes.message_type {
        ASCII => text_of(attributes.message.cast()),
        WIDE => wide(attributes.message.cast()),
        REGISTERED => number(attributes.message),
        _ => 0,
    }
}

/// The number of a text.
fn text_of(text: *const c_char) -> u32 {
    recorder::text(narrow_bytes(text))
}

/// The number of a text in `wchar_t`, each of which is a character here.
fn wide(text: *const i32) -> u32 {
    let mut buffer = [0; MAX_TEXT_BYTES];
    recorder::text(wide_bytes(text, &mut buffer))
}

fn narrow_bytes<'a>(text: *const c_char) -> &'a [u8] {
    let bytes = arguments::text(text.cast());
    bytes.get(..MAX_TEXT_BYTES).unwrap_or(bytes)
}

fn wide_bytes(text: *const i32, buffer: &mut [u8; MAX_TEXT_BYTES]) -> &[u8] {
    let mut used = 0;
    if !text.is_null() {
        for index in 0..MAX_TEXT_BYTES {
            // SAFETY: as long as no 0 was found there is a next one.
            let character = unsafe { text.add(index).read_unaligned() };
            if character == 0 {
                break;
            }
            let character = char::from_u32(character as u32).unwrap_or(char::REPLACEMENT_CHARACTER);
            let Some(place) = buffer.get_mut(used..used + character.len_utf8()) else {
                break;
            };
            used += character.encode_utf8(place).len();
        }
    }
    buffer.get(..used).unwrap_or_default()
}

/// A text that is never freed; its address is the program's handle.
struct Registered(Box<[u8]>);

/// A handle for a text.
fn keep(text: *const c_char) -> *const c_void {
    handle(narrow_bytes(text))
}

/// A handle for a text in `wchar_t`.
fn keep_wide(text: *const i32) -> *const c_void {
    let mut buffer = [0; MAX_TEXT_BYTES];
    handle(wide_bytes(text, &mut buffer))
}

fn handle(bytes: &[u8]) -> *const c_void {
    Box::into_raw(Box::new(Registered(bytes.into())))
        .cast::<c_void>()
        .cast_const()
}

/// The number of a handle's text; 0 for null, which is the default domain.
fn number(handle: *const c_void) -> u32 {
    if handle.is_null() {
        return 0;
    }
    // SAFETY: the program gets its handles from us.
    recorder::text(unsafe { &(*handle.cast::<Registered>()).0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_the_layout_of_nvtx() {
        assert_eq!(size_of::<Attributes>(), 48);
        assert_eq!(std::mem::offset_of!(Attributes, message_type), 32);
    }

    #[test]
    fn wide_texts_become_utf_8() {
        let text: Vec<i32> = "Grüße, 世界\0".chars().map(|one| one as i32).collect();
        let mut buffer = [0; MAX_TEXT_BYTES];
        assert_eq!(
            wide_bytes(text.as_ptr(), &mut buffer),
            "Grüße, 世界".as_bytes()
        );
        let long: Vec<i32> = "世".repeat(400).chars().map(|one| one as i32).collect();
        assert_eq!(wide_bytes(long.as_ptr(), &mut buffer).len(), 510);
        assert_eq!(wide_bytes(null(), &mut buffer), b"");
        assert_eq!(
            wide_bytes([0x7fff_ffff, 0].as_ptr(), &mut buffer),
            "\u{fffd}".as_bytes()
        );
    }

    #[test]
    fn a_handle_keeps_its_text() {
        let handle = keep(c"domain".as_ptr());
        // SAFETY: a handle that was just made.
        assert_eq!(&*unsafe { &*handle.cast::<Registered>() }.0, b"domain");
        assert_eq!(number(null()), 0);
    }
}
