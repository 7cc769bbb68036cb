//! The words that a function was called with, and how they are forwarded.

use super::table::{NONE, Width};
use std::ffi::CStr;

/// The words of a call in memory: six contiguous ones, then the rest.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    first: *const usize,
    rest: *const usize,
}

impl Words {
    const FIRST: usize = 6;

    /// # Safety
    /// `first` points to six words and `rest` to as many as the width of the function
    /// exceeds those, all of which stay valid while this is used.
    pub(crate) unsafe fn new(first: *const usize, rest: *const usize) -> Words {
        Words { first, rest }
    }

    /// A word of the function; 0 for [`NONE`].
    #[inline]
    pub(crate) fn get(self, index: u8) -> usize {
        if index == NONE {
            return 0;
        }
        let index = usize::from(index);
        // SAFETY: the table only refers to words that the function has.
        unsafe {
            if index < Words::FIRST {
                *self.first.add(index)
            } else {
                *self.rest.add(index - Words::FIRST)
            }
        }
    }

    /// The address of the stack at the call, from its return address on; 0 where arguments
    /// are not passed on the stack.
    #[inline]
    pub(crate) fn stack(self) -> usize {
        match cfg!(target_arch = "x86_64") {
            true => (self.rest as usize).wrapping_sub(size_of::<usize>()),
            false => 0,
        }
    }

    /// The value that a word points to, after a call that has stored it.
    #[inline]
    pub(crate) fn out<T: Copy>(self, index: u8) -> Option<T> {
        let pointer = self.get(index) as *const T;
        if pointer.is_null() || !pointer.is_aligned() {
            return None;
        }
        // SAFETY: the function has succeeded, so this argument was valid.
        Some(unsafe { *pointer })
    }

    /// The text that a word points to, up to the maximum length.
    pub(crate) fn text<'a>(self, index: u8) -> &'a [u8] {
        text(self.get(index) as *const u8)
    }

    /// Calls the real function with the same words.
    ///
    /// # Safety
    /// `real` is a function of at most this many words, which these are.
    #[inline]
    pub(crate) unsafe fn call(self, real: usize, width: Width) -> usize {
        // SAFETY: guaranteed by the caller. A function with fewer words does not read the
        // others.
        unsafe {
            match width {
                Width::Six => self.call_6(real),
                Width::Fourteen => self.call_14(real),
                Width::TwentyTwo => self.call_22(real),
            }
        }
    }
}

/// A C string, up to the maximum length; empty for null.
pub(crate) fn text<'a>(pointer: *const u8) -> &'a [u8] {
    const MAX_LENGTH: usize = 4000;
    if pointer.is_null() {
        return &[];
    }
    // SAFETY: a function with a text argument reads it up to its NUL, as this does.
    unsafe {
        let length = libc::strnlen(pointer.cast(), MAX_LENGTH);
        std::slice::from_raw_parts(pointer, length)
    }
}

/// A path, without a maximum length; `None` for null.
pub(crate) fn path<'a>(pointer: *const u8) -> Option<&'a CStr> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: same as above.
    Some(unsafe { CStr::from_ptr(pointer.cast()) })
}

macro_rules! calls {
    ($name:ident: $($first:literal)*; $($rest:literal)*) => {
        impl Words {
            #[inline]
            unsafe fn $name(self, real: usize) -> usize {
                // SAFETY: guaranteed by the caller.
                unsafe {
                    let real: unsafe extern "C" fn(
                        $(calls!(@word $first),)* $(calls!(@word $rest),)*
                    ) -> usize = std::mem::transmute(real);
                    real($(*self.first.add($first),)* $(*self.rest.add($rest),)*)
                }
            }
        }
    };
    (@word $index:literal) => { usize };
}

calls!(call_6: 0 1 2 3 4 5;);
calls!(call_14: 0 1 2 3 4 5; 0 1 2 3 4 5 6 7);
calls!(call_22: 0 1 2 3 4 5; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn weigh(
        a: usize,
        b: usize,
        c: usize,
        d: usize,
        e: usize,
        f: usize,
        g: usize,
    ) -> usize {
        [a, b, c, d, e, f, g]
            .iter()
            .rev()
            .fold(0, |sum, word| 10 * sum + word)
    }

    #[test]
    fn words_are_read_and_forwarded_in_order() {
        let all: Vec<usize> = (1..=22).collect();
        // SAFETY: there are 22 words.
        let words = unsafe { Words::new(all.as_ptr(), all.as_ptr().add(6)) };
        assert_eq!(
            (words.get(0), words.get(5), words.get(6), words.get(21)),
            (1, 6, 7, 22)
        );
        assert_eq!(words.get(NONE), 0);
        for width in [Width::Fourteen, Width::TwentyTwo] {
            // SAFETY: the function has seven words.
            let weight = unsafe { words.call(weigh as *const () as usize, width) };
            assert_eq!(weight, 7_654_321);
        }
    }

    #[test]
    fn texts_end_at_their_nul_or_the_maximum_length() {
        assert_eq!(text(c"kernel".as_ptr().cast()), b"kernel");
        assert_eq!(text(std::ptr::null()), b"");
        let long = [b'x'; 5000];
        assert_eq!(text(long.as_ptr()).len(), 4000);
        assert!(path(std::ptr::null()).is_none());
    }

    #[test]
    fn invalid_pointers_are_not_read() {
        let value = 7u64;
        let all = [&raw const value as usize, 0, 3, 0, 0, 0];
        // SAFETY: only the first six are read.
        let words = unsafe { Words::new(all.as_ptr(), std::ptr::null()) };
        assert_eq!(words.out::<u64>(0), Some(7));
        assert_eq!(words.out::<u64>(1), None);
        assert_eq!(words.out::<u64>(2), None);
        assert_eq!(words.out::<u64>(NONE), None);
    }
}
