//! Process files, of the launcher and others, parsed according to the layout.

use std::collections::BTreeMap;
use std::path::Path;

use preheat_wire::{CHUNK_MAGIC, ChunkKind, HEADER_BYTES, Kind, MAGIC, SLOT_BYTES};

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    pub kind: Kind,
    pub time: u64,
    pub end: u64,
    /// The event or iteration.
    pub symbol: u16,
    pub status: i32,
    pub value: u64,
    /// The process, for samples of threads and processes.
    pub process: u32,
    /// The content of its further slots, as text.
    pub text: String,
}

/// All records of a file.
pub fn read(path: &Path) -> Vec<Sample> {
    let bytes = std::fs::read(path).expect("a process file");
    assert!(bytes.starts_with(&MAGIC));
    let u16_at = |at: usize| u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two"));
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"));
    let allocated = u64_at(64) as usize;
    assert!(allocated <= bytes.len(), "it is as long as it says");
    let mut samples = Vec::new();
    let mut chunk = HEADER_BYTES;
    while chunk < allocated {
        if u32_at(chunk) != CHUNK_MAGIC {
            // Allocated but never begun: the next one begins at a page.
            chunk = (chunk + 1).next_multiple_of(4096);
            continue;
        }
        let size = u32_at(chunk + 12) as usize;
        let used = match u32_at(chunk + 4) == ChunkKind::Totals as u32 {
            true => 0,
            false => u32_at(chunk + 16) as usize,
        };
        let mut slot = 0;
        while slot < used {
            let at = chunk + 64 + slot * SLOT_BYTES;
            let more = usize::from(bytes[at + 17]);
            let text = &bytes[at + SLOT_BYTES..at + SLOT_BYTES * (1 + more)];
            samples.push(Sample {
                kind: Kind::from_u8(bytes[at + 16]).expect("a kind"),
                time: u64_at(at),
                end: u64_at(at + 8),
                symbol: u16_at(at + 18),
                status: u32_at(at + 20) as i32,
                value: u64_at(at + 24),
                process: if more > 0 { u32_at(at + SLOT_BYTES) } else { 0 },
                text: super::text(text).trim_end_matches('\0').to_owned(),
            });
            slot += 1 + more;
        }
        assert_eq!(slot, used, "records are whole");
        chunk += size;
    }
    samples
}

/// The names of the completed records of a kind, in order, filtered by `symbol`.
pub fn names(samples: &[Sample], kind: Kind, symbol: u16) -> Vec<String> {
    let texts: BTreeMap<u64, &str> = samples
        .iter()
        .filter(|sample| sample.kind == Kind::Text)
        .map(|sample| (sample.value, sample.text.as_str()))
        .collect();
    let mut found: Vec<&Sample> = samples
        .iter()
        .filter(|sample| sample.kind == kind && sample.symbol == symbol && sample.end > 0)
        .collect();
    found.sort_by_key(|sample| sample.time);
    let name = |sample: &&Sample| {
        texts
            .get(&sample.value)
            .copied()
            .unwrap_or_default()
            .to_owned()
    };
    found.iter().map(name).collect()
}
