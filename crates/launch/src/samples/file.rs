//! The launcher's process file, in the layout of `preheat-wire`.
//!
//! Slots are written before the number of used slots, after every sample: if preheat is
//! killed, the file is still readable.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::path::Path;

use preheat_wire::{
    CHUNK_MAGIC, ChunkHeader, ChunkKind, FileHeader, HEADER_BYTES, Kind, MAGIC, MAJOR, MINOR,
    Record, SLOT_BYTES, Sampled, State,
};

use crate::samples::proc;
use preheat_host::clock;

const CHUNK_HEADER: u64 = size_of::<ChunkHeader>() as u64;
const MIN_CHUNK: u64 = 4 << 10;
const FIRST_CHUNK: u64 = 64 << 10;
const MAX_CHUNK: u64 = 4 << 20;

/// Writes records to a process file.
pub(crate) struct Writer {
    file: File,
    began: u64,
    limit: u64,
    /// Bytes allocated to chunks, including the file header.
    allocated: u64,
    /// The offset and size of the current chunk; 0 before the first.
    chunk: u64,
    bytes: u64,
    /// Used slots of the chunk.
    used: u32,
    /// Slots that are not written yet.
    waiting: Vec<u8>,
    state: State,
    dropped: u64,
    full_at: u64,
    lines: u64,
    begins: u64,
}

impl Writer {
    pub(super) fn create(path: &Path, limit: u64) -> io::Result<Writer> {
        let mut writer = Writer {
            file: File::create_new(path)?,
            began: clock::now(),
            limit: limit.max(HEADER_BYTES as u64 + FIRST_CHUNK),
            allocated: HEADER_BYTES as u64,
            chunk: 0,
            bytes: 0,
            used: 0,
            waiting: Vec::new(),
            state: State::Recording,
            dropped: 0,
            full_at: 0,
            lines: 0,
            begins: 0,
        };
        writer.file.write_all_at(&writer.header(), 0)?;
        writer.next_chunk(FIRST_CHUNK)?;
        Ok(writer)
    }

    /// Adds a sample of a thread.
    pub(super) fn thread(&mut self, time: u64, thread: u32, cpu: u64, sampled: Sampled) {
        let record = instant(Kind::Thread, time, thread as i32, cpu);
        self.push(&record, Some(&slot(&sampled)), false);
    }

    /// Adds a sample of a process.
    pub(super) fn process(&mut self, time: u64, resident: u64, sampled: Sampled) {
        let record = instant(Kind::Process, time, sampled.process as i32, resident);
        self.push(&record, Some(&slot(&sampled)), false);
    }

    /// Adds the name of a thread. The kernel keeps at most 15 bytes of it.
    pub(super) fn thread_name(&mut self, time: u64, (process, thread): (u32, u32), name: &str) {
        let record = instant(Kind::ThreadName, time, thread as i32, u64::from(process));
        let mut slot = [0; SLOT_BYTES];
        for (place, byte) in slot.iter_mut().zip(name.bytes()) {
            *place = byte;
        }
        self.push(&record, Some(&slot), false);
    }

    /// Adds a line of output that ends an iteration.
    pub(crate) fn line(&mut self, time: u64) {
        let record = instant(Kind::Line, time, 0, self.lines);
        self.lines += 1;
        self.push(&record, None, true);
    }

    /// Adds a line of output that begins an iteration.
    pub(crate) fn line_begin(&mut self, time: u64) {
        let record = instant(Kind::LineBegin, time, 0, self.begins);
        self.begins += 1;
        self.push(&record, None, true);
    }

    fn push(&mut self, record: &Record, more: Option<&[u8; SLOT_BYTES]>, important: bool) {
        if !matches!(self.state, State::Recording | State::Full) {
            return;
        }
        let slots = 1 + u64::from(more.is_some());
        let capacity = (self.bytes - CHUNK_HEADER) / SLOT_BYTES as u64;
        let taken = u64::from(self.used) + (self.waiting.len() / SLOT_BYTES) as u64;
        // The last eighth is reserved for lines: iterations depend on them.
        let limit = if important {
            self.limit
        } else {
            self.limit / 8 * 7
        };
        let fits = taken + slots <= capacity;
        let room = limit.saturating_sub(self.allocated) / MIN_CHUNK * MIN_CHUNK;
        if self.allocated > limit || !fits && room < MIN_CHUNK {
            self.state = State::Full;
            self.dropped += 1;
            if self.full_at == 0 {
                self.full_at = record.begin;
            }
            return;
        }
        if !fits {
            self.flush();
            if let Err(why) = self.next_chunk(room) {
                self.fail(&why);
                return;
            }
        }
        put_record(&mut self.waiting, record);
        self.waiting.extend(more.into_iter().flatten());
    }

    /// Writes the waiting slots.
    pub(crate) fn flush(&mut self) {
        if self.waiting.is_empty() || !matches!(self.state, State::Recording | State::Full) {
            return;
        }
        let at = self.chunk + CHUNK_HEADER + u64::from(self.used) * SLOT_BYTES as u64;
        let used = self.used + (self.waiting.len() / SLOT_BYTES) as u32;
        let used_at = self.chunk + offset_of!(ChunkHeader, used) as u64;
        let written = self
            .file
            .write_all_at(&self.waiting, at)
            .and_then(|()| self.file.write_all_at(&used.to_le_bytes(), used_at));
        match written {
            Ok(()) => {
                self.used = used;
                self.waiting.clear();
            }
            Err(why) => self.fail(&why),
        }
    }

    /// Writes everything and truncates the file. Returns a sentence about problems, if any.
    pub(crate) fn finish(&mut self) -> Option<&'static str> {
        self.flush();
        if matches!(self.state, State::Recording | State::Full) {
            let bytes = CHUNK_HEADER + u64::from(self.used) * SLOT_BYTES as u64;
            let bytes_at = self.chunk + offset_of!(ChunkHeader, bytes) as u64;
            let cut = (bytes as u32).to_le_bytes();
            if self.file.write_all_at(&cut, bytes_at).is_ok() {
                self.bytes = bytes;
                self.allocated = self.chunk + bytes;
                let _ = self.file.set_len(self.allocated);
            }
        }
        let _ = self.file.write_all_at(&self.header(), 0);
        match self.state {
            State::Recording => None,
            State::Full => Some(
                "threads and processes were no longer sampled after the recording had reached its size limit; increase it with --limit",
            ),
            State::NoSpace => {
                Some("the disk was full: samples of threads and processes are missing")
            }
            State::Off => Some("samples of threads and processes could not be written"),
        }
    }

    fn next_chunk(&mut self, room: u64) -> io::Result<()> {
        let bytes = match self.bytes {
            0 => FIRST_CHUNK,
            before => (before * 2).min(MAX_CHUNK).min(room),
        };
        let mut header = Vec::with_capacity(size_of::<ChunkHeader>());
        header.extend(CHUNK_MAGIC.to_le_bytes());
        header.extend((ChunkKind::Records as u32).to_le_bytes());
        header.extend(std::process::id().to_le_bytes());
        header.extend((bytes as u32).to_le_bytes());
        header.extend([0; 8]);
        header.extend(b"launcher\0\0\0\0\0\0\0\0");
        header.resize(size_of::<ChunkHeader>(), 0);
        // The chunk exists before the header refers to it; its unused part uses no disk
        // space.
        self.file.set_len(self.allocated + bytes)?;
        self.file.write_all_at(&header, self.allocated)?;
        (self.chunk, self.bytes, self.used) = (self.allocated, bytes, 0);
        self.allocated += bytes;
        let at = offset_of!(FileHeader, allocated) as u64;
        self.file.write_all_at(&self.allocated.to_le_bytes(), at)
    }

    fn fail(&mut self, why: &io::Error) {
        self.state = match why.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => State::NoSpace,
            _ => State::Off,
        };
        self.waiting.clear();
    }

    /// The current file header.
    fn header(&self) -> Vec<u8> {
        let own = std::process::id();
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend(MAGIC);
        header.extend(MAJOR.to_le_bytes());
        header.extend(MINOR.to_le_bytes());
        header.extend((HEADER_BYTES as u32).to_le_bytes());
        header.extend(own.to_le_bytes());
        header.extend(std::os::unix::process::parent_id().to_le_bytes());
        header.extend(self.began.to_le_bytes());
        header.extend(proc::started_ticks(own).to_le_bytes());
        header.extend(clock::boot_offset().to_le_bytes());
        header.extend(proc::ticks_per_second().to_le_bytes());
        header.extend((self.state as u32).to_le_bytes());
        for number in [self.limit, self.allocated, self.dropped, self.full_at] {
            header.extend(number.to_le_bytes());
        }
        header.resize(HEADER_BYTES, 0);
        header
    }
}

fn instant(kind: Kind, time: u64, status: i32, value: u64) -> Record {
    Record {
        begin: time,
        end: time,
        kind: kind as u8,
        status,
        value,
        ..Record::default()
    }
}

fn put_record(bytes: &mut Vec<u8>, record: &Record) {
    let line = [Kind::Line as u8, Kind::LineBegin as u8].contains(&record.kind);
    let more = u8::from(!line);
    bytes.extend(record.begin.to_le_bytes());
    bytes.extend(record.end.to_le_bytes());
    bytes.extend([record.kind, more]);
    bytes.extend(record.symbol.to_le_bytes());
    bytes.extend(record.status.to_le_bytes());
    bytes.extend(record.value.to_le_bytes());
}

/// A sample as a further slot.
fn slot(sampled: &Sampled) -> [u8; SLOT_BYTES] {
    let halves = u64::from(sampled.process) | u64::from(sampled.state) << 32;
    let words = [
        halves,
        sampled.waited_or_read,
        sampled.major_faults,
        sampled.file_backed,
    ];
    let mut slot = [0; SLOT_BYTES];
    for (place, word) in slot.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    slot
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use preheat_host::Scratch;

    use super::*;

    struct Temporary(Scratch);

    impl Temporary {
        fn new() -> Temporary {
            Temporary(Scratch::new("file").expect("a directory for the test"))
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("samples")
        }

        /// The kind and value of every record, and the state of the file.
        fn records(&self) -> (Vec<(u8, u64)>, u32) {
            let bytes = std::fs::read(self.path()).expect("the file");
            let u32_at =
                |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
            let u64_at =
                |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"));
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

    #[test]
    fn flushed_records_are_readable_before_and_after_finish() {
        let file = Temporary::new();
        let mut writer = Writer::create(&file.path(), 1 << 30).expect("a file");
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
        let before = std::fs::metadata(file.path()).expect("the file").len();
        assert_eq!(writer.finish(), None);
        assert_eq!(file.records().0, records);
        assert!(std::fs::metadata(file.path()).expect("the file").len() < before);
    }

    #[test]
    fn at_the_limit_lines_are_kept_and_dropped_samples_reported() {
        let file = Temporary::new();
        let limit = 10 << 20;
        let mut writer = Writer::create(&file.path(), limit).expect("a file");
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
        let length = std::fs::metadata(file.path()).expect("the file").len();
        assert!(length <= limit);
    }
}
