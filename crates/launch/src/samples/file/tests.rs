//! Files of various lengths, parsed according to the layout.

use std::path::PathBuf;

use super::*;

struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        let name = format!("preheat-file-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&path);
        Temporary(path)
    }

    /// The kind and value of every record, and the state of the file.
    fn records(&self) -> (Vec<(u8, u64)>, u32) {
        let bytes = std::fs::read(&self.0).expect("the file");
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"));
        assert_eq!(bytes[..8], MAGIC);
        let allocated = u64_at(offset_of!(FileHeader, allocated)) as usize;
        assert!(allocated <= bytes.len());
        let mut records = Vec::new();
        let mut chunk = HEADER_BYTES;
        while chunk < allocated {
            assert_eq!(u32_at(chunk), CHUNK_MAGIC);
            let used = u32_at(chunk + offset_of!(ChunkHeader, used)) as usize;
            let mut slot = 0;
            while slot < used {
                let at = chunk + CHUNK_HEADER as usize + slot * SLOT_BYTES;
                let kind = bytes[at + offset_of!(Record, kind)];
                let more = bytes[at + offset_of!(Record, more)];
                records.push((kind, u64_at(at + offset_of!(Record, value))));
                slot += 1 + usize::from(more);
            }
            chunk += u32_at(chunk + offset_of!(ChunkHeader, bytes)) as usize;
        }
        (records, u32_at(offset_of!(FileHeader, state)))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn flushed_records_are_readable_before_and_after_finish() {
    let file = Temporary::new("flushed");
    let mut writer = Writer::create(&file.0, 1 << 30).expect("a file");
    assert_eq!(file.records().0, []);
    // Enough for several chunks.
    for number in 0..10_000 {
        writer.thread(number, 7, number, Sampled::default());
    }
    writer.line(10_000);
    writer.flush();
    let (records, state) = file.records();
    assert_eq!(state, State::Recording as u32);
    assert_eq!(records.len(), 10_001);
    assert!((0..10_000).all(|number| records[number as usize] == (Kind::Thread as u8, number)));
    assert_eq!(records[10_000], (Kind::Line as u8, 0));
    let before = std::fs::metadata(&file.0).expect("the file").len();
    assert_eq!(writer.finish(), None);
    assert_eq!(file.records().0, records);
    assert!(std::fs::metadata(&file.0).expect("the file").len() < before);
}

#[test]
fn at_the_limit_lines_are_kept_and_dropped_samples_reported() {
    let file = Temporary::new("limit");
    let limit = 10 << 20;
    let mut writer = Writer::create(&file.0, limit).expect("a file");
    for number in 0..300_000 {
        writer.process(number, number, Sampled::default());
    }
    let dropped = writer.dropped;
    assert!(dropped > 0 && writer.full_at > 0);
    writer.line(300_000);
    assert_eq!(writer.dropped, dropped, "there is room for lines");
    assert!(writer.finish().expect("it is reported").contains("--limit"));
    let (records, state) = file.records();
    assert_eq!(state, State::Full as u32);
    assert_eq!(records.len() as u64, 300_000 - dropped + 1);
    let length = std::fs::metadata(&file.0).expect("the file").len();
    assert!(length <= limit);
}
