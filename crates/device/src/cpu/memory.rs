//! Anonymous memory, straight from the kernel.
//!
//! Every buffer, pool segment, pinned buffer and piece of machine code consists of a
//! [`Mapping`]. It manages the pages (read and write, later possibly execute); its owner
//! decides who may access them.

use std::io;
use std::ptr::{self, NonNull};

use preheat_host::{lock_limit, page_size};

use crate::{Error, HostBuffer, Result};

/// Private pages, unmapped on drop.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    /// The mapped size: at least one byte.
    bytes: usize,
}

// SAFETY: a mapping is an address range of the process, not of a thread; this type only
// hands out raw pointers into it.
unsafe impl Send for Mapping {}
// SAFETY: as above; no method writes through `&self`.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps zeroed pages for `bytes` (one page for 0), not yet backed by memory.
    pub fn new(bytes: usize) -> Result<Mapping> {
        let requested = bytes;
        let bytes = bytes.max(1);
        // SAFETY: the kernel chooses the address, so no memory in use is replaced.
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

    /// Writes to every page, so that the kernel backs all of them with memory.
    pub fn touch(&mut self) {
        for offset in (0..self.bytes).step_by(page_size()) {
            // SAFETY: the offset is below the mapping's size, `&mut self` is the only
            // access, and the pages are writable: only code is made read-only, and `touch`
            // is never called on code. The write is volatile, since nothing reads it.
            unsafe { self.start.add(offset).write_volatile(0) };
        }
    }

    /// The start address. Its provenance is exposed: machine code and a context's copies
    /// use it as a number.
    pub fn address(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }

    /// The start address as a pointer.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `new` mapped exactly this range, and the mapping's owner made sure that
        // nothing uses it any more. The only possible error is a wrong range.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

// Page-locked host memory.

/// Memory that the kernel may not swap out.
#[derive(Debug)]
pub(crate) struct Pinned {
    /// Locked completely.
    mapping: Mapping,
    /// The requested size.
    bytes: usize,
}

impl Pinned {
    /// Maps and locks `bytes`.
    pub fn new(bytes: usize) -> Result<Pinned> {
        let mapping = Mapping::new(bytes)?;
        // SAFETY: exactly this range is mapped, and locking does not change its content.
        let answer = unsafe { libc::mlock(mapping.start().as_ptr().cast(), mapping.bytes()) };
        if answer != 0 {
            return Err(refusal(bytes, &io::Error::last_os_error(), lock_limit()));
        }
        Ok(Pinned { mapping, bytes })
    }
}

impl HostBuffer for Pinned {
    fn as_slice(&self) -> &[u8] {
        // SAFETY: the mapping holds at least `bytes` initialized (zeroed) bytes for as long
        // as it lives, and nothing else knows its address.
        unsafe { std::slice::from_raw_parts(self.mapping.start().as_ptr(), self.bytes) }
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and `&mut self` makes this the only access.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.start().as_ptr(), self.bytes) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: exactly this range was mapped and locked. The munmap that follows would
        // unlock it too; unlocking first keeps the two steps that a driver performs.
        unsafe { libc::munlock(self.mapping.start().as_ptr().cast(), self.mapping.bytes()) };
    }
}

fn refusal(bytes: usize, error: &io::Error, limit: Option<u64>) -> Error {
    let limit = match limit {
        Some(limit) => format!("this process may lock {limit} bytes"),
        None => "this process has no limit".to_owned(),
    };
    Error::unsupported(
        format!("locking {bytes} bytes of host memory"),
        format!("mlock was refused ({error}); {limit}; see `ulimit -l` to raise it"),
    )
}

#[cfg(test)]
mod tests {
    use preheat_host::resident_memory;

    use super::*;

    #[test]
    fn touched_pages_are_resident() {
        let bytes = 64 << 20;
        let mut mapping = Mapping::new(bytes).expect("64 MiB can be mapped");
        mapping.touch();
        // The process holds at least these pages, whatever other tests do.
        assert!(resident_memory().is_some_and(|resident| resident >= bytes as u64));
    }

    #[test]
    fn empty_mappings_have_distinct_addresses() {
        let [one, two] = [(); 2].map(|()| Mapping::new(0).expect("a page can be mapped"));
        assert_ne!(one.address(), two.address());
    }

    #[test]
    fn an_impossible_size_is_out_of_memory() {
        let error = Mapping::new(usize::MAX / 2).expect_err("no machine has that much");
        assert!(error.is_out_of_memory(), "{error}");
    }

    #[test]
    fn pinned_memory_is_zeroed_and_can_be_written_where_locking_is_allowed() {
        match Pinned::new(5000) {
            Ok(mut pinned) => {
                assert_eq!(pinned.as_slice(), vec![0; 5000]);
                pinned.as_mut_slice().fill(7);
                assert_eq!(pinned.as_slice(), vec![7; 5000]);
            }
            // Some machines forbid locking altogether; the error must state that.
            Err(error) => assert!(error.to_string().contains("ulimit -l"), "{error}"),
        }
    }

    #[test]
    fn a_refusal_names_the_cause_and_a_remedy() {
        let error = refusal(
            8192,
            &io::Error::from_raw_os_error(libc::ENOMEM),
            Some(4096),
        );
        let message = error.to_string();
        for part in [
            "8192 bytes",
            "Cannot allocate memory",
            "may lock 4096",
            "ulimit -l",
        ] {
            assert!(message.contains(part), "{message}");
        }
    }
}
