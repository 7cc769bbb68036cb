//! The file's own header and that of a chunk.

/// What every process file begins with.
pub const MAGIC: [u8; 8] = *b"preheat\n";

/// A reader refuses a file with another major version.
pub const MAJOR: u16 = 1;

/// A reader takes a file with another minor version and skips what it does not know.
pub const MINOR: u16 = 3;

/// Where the first chunk begins.
pub const HEADER_BYTES: usize = 4096;

/// What every chunk begins with.
pub const CHUNK_MAGIC: u32 = u32::from_le_bytes(*b"chnk");

/// The head of a process file. The rest of its [`HEADER_BYTES`] is zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FileHeader {
    /// Always [`MAGIC`].
    pub magic: [u8; 8],
    /// The version of the layout.
    pub major: u16,
    /// Its smaller changes.
    pub minor: u16,
    /// Always [`HEADER_BYTES`].
    pub header_bytes: u32,
    /// The process.
    pub pid: u32,
    /// The process that started it.
    pub parent: u32,
    /// When the recorder woke up in it.
    pub began: u64,
    /// When the kernel made the process, in clock ticks since boot: field 22 of
    /// `/proc/PID/stat`. A program that is started by `exec` keeps it.
    pub started_ticks: u64,
    /// `CLOCK_BOOTTIME` − `CLOCK_MONOTONIC` at `began`, so that the ticks can be placed.
    pub boot_offset: u64,
    /// Clock ticks in a second.
    pub ticks_per_second: u32,
    /// A [`State`]; written while the process runs.
    pub state: u32,
    /// The most bytes that the file may have.
    pub limit: u64,
    /// Bytes of the file that were given to chunks, the header included; grows.
    pub allocated: u64,
    /// Records that were left out because the file was full; grows.
    pub dropped: u64,
    /// When the first record was left out; 0 if none was.
    pub full_at: u64,
}

/// How the recorder of a process is.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It records.
    Recording = 0,
    /// The file has reached its limit: calls are only counted, in chunks of totals.
    Full = 1,
    /// The disk had no room for another chunk; nothing more is recorded.
    NoSpace = 2,
    /// Something else was wrong; nothing more is recorded.
    Off = 3,
}

/// The head of a chunk.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ChunkHeader {
    /// Always [`CHUNK_MAGIC`].
    pub magic: u32,
    /// A [`ChunkKind`].
    pub kind: u32,
    /// The thread that writes it, as the kernel numbers it.
    pub thread: u32,
    /// Its size with this header; the next chunk begins there.
    pub bytes: u32,
    /// Slots (or totals) that are in use; grows.
    pub used: u32,
    /// Not used yet.
    pub reserved: u32,
    /// The thread's name when the chunk began, padded with zeros.
    pub name: [u8; 16],
    /// Not used yet.
    pub more: [u64; 3],
}

/// What a chunk holds.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkKind {
    /// Slots of records.
    Records = 1,
    /// One [`Total`] for each symbol, by its number.
    Totals = 2,
}

/// How often a function was called after detail had ended, and for how long in all.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Calls.
    pub calls: u64,
    /// Nanoseconds in all of them.
    pub nanoseconds: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_have_the_sizes_that_the_layout_says() {
        assert!(size_of::<FileHeader>() <= HEADER_BYTES);
        assert_eq!(size_of::<FileHeader>(), 88);
        assert_eq!(size_of::<ChunkHeader>(), 64);
        assert_eq!(size_of::<Total>(), 16);
    }
}
