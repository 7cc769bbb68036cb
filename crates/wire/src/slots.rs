//! The further slots of a record.
//!
//! Each type fills one slot exactly. A text fills as many as it needs; it ends at its
//! first unused byte, which is 0, and its fields are separated by a NUL that is followed
//! by another byte: a reader trims the NULs at the end and splits at the others.

use crate::SLOT_BYTES;

/// What the thread used during the span, from `getrusage`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Nanoseconds on a processor.
    pub cpu: u64,
    /// Page faults that had to wait for a disk.
    pub major_faults: u32,
    /// Page faults that did not.
    pub minor_faults: u32,
    /// Blocks of 512 bytes that were read from a disk.
    pub blocks_read: u32,
    /// How often it gave up the processor, to wait for something.
    pub waits: u32,
    /// How often the processor was taken from it.
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
    /// The stream that it was made on; 0 for none.
    pub stream: u64,
    /// Not used yet.
    pub reserved: [u64; 2],
}

/// A copy.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Where to; 0 where the function's name says enough.
    pub destination: u64,
    /// Where from; likewise.
    pub source: u64,
    /// The stream; 0 for the default one.
    pub stream: u64,
    /// Not used yet.
    pub reserved: u64,
}

/// What was in the code that was loaded.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Its size; 0 if that could not be told.
    pub bytes: u64,
    /// Architectures that it has machine code for, as 10 × major + minor; 0: none more.
    pub machine_code: [u16; 8],
    /// Architectures that it has PTX for; likewise.
    pub ptx: [u16; 4],
}

/// Memory of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Bytes that it has in all.
    pub total: u64,
    /// Which device.
    pub device: u32,
    /// The symbol whose call was just made.
    pub after: u32,
    /// Not used yet.
    pub reserved: [u64; 2],
}

/// What a framework's allocator says of itself, in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocator {
    /// In use by tensors.
    pub used: u64,
    /// Taken from the device.
    pub reserved: u64,
    /// The most that was in use since the last such record.
    pub peak_used: u64,
    /// The most that was taken since the last such record.
    pub peak_reserved: u64,
}

/// The two CUDA events between which the time was asked for, as [`Clock`](crate::Clock)
/// readings identify them.
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

/// What the launcher saw of a thread or a process.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// The process.
    pub process: u32,
    /// The state's letter as in `/proc`: R, S, D, Z…; 0 if it was not asked for.
    pub state: u32,
    /// A thread: nanoseconds that it waited for a processor. A process: bytes that it
    /// read from disks.
    pub waited_or_read: u64,
    /// A process: page faults that had to wait for a disk.
    pub major_faults: u64,
    /// Not used yet.
    pub reserved: u64,
}

/// How many slots a text of this many bytes fills.
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
