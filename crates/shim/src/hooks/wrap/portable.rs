//! The code of the wrappers on other architectures: each accepts as many words as any
//! function has, whether or not they were passed, and stores them contiguously.

use super::super::call::forward;
use super::SLOTS;
use std::ffi::c_void;

type Wrapper = unsafe extern "C" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> usize;

#[rustfmt::skip]
unsafe extern "C" fn wrapper<const NUMBER: usize>(
    a: usize, b: usize, c: usize, d: usize, e: usize, f: usize, g: usize, h: usize,
    i: usize, j: usize, k: usize, l: usize, m: usize, n: usize, o: usize, p: usize,
    q: usize, r: usize, s: usize, t: usize, u: usize, v: usize,
) -> usize {
    let words = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v];
    // SAFETY: the first six words, and those after them.
    unsafe { forward(NUMBER as u32, words.as_ptr(), words.as_ptr().add(6)) }
}

macro_rules! wrappers {
    ($($high:literal)*) => { [$(wrappers!(row $high)),*] };
    (row $high:literal) => {
        [
            wrapper::<{ $high * 16 }>, wrapper::<{ $high * 16 + 1 }>,
            wrapper::<{ $high * 16 + 2 }>, wrapper::<{ $high * 16 + 3 }>,
            wrapper::<{ $high * 16 + 4 }>, wrapper::<{ $high * 16 + 5 }>,
            wrapper::<{ $high * 16 + 6 }>, wrapper::<{ $high * 16 + 7 }>,
            wrapper::<{ $high * 16 + 8 }>, wrapper::<{ $high * 16 + 9 }>,
            wrapper::<{ $high * 16 + 10 }>, wrapper::<{ $high * 16 + 11 }>,
            wrapper::<{ $high * 16 + 12 }>, wrapper::<{ $high * 16 + 13 }>,
            wrapper::<{ $high * 16 + 14 }>, wrapper::<{ $high * 16 + 15 }>,
        ]
    };
}

static WRAPPERS: [[Wrapper; 16]; SLOTS / 16] = wrappers!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60
    61 62 63
);

/// The code of a wrapper.
pub(crate) fn stub(number: usize) -> Option<*mut c_void> {
    let wrapper = WRAPPERS.get(number / 16)?.get(number % 16)?;
    Some(*wrapper as *mut c_void)
}
