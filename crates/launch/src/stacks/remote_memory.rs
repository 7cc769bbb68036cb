//! Reads the memory of another process, without stopping it. rustix cannot.

use std::fs;

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

// The files that a process has mapped as code.

/// A mapping of a part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub begin: u64,
    pub end: u64,
    /// Its offset in the file.
    pub offset: u64,
    /// Empty for memory without a file.
    pub path: String,
    pub executable: bool,
}

/// All mappings of a process, in order; none if it is gone.
pub(super) fn read(pid: u32) -> Vec<Mapping> {
    let text = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    text.lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (begin, end) = fields.next()?.split_once('-')?;
    let mode = fields.next()?;
    let offset = fields.next()?;
    let path = fields.nth(2).unwrap_or("").trim_start();
    Some(Mapping {
        begin: u64::from_str_radix(begin, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        offset: u64::from_str_radix(offset, 16).ok()?,
        path: path.to_owned(),
        executable: mode.as_bytes().get(2) == Some(&b'x'),
    })
}

/// The mapping that an address lies in.
pub(super) fn find(mappings: &[Mapping], address: u64) -> Option<&Mapping> {
    let after = mappings.partition_point(|mapping| mapping.begin <= address);
    let mapping = mappings[..after].last()?;
    (address < mapping.end).then_some(mapping)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_have_spaces() {
        let line = "7f00-7f10 r-xp 00001000 fe:01 12                 /opt/my lib/a.so";
        let mapping = parse(line).expect("a mapping");
        assert_eq!((mapping.begin, mapping.end), (0x7f00, 0x7f10));
        assert_eq!((mapping.offset, mapping.executable), (0x1000, true));
        assert_eq!(mapping.path, "/opt/my lib/a.so");
        let anonymous = parse("10-20 rw-p 00000000 00:00 0 ").expect("a mapping");
        assert_eq!((&*anonymous.path, anonymous.executable), ("", false));
        assert_eq!(parse("nonsense"), None);
        let both = [anonymous, mapping];
        assert_eq!(find(&both, 0x7f0f).map(|found| found.offset), Some(0x1000));
        assert_eq!(find(&both, 0x7f10), None);
        assert_eq!(find(&both, 5), None);
    }

    #[test]
    fn this_process_has_code() {
        let own = read(std::process::id());
        let here = this_process_has_code as fn() as usize as u64;
        assert!(find(&own, here).is_some_and(|mapping| mapping.executable));
    }
}
