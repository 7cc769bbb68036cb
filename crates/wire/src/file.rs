//! The file header and the chunk header.

/// The first bytes of every process file.
pub const MAGIC: [u8; 8] = *b"preheat\n";

/// A reader rejects a file with a different major version.
pub const MAJOR: u16 = 1;

/// A reader accepts a file with a different minor version and skips what it does not know.
pub const MINOR: u16 = 7;

/// The offset of the first chunk.
pub const HEADER_BYTES: usize = 4096;

/// The first bytes of every chunk.
pub const CHUNK_MAGIC: u32 = u32::from_le_bytes(*b"chnk");

/// The header of a process file. The rest of its [`HEADER_BYTES`] is zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FileHeader {
    /// Always [`MAGIC`].
    pub magic: [u8; 8],
    /// The major version of the layout.
    pub major: u16,
    /// The minor version of the layout.
    pub minor: u16,
    /// Always [`HEADER_BYTES`].
    pub header_bytes: u32,
    /// The process id.
    pub pid: u32,
    /// The parent's process id.
    pub parent: u32,
    /// The time at which the recorder started in the process.
    pub began: u64,
    /// The time at which the kernel created the process, in clock ticks since boot: field
    /// 22 of `/proc/PID/stat`. It does not change across `exec`.
    pub started_ticks: u64,
    /// `CLOCK_BOOTTIME` − `CLOCK_MONOTONIC` at `began`, to convert the ticks.
    pub boot_offset: u64,
    /// Clock ticks per second.
    pub ticks_per_second: u32,
    /// A [`State`]; updated while the process runs.
    pub state: u32,
    /// The maximum size of the file in bytes.
    pub limit: u64,
    /// Bytes of the file allocated to chunks, including the header; grows.
    pub allocated: u64,
    /// Records dropped because the file was full; grows.
    pub dropped: u64,
    /// The time of the first dropped record; 0 if there is none.
    pub full_at: u64,
}

/// The state of a process's recorder.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is recording.
    Recording = 0,
    /// The file has reached its limit: calls are only counted, in chunks of totals.
    Full = 1,
    /// The disk has no space for another chunk; recording has stopped.
    NoSpace = 2,
    /// Another error occurred; recording has stopped.
    Off = 3,
}

/// The header of a chunk.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ChunkHeader {
    /// Always [`CHUNK_MAGIC`].
    pub magic: u32,
    /// A [`ChunkKind`].
    pub kind: u32,
    /// The kernel id of the thread that writes it.
    pub thread: u32,
    /// The size including this header; the next chunk begins there.
    pub bytes: u32,
    /// Slots (or totals) in use; grows.
    pub used: u32,
    /// Not used yet.
    pub reserved: u32,
    /// The thread's name when the chunk was created, zero-padded.
    pub name: [u8; 16],
    /// Not used yet.
    pub more: [u64; 3],
}

/// The content of a chunk.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkKind {
    /// Slots of records.
    Records = 1,
    /// One [`Total`] per symbol, indexed by its number.
    Totals = 2,
}

/// Calls of a function, and their total duration, after detailed recording had ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// The number of calls.
    pub calls: u64,
    /// Their total duration in nanoseconds.
    pub nanoseconds: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_have_the_sizes_of_the_layout() {
        assert!(size_of::<FileHeader>() <= HEADER_BYTES);
        assert_eq!(size_of::<FileHeader>(), 88);
        assert_eq!(size_of::<ChunkHeader>(), 64);
        assert_eq!(size_of::<Total>(), 16);
    }

    #[test]
    fn the_page_about_recordings_describes_this_version() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recording.md");
        let page = std::fs::read_to_string(page).expect("the page");
        let words: Vec<&str> = page.split_whitespace().collect();
        let page = words.join(" ");
        for text in [
            format!("This is version {MAJOR}.{MINOR}."),
            format!("| `major` | {MAJOR} |"),
            format!("| `minor` | {MINOR} |"),
            format!("Version {MAJOR}.{} has no", MINOR - 1),
        ] {
            assert!(page.contains(&text), "{text}");
        }
    }
}
