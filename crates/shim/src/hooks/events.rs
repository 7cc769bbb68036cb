//! CUDA events that a native program records to time itself, and the times between them.
//!
//! A program mostly records an event through the CUDA runtime, which is a library or part
//! of the executable. The recorder keeps every return address of the executable that lies
//! on the stack: the one that has a source line is the program's own. Python programs have
//! their own hooks ([`crate::python`]).

use super::words::Words;
use crate::clocks;
use crate::recorder::system::Errno;

/// Addresses that are kept of a call.
const MOST: usize = 6;
/// Words of the stack that are searched for them.
const SEARCHED: usize = 512;
const PAGE: usize = 4096;

/// An event was recorded.
#[cold]
pub(super) fn recorded(words: Words) {
    if !clocks::has_own_code() || !clocks::may_record() {
        return;
    }
    let _errno = Errno::keep();
    let mut callers = [0; MOST];
    let count = callers_on(words.stack(), &mut callers);
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

/// Finds the executable's return addresses on the stack from here on, innermost first.
fn callers_on(stack: usize, callers: &mut [usize; MOST]) -> usize {
    let mut words = [0_usize; SEARCHED];
    let read = copy_of_stack(stack, &mut words);
    let mut count = 0;
    for &word in words.get(..read).unwrap_or_default() {
        if clocks::is_own(word as *const u8) && follows_a_call(word) {
            match callers.get_mut(count) {
                Some(place) => *place = word,
                None => break,
            }
            count += 1;
        }
    }
    count
}

/// Copies words from the stack as far as it reaches, and returns their number. The kernel
/// copies them, because it knows where the stack ends.
fn copy_of_stack(stack: usize, words: &mut [usize; SEARCHED]) -> usize {
    if stack == 0 {
        return 0;
    }
    let bytes = size_of_val(words);
    let to_page = PAGE - stack % PAGE;
    let parts = [
        (stack, to_page.min(bytes)),
        (stack + to_page, bytes.saturating_sub(to_page)),
    ];
    let remote = parts.map(|(from, length)| libc::iovec {
        iov_base: from as *mut libc::c_void,
        iov_len: length,
    });
    let local = libc::iovec {
        iov_base: words.as_mut_ptr().cast(),
        iov_len: bytes,
    };
    // SAFETY: the kernel writes at most the buffer's length to it, and checks what it reads.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, remote.as_ptr(), 2, 0) };
    usize::try_from(read).unwrap_or(0) / size_of::<usize>()
}

/// Whether a call instruction ends at this address of the executable.
fn follows_a_call(address: usize) -> bool {
    const LONGEST: usize = 6;
    let begin = address.wrapping_sub(LONGEST) as *const u8;
    if !clocks::is_own(begin) {
        return false;
    }
    // SAFETY: both ends lie in the executable's code, which is mapped as a whole and never
    // unmapped. Executables that cannot be read are not made for this architecture.
    let code = unsafe { *begin.cast::<[u8; LONGEST]>() };
    is_call(code)
}

/// Whether these bytes end with a call: relative, or through a register or memory.
fn is_call([a, b, c, d, e, f]: [u8; 6]) -> bool {
    const RELATIVE: u8 = 0xe8;
    const INDIRECT: u8 = 0xff;
    let two = |modes: u8, byte: u8| byte & 0xf8 == modes;
    b == RELATIVE
        || (a == INDIRECT && (b == 0x15 || two(0x90, b)))
        || (c == INDIRECT && d == 0x54)
        || (d == INDIRECT && (two(0x50, e) || e == 0x14))
        || (e == INDIRECT && (two(0xd0, f) || two(0x10, f)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_recognized_by_their_bytes() {
        for call in [
            [0x90, 0xe8, 1, 2, 3, 4],
            [0xff, 0x15, 1, 2, 3, 4],
            [0xff, 0x93, 1, 2, 3, 4],
            [0, 0, 0xff, 0x54, 0x24, 8],
            [0, 0, 0, 0xff, 0x53, 8],
            [0, 0, 0, 0x41, 0xff, 0xd4],
            [0, 0, 0, 0, 0xff, 0xd0],
        ] {
            assert!(is_call(call), "{call:x?}");
        }
        assert!(!is_call([0x48, 0x89, 0xe5, 0x48, 0x83, 0xec]));
        assert!(!is_call([0; 6]));
    }

    #[test]
    fn a_stack_is_copied_as_far_as_it_reaches() {
        let here = [7_usize; 4];
        let mut words = [0; SEARCHED];
        let read = copy_of_stack(here.as_ptr() as usize, &mut words);
        // Nothing where the kernel forbids it.
        if read > 0 {
            assert_eq!(words[..4], here);
        }
        assert_eq!(copy_of_stack(0, &mut words), 0);
        assert_eq!(copy_of_stack(8, &mut words), 0);
    }
}
