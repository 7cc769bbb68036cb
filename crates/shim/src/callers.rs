//! The callers of a function: return addresses of the executable's own code on the stack.
//!
//! This is a search, not an unwinder: old addresses in unused parts of the stack are found
//! too. The reader of a recording knows functions and lines, and drops addresses that cannot
//! be callers.

use crate::clocks::is_own;

/// Words of the stack that are searched.
const SEARCHED_WORDS: usize = 512;
const PAGE: usize = 4096;
/// A function that is called directly begins at most this far before an address in it.
const MAX_FUNCTION: usize = 1 << 16;

/// A return address, and the function that the call before it calls, if it names one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Caller {
    pub address: usize,
    pub calls: Option<usize>,
}

/// Finds return addresses on the stack from here on, innermost first, and returns their number.
pub(crate) fn on_stack<const MAX: usize>(stack: usize, callers: &mut [Caller; MAX]) -> usize {
    find(stack, callers, |_, _| true)
}

/// Finds the possible callers of the function that contains `inner`: each of them calls a
/// function that begins shortly before `inner` or before a caller found earlier.
pub(crate) fn of<const MAX: usize>(
    inner: usize,
    stack: usize,
    callers: &mut [Caller; MAX],
) -> usize {
    find(stack, callers, |found, caller| {
        let Some(function) = caller.calls else {
            return false;
        };
        let in_function = |address: usize| address.wrapping_sub(function) < MAX_FUNCTION;
        in_function(inner) || found.iter().any(|other| in_function(other.address))
    })
}

fn find<const MAX: usize>(
    stack: usize,
    callers: &mut [Caller; MAX],
    keep: impl Fn(&[Caller], &Caller) -> bool,
) -> usize {
    let mut words = [0_usize; SEARCHED_WORDS];
    let read = copy_of_stack(stack, &mut words);
    let mut count = 0;
    for &word in words.get(..read).unwrap_or_default() {
        let Some(caller) = follows_a_call(word) else {
            continue;
        };
        if keep(callers.get(..count).unwrap_or_default(), &caller) {
            match callers.get_mut(count) {
                Some(place) => *place = caller,
                None => break,
            }
            count += 1;
        }
    }
    count
}

/// Copies words from the stack as far as it reaches, and returns their number. The kernel
/// copies them, because it knows where the stack ends.
fn copy_of_stack(stack: usize, words: &mut [usize; SEARCHED_WORDS]) -> usize {
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

const MAX_CALL: usize = 6;

/// The caller, if a call instruction of the executable ends at this address.
fn follows_a_call(address: usize) -> Option<Caller> {
    let begin = address.wrapping_sub(MAX_CALL) as *const u8;
    if !is_own(address as *const u8) || !is_own(begin) {
        return None;
    }
    // SAFETY: both ends lie in the executable's code, which is mapped as a whole and never
    // unmapped. Executables that cannot be read are not made for this architecture.
    let code = unsafe { *begin.cast::<[u8; MAX_CALL]>() };
    is_call(code).then(|| Caller {
        address,
        calls: target(code, address).filter(|function| is_own(*function as *const u8)),
    })
}

const RELATIVE: u8 = 0xe8;

/// Returns true if these bytes end with a call: relative, or through a register or memory.
fn is_call([a, b, c, d, e, f]: [u8; MAX_CALL]) -> bool {
    const INDIRECT: u8 = 0xff;
    let two = |modes: u8, byte: u8| byte & 0xf8 == modes;
    b == RELATIVE
        || (a == INDIRECT && (b == 0x15 || two(0x90, b)))
        || (c == INDIRECT && d == 0x54)
        || (d == INDIRECT && (two(0x50, e) || e == 0x14))
        || (e == INDIRECT && (two(0xd0, f) || two(0x10, f)))
}

/// The function that a relative call calls.
fn target([_, b, distance @ ..]: [u8; MAX_CALL], end: usize) -> Option<usize> {
    let distance = i32::from_le_bytes(distance);
    (b == RELATIVE).then(|| end.wrapping_add_signed(distance as isize))
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
    fn a_relative_call_names_its_function() {
        let back = [0x90, 0xe8, 0xf0, 0xff, 0xff, 0xff];
        assert_eq!(target(back, 0x1000), Some(0xff0));
        assert_eq!(target([0x90, 0xe8, 0x10, 0, 0, 0], 0x1000), Some(0x1010));
        assert_eq!(target([0xff, 0x15, 1, 2, 3, 4], 0x1000), None);
    }

    #[test]
    fn a_stack_is_copied_as_far_as_it_reaches() {
        let here = [7_usize; 4];
        let mut words = [0; SEARCHED_WORDS];
        let read = copy_of_stack(here.as_ptr() as usize, &mut words);
        // Nothing where the kernel forbids it.
        if read > 0 {
            assert_eq!(words[..4], here);
        }
        assert_eq!(copy_of_stack(0, &mut words), 0);
        assert_eq!(copy_of_stack(8, &mut words), 0);
    }
}
