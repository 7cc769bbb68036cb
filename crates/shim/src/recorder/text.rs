//! Numbers for frequent texts, and a set of items to be recorded once.
//!
//! Both are hash tables without a lock: the thread that sets an entry first records its
//! definition. Two texts with the same 64-bit hash would be confused, which does not happen
//! in practice.

use super::process::process;
use preheat_wire::{Event, Kind};
use std::sync::atomic::{AtomicU64, Ordering};

/// The maximum distance of an entry from its ideal index.
const MAX_DISTANCE: usize = 64;

/// FNV-1a with a final mix, so that the low bits are well distributed.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for &byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^= hash >> 29;
    hash.max(1)
}

/// The index of a hash, and whether it is new; `None` if the table is full there.
fn enter(table: &[AtomicU64], hash: u64) -> Option<(usize, bool)> {
    for step in 0..MAX_DISTANCE {
        let place = (hash as usize).wrapping_add(step) % table.len();
        let entry = table.get(place)?;
        match entry.load(Ordering::Relaxed) {
            0 => match entry.compare_exchange(0, hash, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some((place, true)),
                Err(other) if other == hash => return Some((place, false)),
                Err(_) => {}
            },
            other if other == hash => return Some((place, false)),
            _ => {}
        }
    }
    None
}

/// The number of a text, which is recorded when it first occurs; 0 if it cannot have one.
pub fn text(bytes: &[u8]) -> u32 {
    // A forked child has an empty table, and gets its own file only after this.
    if bytes.is_empty() || !super::active() {
        return 0;
    }
    let Some(process) = process() else { return 0 };
    let Some((place, new)) = enter(&process.texts, hash(bytes)) else {
        return 0;
    };
    let number = place as u32 + 1;
    if new {
        if bytes.windows(2).any(|pair| pair == b"::")
            && let Some(word) = process.operations.get(place / 64)
        {
            word.fetch_or(1 << (place % 64), Ordering::Relaxed);
        }
        super::instant(Kind::Text, 0, 0, u64::from(number), None, bytes);
    }
    number
}

/// Returns whether the text with this number is the name of a single operation in a
/// framework: `aten::conv2d`.
pub(super) fn is_operation(number: u32) -> bool {
    let place = (number as usize).wrapping_sub(1);
    let word = process().and_then(|process| process.operations.get(place / 64));
    word.is_some_and(|word| word.load(Ordering::Relaxed) >> (place % 64) & 1 == 1)
}

/// The hash of the text with this number; 0 if there is none.
pub(super) fn hash_of(number: u32) -> u64 {
    let place = (number as usize).wrapping_sub(1);
    let hash = process().and_then(|process| process.texts.get(place));
    hash.map_or(0, |hash| hash.load(Ordering::Relaxed))
}

/// Returns whether this occurs for the first time in this process, as a `what`. Also true
/// each time if the table is full.
pub fn first_time(what: Event, bytes: &[u8]) -> bool {
    if !super::active() {
        return false;
    }
    let hash = (hash(bytes) ^ ((what as u64) << 32)).max(1);
    process().is_some_and(|process| enter(&process.seen, hash).is_none_or(|(_, new)| new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_keeps_its_entries() {
        let table: Vec<AtomicU64> = (0..128).map(|_| AtomicU64::new(0)).collect();
        let first = enter(&table, hash(b"a")).unwrap();
        assert!(first.1);
        assert_eq!(enter(&table, hash(b"a")), Some((first.0, false)));
        let places: Vec<_> = (0..128u32)
            .filter_map(|number| enter(&table, hash(&number.to_le_bytes())))
            .collect();
        assert!(places.len() < 128 && places.len() > 60);
        assert_eq!(enter(&table, hash(b"a")), Some((first.0, false)));
    }
}
