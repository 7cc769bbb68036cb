//! The code of the wrappers on x86-64: each only loads its number, in twelve bytes; the
//! rest is shared by all.
//!
//! The six words in registers are stored contiguously. Words on the stack stay where the
//! caller put them and are read from there.

use super::super::call::forward;
use super::SLOTS;
use std::arch::naked_asm;
use std::ffi::c_void;

/// The target of every wrapper, with its number in `eax`.
#[unsafe(naked)]
unsafe extern "C" fn common() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 48",
        "mov [rbp - 48], rdi",
        "mov [rbp - 40], rsi",
        "mov [rbp - 32], rdx",
        "mov [rbp - 24], rcx",
        "mov [rbp - 16], r8",
        "mov [rbp - 8], r9",
        "mov edi, eax",
        "lea rsi, [rbp - 48]",
        "lea rdx, [rbp + 16]",
        "call {forward}",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        forward = sym forward,
    )
}

#[unsafe(naked)]
unsafe extern "C" fn wrapper<const NUMBER: usize>() {
    naked_asm!("mov eax, {}", "jmp {}", const NUMBER, sym common)
}

type Wrapper = unsafe extern "C" fn();

macro_rules! sixteen {
    ($from:expr) => {
        [
            wrapper::<{ $from }>,
            wrapper::<{ $from + 1 }>,
            wrapper::<{ $from + 2 }>,
            wrapper::<{ $from + 3 }>,
            wrapper::<{ $from + 4 }>,
            wrapper::<{ $from + 5 }>,
            wrapper::<{ $from + 6 }>,
            wrapper::<{ $from + 7 }>,
            wrapper::<{ $from + 8 }>,
            wrapper::<{ $from + 9 }>,
            wrapper::<{ $from + 10 }>,
            wrapper::<{ $from + 11 }>,
            wrapper::<{ $from + 12 }>,
            wrapper::<{ $from + 13 }>,
            wrapper::<{ $from + 14 }>,
            wrapper::<{ $from + 15 }>,
        ]
    };
}

macro_rules! two_hundred_and_fifty_six {
    ($from:expr) => {
        [
            sixteen!($from),
            sixteen!($from + 16),
            sixteen!($from + 32),
            sixteen!($from + 48),
            sixteen!($from + 64),
            sixteen!($from + 80),
            sixteen!($from + 96),
            sixteen!($from + 112),
            sixteen!($from + 128),
            sixteen!($from + 144),
            sixteen!($from + 160),
            sixteen!($from + 176),
            sixteen!($from + 192),
            sixteen!($from + 208),
            sixteen!($from + 224),
            sixteen!($from + 240),
        ]
    };
}

static WRAPPERS: [[[Wrapper; 16]; 16]; SLOTS / 256] = [
    two_hundred_and_fifty_six!(0),
    two_hundred_and_fifty_six!(256),
    two_hundred_and_fifty_six!(512),
    two_hundred_and_fifty_six!(768),
];

/// The code of a wrapper.
pub(crate) fn stub(number: usize) -> Option<*mut c_void> {
    let wrapper = WRAPPERS
        .get(number / 256)?
        .get(number / 16 % 16)?
        .get(number % 16)?;
    Some(*wrapper as *mut c_void)
}
