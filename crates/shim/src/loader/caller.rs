//! Calls a function so that it sees another caller than us.
//!
//! The C library's `dlopen` and `dlsym` identify their caller by the return address. So we
//! find a `ret` instruction in the real caller's object and use it as the return address,
//! with ours beneath it on the stack: the function returns to that `ret`, which returns to
//! us. With a shadow stack the processor would fault; then, and on other architectures,
//! there is no such address.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU8, Ordering};

use super::mapped_objects::{self, Around, Mapped, each_mapped};
use super::{Call, Step};

/// Defines an exported function in assembly for each processor. `work` is what it calls.
macro_rules! define_entry {
    (
        $export:meta, $(#[$meta:meta])* $name:ident($($argument:ty),*) => $work:ident,
        x86_64: [$($x86_64:literal,)*], aarch64: [$($aarch64:literal,)*]
    ) => {
        $(#[$meta])*
        ///
        /// # Safety
        /// Same as the next function of this name.
        #[unsafe(naked)]
        #[cfg_attr(not(test), $export)]
        #[cfg(target_arch = "x86_64")]
        pub unsafe extern "C" fn $name($(_: $argument),*) -> *mut std::ffi::c_void {
            std::arch::naked_asm!($($x86_64,)* work = sym $work)
        }

        $(#[$meta])*
        ///
        /// # Safety
        /// Same as the next function of this name.
        #[unsafe(naked)]
        #[cfg_attr(not(test), $export)]
        #[cfg(target_arch = "aarch64")]
        pub unsafe extern "C" fn $name($(_: $argument),*) -> *mut std::ffi::c_void {
            std::arch::naked_asm!($($aarch64,)* work = sym $work)
        }

        // The call is passed and the step returned in two registers, which the assembly relies
        // on.
        const _: extern "C" fn(
            *mut std::ffi::c_void,
            *const std::ffi::c_char,
            $crate::loader::Call,
        ) -> $crate::loader::Step = $work;
    };
}
pub(crate) use define_entry;

/// Defines an exported function of two arguments that calls a function of three: the third
/// is the [`Call`](super::Call). It then returns, or jumps to the target of the step with its
/// original arguments.
///
/// `as` sets a different symbol name.
macro_rules! entry {
    ($(#[$meta:meta])* $name:ident => $work:ident) => {
        $crate::loader::entry!(@ unsafe(no_mangle), $(#[$meta])* $name => $work);
    };
    ($(#[$meta:meta])* $name:ident as $symbol:literal => $work:ident) => {
        $crate::loader::entry!(@ unsafe(export_name = $symbol), $(#[$meta])* $name => $work);
    };
    (@ $export:meta, $(#[$meta:meta])* $name:ident => $work:ident) => {
        $crate::loader::define_entry!(
            $export,
            $(#[$meta])* $name(*mut std::ffi::c_void, *const std::ffi::c_char) => $work,
            x86_64: [
                "push rdi",
                "push rsi",
                "sub rsp, 8",
                "mov rdx, [rsp + 24]",
                "lea rcx, [rsp + 24]",
                "call {work}",
                "add rsp, 8",
                "pop rsi",
                "pop rdi",
                "test rdx, rdx",
                "jnz 2f",
                "ret",
                "2: jmp rdx",
            ],
            aarch64: [
                "stp x29, x30, [sp, #-32]!",
                "stp x0, x1, [sp, #16]",
                "mov x2, x30",
                "add x3, sp, #32",
                "bl {work}",
                "mov x17, x0",
                "mov x16, x1",
                "ldp x0, x1, [sp, #16]",
                "ldp x29, x30, [sp], #32",
                "cbnz x16, 2f",
                "mov x0, x17",
                "ret",
                "2: br x16",
            ]
        );
    };
}
pub(crate) use entry;

/// Like [`entry`], for a name that a library may also define itself: the jump keeps
/// all registers that may hold arguments, and those on the stack.
macro_rules! entry_of_any_type {
    ($(#[$meta:meta])* $name:ident => $work:ident) => {
        // On x86-64, 56 bytes of registers and 128 of vectors; rax has the number of vectors.
        $crate::loader::define_entry!(
            unsafe(no_mangle),
            $(#[$meta])* $name() => $work,
            x86_64: [
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "push rax",
                "sub rsp, 128",
                "movups [rsp], xmm0",
                "movups [rsp + 16], xmm1",
                "movups [rsp + 32], xmm2",
                "movups [rsp + 48], xmm3",
                "movups [rsp + 64], xmm4",
                "movups [rsp + 80], xmm5",
                "movups [rsp + 96], xmm6",
                "movups [rsp + 112], xmm7",
                "mov rdx, [rsp + 184]",
                "lea rcx, [rsp + 184]",
                "call {work}",
                "test rdx, rdx",
                "jnz 2f",
                "add rsp, 184",
                "ret",
                "2: mov r11, rdx",
                "movups xmm0, [rsp]",
                "movups xmm1, [rsp + 16]",
                "movups xmm2, [rsp + 32]",
                "movups xmm3, [rsp + 48]",
                "movups xmm4, [rsp + 64]",
                "movups xmm5, [rsp + 80]",
                "movups xmm6, [rsp + 96]",
                "movups xmm7, [rsp + 112]",
                "add rsp, 128",
                "pop rax",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp r11",
            ],
            aarch64: [
                "stp x29, x30, [sp, #-224]!",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "str x8, [sp, #80]",
                "stp q0, q1, [sp, #96]",
                "stp q2, q3, [sp, #128]",
                "stp q4, q5, [sp, #160]",
                "stp q6, q7, [sp, #192]",
                "mov x2, x30",
                "add x3, sp, #224",
                "bl {work}",
                "mov x17, x0",
                "mov x16, x1",
                "ldp x0, x1, [sp, #16]",
                "ldp x2, x3, [sp, #32]",
                "ldp x4, x5, [sp, #48]",
                "ldp x6, x7, [sp, #64]",
                "ldr x8, [sp, #80]",
                "ldp q0, q1, [sp, #96]",
                "ldp q2, q3, [sp, #128]",
                "ldp q4, q5, [sp, #160]",
                "ldp q6, q7, [sp, #192]",
                "ldp x29, x30, [sp], #224",
                "cbnz x16, 2f",
                "mov x0, x17",
                "ret",
                "2: br x16",
            ]
        );
    };
}
pub(crate) use entry_of_any_type;

const _: () = assert!(size_of::<Call>() == 16 && size_of::<Step>() == 16);

/// Calls `function(a, b)` so that its return address is `gadget`.
///
/// # Safety
/// The function must accept two words, and these values; the gadget must come from
/// [`gadget`].
#[unsafe(naked)]
#[cfg(target_arch = "x86_64")]
pub(super) unsafe extern "C" fn call_as(
    _function: *const c_void,
    _gadget: *const u8,
    _a: *mut c_void,
    _b: *mut c_void,
) -> *mut c_void {
    // After the two pushes the stack is aligned as at the entry of any function.
    std::arch::naked_asm!(
        "mov rax, rdi",
        "mov r10, rsi",
        "mov rdi, rdx",
        "mov rsi, rcx",
        "lea r11, [rip + 2f]",
        "push r11",
        "push r10",
        "jmp rax",
        "2: ret",
    )
}

/// Calls `function(a, b)`. Not used, since no gadget is ever found on this architecture.
///
/// # Safety
/// The function must accept two words, and these values.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe extern "C" fn call_as(
    function: *const c_void,
    _gadget: *const u8,
    a: *mut c_void,
    b: *mut c_void,
) -> *mut c_void {
    // SAFETY: guaranteed by the caller.
    let function: unsafe extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void =
        unsafe { std::mem::transmute(function) };
    // SAFETY: guaranteed by the caller.
    unsafe { function(a, b) }
}

/// The tags of an object's initialization and termination functions in its dynamic section.
const DT_INIT: i64 = 12;
const DT_FINI: i64 = 13;

/// The address of a `ret` in the object that contains `caller`. Searched each time: the
/// object may have been unloaded and replaced by another.
pub(super) fn gadget(caller: *const u8) -> Option<*const u8> {
    if cfg!(not(target_arch = "x86_64")) || has_shadow_stack() {
        return None;
    }
    match mapped_objects::around(caller) {
        Around::Object(_, _, info) => ret_in(&Mapped::new(&info), caller as usize),
        Around::Nothing => None,
        Around::Unknown => {
            let mut found = None;
            each_mapped(|mapped| {
                let here = mapped.covers(caller as usize, 1, libc::PF_X);
                if here {
                    found = ret_in(mapped, caller as usize);
                }
                here
            });
            found
        }
    }
}

fn ret_in(mapped: &Mapped<'_>, caller: usize) -> Option<*const u8> {
    if !mapped.covers(caller, 1, libc::PF_X) {
        return None;
    }
    // The ends of `_fini` and `_init` come first: no unwind information covers them, so
    // that a stack walk stops there instead of being misled.
    [DT_FINI, DT_INIT]
        .into_iter()
        .filter_map(|tag| dynamic(mapped, tag))
        .find_map(|begin| ret_from(mapped, begin, 32))
        .or_else(|| ret_from(mapped, caller, 65536))
}

fn ret_from(mapped: &Mapped<'_>, begin: usize, bytes: usize) -> Option<*const u8> {
    const RET: u8 = 0xc3;
    (begin..begin.saturating_add(bytes))
        .take_while(|&address| mapped.covers(address, 1, libc::PF_X | libc::PF_R))
        .map(|address| address as *const u8)
        // SAFETY: a readable segment of a mapped object covers the address.
        .find(|&address| unsafe { address.read_volatile() } == RET)
}

fn dynamic(mapped: &Mapped<'_>, tag: i64) -> Option<usize> {
    let segment = mapped
        .segments()
        .iter()
        .find(|segment| segment.p_type == libc::PT_DYNAMIC)?;
    let begin = mapped.base().wrapping_add(segment.p_vaddr as usize);
    let count = segment.p_memsz as usize / 16;
    if !mapped.covers(begin, count * 16, libc::PF_R) {
        return None;
    }
    // SAFETY: a readable segment covers the entries, which are pairs of words.
    let entries = unsafe { std::slice::from_raw_parts(begin as *const [i64; 2], count) };
    entries
        .iter()
        .find(|entry| entry[0] == tag)
        .map(|entry| mapped.base().wrapping_add(entry[1] as usize))
}

/// Returns whether the processor checks return addresses in this process.
fn has_shadow_stack() -> bool {
    const UNKNOWN: u8 = 0;
    const NO: u8 = 1;
    const YES: u8 = 2;
    static KNOWN: AtomicU8 = AtomicU8::new(UNKNOWN);
    match KNOWN.load(Ordering::Relaxed) {
        UNKNOWN => {}
        known => return known == YES,
    }
    let yes = query_shadow_stack();
    KNOWN.store(if yes { YES } else { NO }, Ordering::Relaxed);
    yes
}

#[cfg(target_arch = "x86_64")]
fn query_shadow_stack() -> bool {
    const ARCH_SHSTK_STATUS: i64 = 0x5005;
    let _errno = crate::recorder::system::Errno::keep();
    let mut features = 0u64;
    // SAFETY: the kernel writes one word, or none if it does not know the request.
    let asked =
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SHSTK_STATUS, &raw mut features) };
    asked == 0 && features & 1 != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn query_shadow_stack() -> bool {
    true
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    extern "C" fn second(a: *mut c_void, b: *mut c_void) -> *mut c_void {
        let _ = a;
        b
    }

    #[test]
    fn a_call_through_a_gadget_returns() {
        assert!(crate::loader::prepare());
        let here = gadget(second as *const u8);
        if has_shadow_stack() {
            assert!(here.is_none());
            return;
        }
        let gadget = here.unwrap();
        let value = 42usize as *mut c_void;
        // SAFETY: a function of two words, and a gadget that was found.
        let got = unsafe { call_as(second as *const c_void, gadget, std::ptr::null_mut(), value) };
        assert_eq!(got, value);
    }

    #[test]
    fn there_is_no_gadget_outside_objects() {
        let heap = Box::new(0u8);
        assert!(gadget(&raw const *heap).is_none());
    }
}
