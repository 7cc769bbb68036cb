//! Page-locked host memory.

use std::io;

use super::memory::Mapping;
use crate::{Error, HostBuffer, Result};

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

/// The number of bytes this process may lock; `None` without a limit.
fn lock_limit() -> Option<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a complete rlimit that the call may write to.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) };
    (answer == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
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
    use super::*;

    #[test]
    fn pinned_memory_is_zeroed_and_can_be_written_where_locking_is_allowed() {
        match Pinned::new(5000) {
            Ok(mut pinned) => {
                assert_eq!(pinned.as_slice(), vec![0; 5000]);
                pinned.as_mut_slice().fill(7);
                assert_eq!(pinned.as_slice(), vec![7; 5000]);
            }
            // Some machines forbid locking altogether; the error must then say so.
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
