//! Anonymous memory straight from the kernel.
//!
//! A [`Mapping`] is what every buffer, pool segment, pinned buffer and piece of
//! machine code is made of. It says what its pages are for (read and write, then
//! perhaps execute) and who may touch them is its owner's to say.

use std::io;
use std::ptr::{self, NonNull};

use super::host::page_size;
use crate::{Error, Result};

/// Pages of our own, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    /// What the kernel was asked for: at least one byte.
    bytes: usize,
}

// SAFETY: a mapping is an address range that belongs to the process and not to a
// thread; this type hands out nothing but raw pointers into it.
unsafe impl Send for Mapping {}
// SAFETY: as above; no method writes through `&self`.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Fresh, zeroed pages for `bytes` (one page for none), not yet backed by memory.
    pub fn new(bytes: usize) -> Result<Mapping> {
        let requested = bytes;
        let bytes = bytes.max(1);
        // SAFETY: the kernel chooses the place, so no memory in use is replaced.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        let failed = || Error::OutOfMemory {
            requested,
            detail: format!(
                "the system refused to map it ({}); see `ulimit -v`",
                io::Error::last_os_error()
            ),
        };
        if start == libc::MAP_FAILED {
            return Err(failed());
        }
        Ok(Mapping {
            start: NonNull::new(start.cast()).ok_or_else(failed)?,
            bytes,
        })
    }

    /// Write to every page, so that the kernel really provides them all.
    pub fn touch(&mut self) {
        for offset in (0..self.bytes).step_by(page_size()) {
            // SAFETY: the offset is below the mapping's size, `&mut self` is the only
            // access, and its pages can be written: only code is made read-only, and
            // code never touches. The write is volatile, since nothing reads it.
            unsafe { self.start.add(offset).write_volatile(0) };
        }
    }

    /// Where it begins. The address is exposed: machine code and the copies of a
    /// context come back with it as a number.
    pub fn address(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }

    /// Where it begins, as a pointer.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly this range was mapped by `new`, and the mapping's owner saw
        // to it that nothing uses it any more. The only error is a wrong range.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::host::resident_memory;

    #[test]
    fn touched_pages_are_resident() {
        let bytes = 64 << 20;
        let mut mapping = Mapping::new(bytes).expect("64 MiB can be mapped");
        mapping.touch();
        // The process holds at least what we touched, whatever other tests do.
        assert!(resident_memory().is_some_and(|resident| resident >= bytes as u64));
    }

    #[test]
    fn no_bytes_have_an_address_too() {
        let [one, two] = [(); 2].map(|()| Mapping::new(0).expect("a page can be mapped"));
        assert_ne!(one.address(), two.address());
    }

    #[test]
    fn an_impossible_size_is_a_lack_of_memory() {
        let error = Mapping::new(usize::MAX / 2).expect_err("no machine has that much");
        assert!(error.is_out_of_memory(), "{error}");
    }
}
