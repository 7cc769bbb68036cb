//! The texts of NVTX: messages, registered ones, names of domains.
//!
//! A text that the program may free afterwards is converted to a number immediately.
//! Registered texts are never freed, because a forked child has to define them again.

use crate::hooks::words;
use crate::recorder;
use std::ffi::{c_char, c_void};

/// `nvtxEventAttributes_v2`.
#[repr(C)]
pub(super) struct Attributes {
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
const LONGEST: usize = 512;

/// The number of an event's message; 0 if it has none.
pub(super) fn name_of(attributes: *const Attributes) -> u32 {
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
pub(super) fn text_of(text: *const c_char) -> u32 {
    recorder::text(narrow_bytes(text))
}

/// The number of a text in `wchar_t`, each of which is a character here.
pub(super) fn wide(text: *const i32) -> u32 {
    let mut buffer = [0; LONGEST];
    recorder::text(wide_bytes(text, &mut buffer))
}

fn narrow_bytes<'a>(text: *const c_char) -> &'a [u8] {
    let bytes = words::text(text.cast());
    bytes.get(..LONGEST).unwrap_or(bytes)
}

fn wide_bytes(text: *const i32, buffer: &mut [u8; LONGEST]) -> &[u8] {
    let mut used = 0;
    if !text.is_null() {
        for index in 0..LONGEST {
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
pub(super) fn keep(text: *const c_char) -> *const c_void {
    handle(narrow_bytes(text))
}

/// A handle for a text in `wchar_t`.
pub(super) fn keep_wide(text: *const i32) -> *const c_void {
    let mut buffer = [0; LONGEST];
    handle(wide_bytes(text, &mut buffer))
}

fn handle(bytes: &[u8]) -> *const c_void {
    Box::into_raw(Box::new(Registered(bytes.into())))
        .cast::<c_void>()
        .cast_const()
}

/// The number of a handle's text; 0 for null, which is the default domain.
pub(super) fn number(handle: *const c_void) -> u32 {
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
        let mut buffer = [0; LONGEST];
        assert_eq!(
            wide_bytes(text.as_ptr(), &mut buffer),
            "Grüße, 世界".as_bytes()
        );
        let long: Vec<i32> = "世".repeat(400).chars().map(|one| one as i32).collect();
        assert_eq!(wide_bytes(long.as_ptr(), &mut buffer).len(), 510);
        assert_eq!(wide_bytes(std::ptr::null(), &mut buffer), b"");
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
        assert_eq!(number(std::ptr::null()), 0);
    }
}
