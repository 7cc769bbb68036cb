//! Splits a chunk into records, and decodes slots.
//!
//! Chunks are read in blocks of a fixed size. The meaning of a record is not known here.

use std::io::{Read, Seek, SeekFrom};
use std::mem::offset_of;

use preheat_model::run::trace::Usage;
use preheat_wire::{Record, SLOT_BYTES, Slot, Usage as WireUsage};

use crate::error::Problems;
use crate::layout::Chunk;

/// The number of bytes read at once: they stay in the processor's cache while they are
/// decoded.
pub(crate) const BLOCK: usize = 256 * 1024;

/// The two bytes at an offset; 0 if they are missing.
#[inline(always)]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    array_at(bytes, at).map_or(0, u16::from_le_bytes)
}

/// The four bytes at an offset; 0 if they are missing.
#[inline(always)]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    array_at(bytes, at).map_or(0, u32::from_le_bytes)
}

/// The eight bytes at an offset; 0 if they are missing.
#[inline(always)]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    array_at(bytes, at).map_or(0, u64::from_le_bytes)
}

#[inline(always)]
fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Decodes the first slot of a record.
#[inline(always)]
pub(crate) fn record(slot: &Slot) -> Record {
    Record {
        begin: u64_at(slot, offset_of!(Record, begin)),
        end: u64_at(slot, offset_of!(Record, end)),
        kind: slot[offset_of!(Record, kind)],
        more: slot[offset_of!(Record, more)],
        symbol: u16_at(slot, offset_of!(Record, symbol)),
        status: u32_at(slot, offset_of!(Record, status)).cast_signed(),
        value: u64_at(slot, offset_of!(Record, value)),
    }
}

/// The further slot with this index; zeros if it is missing.
pub(crate) fn further(slots: &[Slot], number: usize) -> Slot {
    slots.get(number).copied().unwrap_or_default()
}

/// The resource usage of a thread, from the first further slot.
pub(crate) fn usage(slots: &[Slot]) -> Usage {
    let slot = further(slots, 0);
    Usage {
        cpu: u64_at(&slot, offset_of!(WireUsage, cpu)),
        major_faults: u32_at(&slot, offset_of!(WireUsage, major_faults)),
        bytes_read: u64::from(u32_at(&slot, offset_of!(WireUsage, blocks_read))) * 512,
    }
}

/// The text in the further slots from this index on, without trailing zeros.
pub(crate) fn text(slots: &[Slot], from: usize) -> &[u8] {
    let bytes = slots.get(from..).unwrap_or_default().as_flattened();
    let end = bytes.iter().rposition(|byte| *byte != 0);
    bytes
        .get(..end.map_or(0, |last| last + 1))
        .unwrap_or_default()
}

/// The fields of a text, which zeros separate.
pub(crate) fn fields(text: &[u8]) -> impl Iterator<Item = String> {
    text.split(|byte| *byte == 0).map(owned)
}

/// A text as a string; invalid UTF-8 is replaced.
pub(crate) fn owned(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// Calls `visit` with every record of a chunk: its first slot, its further slots, and
/// its offset in the file. `buffer` has [`BLOCK`] bytes.
pub(crate) fn each_record<R: Read + Seek>(
    source: &mut R,
    chunk: &Chunk,
    buffer: &mut [u8],
    problems: &mut Problems,
    mut visit: impl FnMut(&Record, &[Slot], u64),
) {
    let mut left = chunk.used.saturating_mul(SLOT_BYTES as u64);
    // The buffer begins with the incomplete record at the end of the previous block.
    let (mut kept, mut offset) = (0, chunk.offset);
    if let Err(error) = source.seek(SeekFrom::Start(offset)) {
        return problems.add(|| format!("the data at offset {offset} cannot be read: {error}"));
    }
    while left > 0 {
        let room = buffer.len().saturating_sub(kept);
        let want = usize::try_from(left).map_or(room, |left| left.min(room));
        let filled = kept + want;
        let Some(block) = buffer.get_mut(kept..filled) else {
            return;
        };
        if let Err(error) = source.read_exact(block) {
            return problems.add(|| format!("the data at offset {offset} cannot be read: {error}"));
        }
        left -= want as u64;
        let (slots, _) = buffer.get(..filled).unwrap_or_default().as_chunks();
        let mut rest = slots;
        while let Some((first, after)) = rest.split_first() {
            let head = record(first);
            let at = offset + ((slots.len() - rest.len()) * SLOT_BYTES) as u64;
            if let Some((further, next)) = after.split_at_checked(usize::from(head.more)) {
                visit(&head, further, at);
                rest = next;
            } else if left > 0 {
                break;
            } else {
                problems.add(|| {
                    format!(
                        "the record at offset {at} should have {} further slots, but only {} are \
                         present",
                        head.more,
                        after.len()
                    )
                });
                visit(&head, after, at);
                rest = &[];
            }
        }
        kept = rest.len() * SLOT_BYTES;
        offset += (filled - kept) as u64;
        buffer.copy_within(filled - kept..filled, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_trimmed_and_split() {
        let mut slot = [0; SLOT_BYTES];
        slot[..6].copy_from_slice(b"a\0\0b\0\0");
        assert_eq!(fields(text(&[slot], 0)).collect::<Vec<_>>(), ["a", "", "b"]);
        assert_eq!(text(&[[0; SLOT_BYTES]], 0), b"");
        assert_eq!(text(&[], 1), b"");
    }

    #[test]
    fn a_text_without_end_ends_with_its_slots() {
        assert_eq!(text(&[[b'x'; SLOT_BYTES]; 2], 0).len(), 64);
    }

    #[test]
    fn missing_bytes_read_as_zero() {
        assert_eq!(u64_at(&[1, 2, 3], 0), 0);
        assert_eq!(u32_at(&[1, 2, 3, 4], 100), 0);
        assert_eq!(usage(&[]), Usage::default());
    }
}
