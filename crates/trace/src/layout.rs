//! Finds the chunks of a process file, even a damaged one.
//!
//! Chunks are contiguous, and each contains its length. Where that chain is broken, it
//! resumes at the next slot that begins like a chunk. The contents of chunks are not read
//! here.

use std::io::{self, Read, Seek, SeekFrom};
use std::mem::offset_of;
use std::path::PathBuf;

use preheat_wire::{
    CHUNK_MAGIC, ChunkHeader, ChunkKind, FileHeader, HEADER_BYTES, MAGIC, MAJOR, SLOT_BYTES, State,
    Total,
};

use crate::ReadError;
use crate::error::Problems;
use crate::slots::{BLOCK, u16_at, u32_at, u64_at};

/// The alignment of chunks.
const SLOT: u64 = SLOT_BYTES as u64;

/// The size of a chunk header.
const CHUNK_HEAD: u64 = size_of::<ChunkHeader>() as u64;

/// The fields of a file header that the reader needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) began: u64,
    pub(crate) started_ticks: u64,
    pub(crate) boot_offset: u64,
    pub(crate) ticks_per_second: u32,
    pub(crate) state: u32,
    pub(crate) allocated: u64,
    pub(crate) dropped: u64,
    pub(crate) full_at: u64,
}

/// A chunk whose contents are within the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    /// The offset of its contents.
    pub(crate) offset: u64,
    /// True if it contains totals; otherwise it contains records.
    pub(crate) totals: bool,
    /// The thread that wrote it.
    pub(crate) thread: u32,
    /// The thread's name, padded with zeros.
    pub(crate) name: [u8; 16],
    /// Slots or totals in use.
    pub(crate) used: u64,
}

/// A file's header and chunks.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) header: Header,
    pub(crate) chunks: Vec<Chunk>,
}

/// Reads the header and finds the chunks. An error means that nothing can be read.
pub(crate) fn read<R: Read + Seek>(
    source: &mut R,
    problems: &mut Problems,
) -> Result<Layout, ReadError> {
    let length = source.seek(SeekFrom::End(0)).map_err(unreadable)?;
    let header = header(source, length)?;
    // A recorder that got no space for a chunk may have reserved it already.
    let stopped = [State::NoSpace as u32, State::Off as u32].contains(&header.state);
    if length < header.allocated.max(HEADER_BYTES as u64) && !stopped {
        problems.add(|| {
            format!(
                "it ends at offset {length}, but {} bytes were allocated: everything after that \
                 is lost",
                header.allocated
            )
        });
    }
    let mut chunks = Vec::new();
    if let Err(error) = follow(source, length, &mut chunks, problems) {
        problems.add(|| format!("it cannot be read completely: {error}"));
    }
    Ok(Layout { header, chunks })
}

/// Follows the chain of chunks.
fn follow<R: Read + Seek>(
    source: &mut R,
    length: u64,
    chunks: &mut Vec<Chunk>,
    problems: &mut Problems,
) -> io::Result<()> {
    let mut at = HEADER_BYTES as u64;
    while at.saturating_add(CHUNK_HEAD) <= length {
        let mut head = [0; CHUNK_HEAD as usize];
        source.seek(SeekFrom::Start(at))?;
        source.read_exact(&mut head)?;
        let Some(bytes) = size(&head) else {
            let next = search(source, at + SLOT, length)?;
            problems.add(|| {
                let lost = next.unwrap_or(length) - at;
                format!("the {lost} bytes at offset {at} are not a chunk and were skipped")
            });
            at = next.unwrap_or(length);
            continue;
        };
        let room = length - at;
        let (totals, used) = contents(&head, bytes.min(room), at, problems);
        let unit = kind(&head).map_or(0, |(unit, _)| unit);
        let after = (at + CHUNK_HEAD + used * unit).next_multiple_of(SLOT);
        if let (Some(totals), 1..) = (totals, used) {
            chunks.push(Chunk {
                offset: at + CHUNK_HEAD,
                totals,
                thread: u32_at(&head, offset_of!(ChunkHeader, thread)),
                name: name(&head),
                used,
            });
        }
        // A chunk that claims to be longer than the file may only have a wrong size, and
        // other chunks may follow.
        at = if bytes <= room {
            at + bytes
        } else {
            search(source, after, length)?.unwrap_or(length)
        };
    }
    Ok(())
}

/// An I/O error whose path is not known yet.
fn unreadable(error: io::Error) -> ReadError {
    ReadError::Io {
        path: PathBuf::new(),
        error,
    }
}

/// Reads the file header, if this version supports it.
fn header<R: Read + Seek>(source: &mut R, length: u64) -> Result<Header, ReadError> {
    let mut bytes = [0; size_of::<FileHeader>()];
    if length < bytes.len() as u64 {
        return Err(ReadError::TooShort { bytes: length });
    }
    source.seek(SeekFrom::Start(0)).map_err(unreadable)?;
    source.read_exact(&mut bytes).map_err(unreadable)?;
    if !bytes.starts_with(&MAGIC) {
        return Err(ReadError::NotAProcessFile);
    }
    let found = u16_at(&bytes, offset_of!(FileHeader, major));
    if found != MAJOR {
        let (path, newer, found) = (PathBuf::new(), found > MAJOR, u64::from(found));
        return Err(if newer {
            ReadError::Newer { path, found }
        } else {
            ReadError::Older { path, found }
        });
    }
    let short = |at| u32_at(&bytes, at);
    let long = |at| u64_at(&bytes, at);
    Ok(Header {
        pid: short(offset_of!(FileHeader, pid)),
        parent: short(offset_of!(FileHeader, parent)),
        began: long(offset_of!(FileHeader, began)),
        started_ticks: long(offset_of!(FileHeader, started_ticks)),
        boot_offset: long(offset_of!(FileHeader, boot_offset)),
        ticks_per_second: short(offset_of!(FileHeader, ticks_per_second)),
        state: short(offset_of!(FileHeader, state)),
        allocated: long(offset_of!(FileHeader, allocated)),
        dropped: long(offset_of!(FileHeader, dropped)),
        full_at: long(offset_of!(FileHeader, full_at)),
    })
}

/// The size of the chunk that begins with these bytes; `None` if there is none.
fn size(head: &[u8]) -> Option<u64> {
    let bytes = u64::from(u32_at(head, offset_of!(ChunkHeader, bytes)));
    let sound = u32_at(head, offset_of!(ChunkHeader, magic)) == CHUNK_MAGIC
        && bytes >= CHUNK_HEAD
        && bytes.is_multiple_of(SLOT);
    sound.then_some(bytes)
}

/// The offset of the next plausible chunk.
fn search<R: Read + Seek>(source: &mut R, from: u64, length: u64) -> io::Result<Option<u64>> {
    let mut at = from;
    // The blocks are small at first: a file may be broken in very many places.
    let mut block = vec![0; 4096];
    while at.saturating_add(CHUNK_HEAD) <= length {
        block.truncate(usize::try_from(length - at).unwrap_or(usize::MAX));
        source.seek(SeekFrom::Start(at))?;
        source.read_exact(&mut block)?;
        let heads = block.windows(CHUNK_HEAD as usize).step_by(SLOT_BYTES);
        let mut places = heads.zip((at..).step_by(SLOT_BYTES));
        if let Some((_, place)) = places.find(|(head, _)| makes_sense(head)) {
            return Ok(Some(place));
        }
        // The last slot of this block may be the first of a chunk.
        at += (block.len() as u64 - SLOT) / SLOT * SLOT;
        block.resize((block.len() * 2).min(BLOCK), 0);
    }
    Ok(None)
}

/// Returns whether these bytes are a plausible chunk header, not only marked as one.
fn makes_sense(head: &[u8]) -> bool {
    size(head).is_some_and(|bytes| {
        let used = u64::from(u32_at(head, offset_of!(ChunkHeader, used)));
        kind(head).is_some_and(|(unit, _)| CHUNK_HEAD + used * unit <= bytes)
    })
}

/// The size of an entry of a chunk, and whether the entries are totals; `None` for a kind
/// of chunk that this version does not know.
fn kind(head: &[u8]) -> Option<(u64, bool)> {
    let kind = u32_at(head, offset_of!(ChunkHeader, kind));
    if kind == ChunkKind::Records as u32 {
        return Some((SLOT, false));
    }
    (kind == ChunkKind::Totals as u32).then_some((size_of::<Total>() as u64, true))
}

/// Returns whether a chunk contains totals, if its kind is known, and the number of its
/// entries.
fn contents(head: &[u8], bytes: u64, at: u64, problems: &mut Problems) -> (Option<bool>, u64) {
    let Some((unit, totals)) = kind(head) else {
        return (None, 0);
    };
    let room = bytes.saturating_sub(CHUNK_HEAD) / unit;
    let claimed = u64::from(u32_at(head, offset_of!(ChunkHeader, used)));
    if claimed > room {
        problems.add(|| {
            format!(
                "the chunk at offset {at} should have {claimed} entries, but only {room} are \
                 present"
            )
        });
    }
    (Some(totals), claimed.min(room))
}

/// The name of the thread that wrote a chunk.
fn name(head: &[u8]) -> [u8; 16] {
    head.get(offset_of!(ChunkHeader, name)..)
        .and_then(|rest| rest.first_chunk())
        .copied()
        .unwrap_or_default()
}
