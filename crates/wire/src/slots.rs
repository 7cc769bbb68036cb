//! The further slots of a record.
//!
//! Each type fills exactly one slot. A text fills as many as it needs; it ends at its first
//! unused byte, which is 0, and its fields are separated by a NUL that is followed by
//! another byte: a reader trims trailing NULs and splits at the others.

use crate::SLOT_BYTES;

/// Resource usage of the thread during the span, from `getrusage`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in nanoseconds.
    pub cpu: u64,
    /// Page faults that had to wait for a disk.
    pub major_faults: u32,
    /// Page faults that did not.
    pub minor_faults: u32,
    /// Blocks of 512 bytes read from a disk.
    pub blocks_read: u32,
    /// Voluntary context switches.
    pub waits: u32,
    /// Involuntary context switches.
    pub preemptions: u32,
    /// Not used yet.
    pub reserved: u32,
}

/// An allocation, or the kernel of an alias.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Its address.
    pub pointer: u64,
    /// The stream it was allocated on; 0 for none.
    pub stream: u64,
    /// Not used yet.
    pub reserved: [u64; 2],
}

/// A copy.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// The destination address; 0 where the function's name is enough.
    pub destination: u64,
    /// The source address; likewise.
    pub source: u64,
    /// The stream; 0 for the default one.
    pub stream: u64,
    /// Not used yet.
    pub reserved: u64,
}

/// The content of loaded code.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Its size; 0 if unknown.
    pub bytes: u64,
    /// Architectures with machine code, as 10 × major + minor; unused entries are 0.
    pub machine_code: [u16; 8],
    /// Architectures with PTX; likewise.
    pub ptx: [u16; 4],
}

/// Device memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Total bytes.
    pub total: u64,
    /// The device.
    pub device: u32,
    /// The symbol of the preceding call.
    pub after: u32,
    /// Not used yet.
    pub reserved: [u64; 2],
}

/// The statistics of a framework's allocator, in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocator {
    /// Used by tensors.
    pub used: u64,
    /// Reserved from the device.
    pub reserved: u64,
    /// The peak use since the last such record.
    pub peak_used: u64,
    /// The peak reservation since the last such record.
    pub peak_reserved: u64,
}

/// The two CUDA events whose time difference was queried, as identified by
/// [`Clock`](crate::Clock) readings.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elapsed {
    /// The earlier event.
    pub from: u64,
    /// The later event.
    pub to: u64,
    /// Not used yet.
    pub reserved: [u64; 2],
}

/// A launcher's sample of a thread or a process.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// The process.
    pub process: u32,
    /// The state letter as in `/proc`: R, S, D, Z…; 0 if unknown.
    pub state: u32,
    /// For a thread: nanoseconds spent waiting for a CPU. For a process: bytes read from
    /// disks.
    pub waited_or_read: u64,
    /// For a process: page faults that had to wait for a disk.
    pub major_faults: u64,
    /// For a process: resident bytes of files and shared memory; 0 if unknown.
    pub file_backed: u64,
}

/// The number of slots that a text of this many bytes fills.
pub const fn text_slots(bytes: usize) -> usize {
    bytes.div_ceil(SLOT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fills_one_slot() {
        assert_eq!(size_of::<Usage>(), SLOT_BYTES);
        assert_eq!(size_of::<Allocation>(), SLOT_BYTES);
        assert_eq!(size_of::<Copied>(), SLOT_BYTES);
        assert_eq!(size_of::<Image>(), SLOT_BYTES);
        assert_eq!(size_of::<DeviceMemory>(), SLOT_BYTES);
        assert_eq!(size_of::<Allocator>(), SLOT_BYTES);
        assert_eq!(size_of::<Sampled>(), SLOT_BYTES);
        assert_eq!(size_of::<Elapsed>(), SLOT_BYTES);
    }

    #[test]
    fn a_text_fills_as_many_as_it_needs() {
        assert_eq!(text_slots(0), 0);
        assert_eq!(text_slots(1), 1);
        assert_eq!(text_slots(32), 1);
        assert_eq!(text_slots(33), 2);
    }
}
