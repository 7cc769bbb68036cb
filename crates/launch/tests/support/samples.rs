//! The launcher's own process file, read as plainly as the layout says.

use std::path::Path;

use preheat_wire::{CHUNK_MAGIC, HEADER_BYTES, Kind, MAGIC, SLOT_BYTES};

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    pub kind: Kind,
    pub time: u64,
    pub status: i32,
    pub value: u64,
    /// The process, of a thread or process.
    pub process: u32,
}

/// All records of a file.
pub fn read(path: &Path) -> Vec<Sample> {
    let bytes = std::fs::read(path).expect("the launcher's file");
    assert!(bytes.starts_with(&MAGIC));
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"));
    let allocated = u64_at(64) as usize;
    assert!(allocated <= bytes.len(), "it is as long as it says");
    let mut samples = Vec::new();
    let mut chunk = HEADER_BYTES;
    while chunk < allocated {
        assert_eq!(u32_at(chunk), CHUNK_MAGIC);
        let used = u32_at(chunk + 16) as usize;
        let mut slot = 0;
        while slot < used {
            let at = chunk + 64 + slot * SLOT_BYTES;
            let more = usize::from(bytes[at + 17]);
            samples.push(Sample {
                kind: Kind::from_u8(bytes[at + 16]).expect("a kind"),
                time: u64_at(at),
                status: u32_at(at + 20) as i32,
                value: u64_at(at + 24),
                process: if more > 0 { u32_at(at + SLOT_BYTES) } else { 0 },
            });
            slot += 1 + more;
        }
        assert_eq!(slot, used, "records are whole");
        chunk += u32_at(chunk + 12) as usize;
    }
    samples
}
