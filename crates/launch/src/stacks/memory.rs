//! Reads the memory of another process, without stopping it.

/// The memory of one process.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    pid: libc::pid_t,
}

impl Memory {
    pub(super) fn of(pid: u32) -> Memory {
        Memory {
            pid: pid as libc::pid_t,
        }
    }

    /// Fills the buffer from an address; `None` if any of it cannot be read.
    pub(super) fn read(self, address: u64, buffer: &mut [u8]) -> Option<()> {
        let local = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        let remote = libc::iovec {
            iov_base: address as *mut libc::c_void,
            iov_len: buffer.len(),
        };
        // SAFETY: the local range is the buffer, which is borrowed exclusively. The remote
        // range is only an address in the other process: the kernel checks it, and an
        // invalid one is an error.
        let read = unsafe { libc::process_vm_readv(self.pid, &local, 1, &remote, 1, 0) };
        (usize::try_from(read) == Ok(buffer.len())).then_some(())
    }

    pub(super) fn bytes<const N: usize>(self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.read(address, &mut bytes)?;
        Some(bytes)
    }

    pub(super) fn u64(self, address: u64) -> Option<u64> {
        self.bytes(address).map(u64::from_le_bytes)
    }
}

/// A number within bytes that were read; 0 beyond their end.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let part = bytes.get(at..at.saturating_add(8));
    let part = part.and_then(|part| part.try_into().ok());
    part.map_or(0, u64::from_le_bytes)
}

/// A number within bytes that were read; 0 beyond their end.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let part = bytes.get(at..at.saturating_add(4));
    let part = part.and_then(|part| part.try_into().ok());
    part.map_or(0, u32::from_le_bytes)
}
