//! The code of the functions on x86-64.
//!
//! Those of the driver jump to their cached target. Other libraries may be loaded several
//! times in a process, so the caller is checked each time. Nothing is lost: all registers
//! that may contain arguments are saved while the target is found.

use super::exports::{Index, with_all_names};
use super::{TARGETS, resolve};
use std::arch::naked_asm;

/// Finds the target of the name whose number is in `eax`, and jumps there.
#[unsafe(naked)]
unsafe extern "C" fn find_and_jump() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 176",
        "mov [rbp - 48], rdi",
        "mov [rbp - 40], rsi",
        "mov [rbp - 32], rdx",
        "mov [rbp - 24], rcx",
        "mov [rbp - 16], r8",
        "mov [rbp - 8], r9",
        "movups [rbp - 64], xmm0",
        "movups [rbp - 80], xmm1",
        "movups [rbp - 96], xmm2",
        "movups [rbp - 112], xmm3",
        "movups [rbp - 128], xmm4",
        "movups [rbp - 144], xmm5",
        "movups [rbp - 160], xmm6",
        "movups [rbp - 176], xmm7",
        "mov edi, eax",
        "mov rsi, [rbp + 8]",
        "call {resolve}",
        "mov rdi, [rbp - 48]",
        "mov rsi, [rbp - 40]",
        "mov rdx, [rbp - 32]",
        "mov rcx, [rbp - 24]",
        "mov r8, [rbp - 16]",
        "mov r9, [rbp - 8]",
        "movups xmm0, [rbp - 64]",
        "movups xmm1, [rbp - 80]",
        "movups xmm2, [rbp - 96]",
        "movups xmm3, [rbp - 112]",
        "movups xmm4, [rbp - 128]",
        "movups xmm5, [rbp - 144]",
        "movups xmm6, [rbp - 160]",
        "movups xmm7, [rbp - 176]",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "jmp rax",
        ".cfi_endproc",
        resolve = sym resolve,
    )
}

macro_rules! functions {
    (driver: $($driver:ident)*; libraries: $($library:ident)*;) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $driver() {
                naked_asm!(
                    "mov rax, qword ptr [rip + {targets} + {offset}]",
                    "test rax, rax",
                    "jz 2f",
                    "jmp rax",
                    "2:",
                    "mov eax, {index}",
                    "jmp {find}",
                    targets = sym TARGETS,
                    offset = const Index::$driver as usize * size_of::<usize>(),
                    index = const Index::$driver as usize,
                    find = sym find_and_jump,
                )
            }
        )*
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $library() {
                naked_asm!(
                    "mov eax, {index}",
                    "jmp {find}",
                    index = const Index::$library as usize,
                    find = sym find_and_jump,
                )
            }
        )*
    };
}

with_all_names!(functions);
