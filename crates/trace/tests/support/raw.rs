//! The bytes of a process file, and its chunks, allocated in the same way as by the
//! recorder.

use std::collections::HashMap;
use std::mem::offset_of;

use preheat_wire::{
    CHUNK_MAGIC, ChunkHeader, ChunkKind, FileHeader, HEADER_BYTES, MAGIC, MAJOR, SLOT_BYTES,
};

/// The size of a chunk header.
pub const CHUNK_HEAD: usize = size_of::<ChunkHeader>();

const MIN_CHUNK: usize = 16 << 10;
const MAX_CHUNK: usize = 4 << 20;

/// The bytes of a file, without their meaning.
#[derive(Clone)]
pub struct Raw {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// The size of the following chunks, instead of doubling.
    pub fixed: Option<usize>,
    /// The chunk that each thread fills.
    chunks: HashMap<u32, Chunk>,
    /// The unused remainder of the chunk of a thread that ended.
    left_over: Option<(usize, usize)>,
}

#[derive(Clone, Copy)]
struct Chunk {
    at: usize,
    bytes: usize,
    used: usize,
}

impl Raw {
    /// A file with only the beginning of its header.
    pub fn new() -> Raw {
        let mut raw = Raw {
            bytes: vec![0; HEADER_BYTES],
            fixed: None,
            chunks: HashMap::new(),
            left_over: None,
        };
        raw.put(0, &MAGIC);
        raw.put(offset_of!(FileHeader, major), &MAJOR.to_le_bytes());
        let header_bytes = HEADER_BYTES as u32;
        raw.put(
            offset_of!(FileHeader, header_bytes),
            &header_bytes.to_le_bytes(),
        );
        raw.allocated();
        raw
    }

    /// Overwrites bytes anywhere.
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Reserves slots for a thread and returns their offset.
    pub fn room(&mut self, thread: u32, name: &str, slots: usize) -> usize {
        let bytes = slots * SLOT_BYTES;
        let chunk = self.chunks.get(&thread).copied();
        let fits = |chunk: &Chunk| CHUNK_HEAD + chunk.used * SLOT_BYTES + bytes <= chunk.bytes;
        let mut chunk = match chunk {
            Some(chunk) if fits(&chunk) => chunk,
            other => self.next(thread, name, other, bytes),
        };
        let at = chunk.at + CHUNK_HEAD + chunk.used * SLOT_BYTES;
        chunk.used += slots;
        self.used(chunk.at, chunk.used);
        self.chunks.insert(thread, chunk);
        at
    }

    fn next(&mut self, thread: u32, name: &str, before: Option<Chunk>, need: usize) -> Chunk {
        if before.is_none()
            && let Some((at, bytes)) = self.left_over.take_if(|left| CHUNK_HEAD + need <= left.1)
        {
            self.head(at, ChunkKind::Records, bytes, thread, name);
            return Chunk { at, bytes, used: 0 };
        }
        let double = before.map_or(MIN_CHUNK, |chunk| chunk.bytes * 2);
        let bytes = self.fixed.unwrap_or(double.min(MAX_CHUNK));
        let bytes = bytes.max((CHUNK_HEAD + need).next_multiple_of(4096));
        let at = self.chunk(ChunkKind::Records, bytes, thread, name);
        Chunk { at, bytes, used: 0 }
    }

    /// Appends a chunk and returns its offset.
    pub fn chunk(&mut self, kind: ChunkKind, bytes: usize, thread: u32, name: &str) -> usize {
        let at = self.bytes.len();
        self.bytes.resize(at + bytes, 0);
        self.head(at, kind, bytes, thread, name);
        self.allocated();
        at
    }

    /// Ends a thread: the rest of its chunk becomes a separate one, for the next thread.
    pub fn ended(&mut self, thread: u32, name: &str) {
        if let Some(chunk) = self.chunks.remove(&thread) {
            let kept = CHUNK_HEAD + chunk.used * SLOT_BYTES;
            self.left_over = Some((chunk.at + kept, chunk.bytes - kept));
            let bytes = chunk.bytes - kept;
            self.head(chunk.at + kept, ChunkKind::Records, bytes, thread, name);
            let at = chunk.at + offset_of!(ChunkHeader, bytes);
            self.put(at, &(kept as u32).to_le_bytes());
        }
    }

    /// Sets the number of entries in use.
    pub fn used(&mut self, chunk: usize, used: usize) {
        let at = chunk + offset_of!(ChunkHeader, used);
        self.put(at, &(used as u32).to_le_bytes());
    }

    fn head(&mut self, at: usize, kind: ChunkKind, bytes: usize, thread: u32, name: &str) {
        let mut padded = [0; 16];
        let length = name.len().min(15);
        padded[..length].copy_from_slice(&name.as_bytes()[..length]);
        self.put(
            at + offset_of!(ChunkHeader, magic),
            &CHUNK_MAGIC.to_le_bytes(),
        );
        self.put(
            at + offset_of!(ChunkHeader, kind),
            &(kind as u32).to_le_bytes(),
        );
        self.put(at + offset_of!(ChunkHeader, thread), &thread.to_le_bytes());
        self.put(
            at + offset_of!(ChunkHeader, bytes),
            &(bytes as u32).to_le_bytes(),
        );
        self.put(at + offset_of!(ChunkHeader, name), &padded);
    }

    fn allocated(&mut self) {
        let bytes = self.bytes.len() as u64;
        self.put(offset_of!(FileHeader, allocated), &bytes.to_le_bytes());
    }
}
