//! The libraries that an executable file is linked with.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::PROGRAM_HEADER;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
/// An entry of the dynamic section: a tag and its value.
const DYNAMIC_ENTRY: usize = 16;
/// The maximum size of a dynamic section.
const MOST: u64 = 1 << 16;
/// The maximum length of a name.
const LONGEST: u64 = 256;

/// The position in the file and in memory, from a program header.
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    bytes: u64,
}

/// Their names, from the program headers. Unreadable ones are skipped: the loader will
/// report them.
pub(super) fn names(file: &File, table: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let segments: Vec<Segment> = (table.chunks_exact(PROGRAM_HEADER))
        .filter_map(segment)
        .collect();
    let entries = dynamic(file, &segments).unwrap_or_default();
    let strings = (entries.iter().find(|(tag, _)| *tag == DT_STRTAB))
        .and_then(|(_, address)| in_file(&segments, *address));
    entries.into_iter().filter_map(move |(tag, value)| {
        let at = strings?.checked_add(value)?;
        (tag == DT_NEEDED).then(|| name(file, at))?
    })
}

fn segment(header: &[u8]) -> Option<Segment> {
    Some(Segment {
        kind: u32::from_le_bytes(header.get(..4)?.try_into().ok()?),
        offset: number(header, 8)?,
        address: number(header, 16)?,
        bytes: number(header, 32)?,
    })
}

/// The tags and values of the dynamic section.
fn dynamic(file: &File, segments: &[Segment]) -> Option<Vec<(u64, u64)>> {
    let section = segments.iter().find(|segment| segment.kind == PT_DYNAMIC)?;
    let mut bytes = vec![0; usize::try_from(section.bytes.min(MOST)).ok()?];
    file.read_exact_at(&mut bytes, section.offset).ok()?;
    let entries = bytes
        .chunks_exact(DYNAMIC_ENTRY)
        .filter_map(|entry| Some((number(entry, 0)?, number(entry, 8)?)));
    Some(entries.take_while(|(tag, _)| *tag != DT_NULL).collect())
}

/// The file offset of a memory address.
fn in_file(segments: &[Segment], address: u64) -> Option<u64> {
    segments
        .iter()
        .filter(|segment| segment.kind == PT_LOAD)
        .find_map(|segment| {
            let within = address.checked_sub(segment.address)?;
            (within < segment.bytes).then(|| segment.offset.checked_add(within))?
        })
}

fn name(file: &File, at: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; LONGEST as usize];
    let length = file.read_at(&mut bytes, at).ok()?;
    let end = bytes[..length].iter().position(|&byte| byte == 0)?;
    bytes.truncate(end);
    Some(bytes)
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_libraries_of_this_test_are_found() {
        let own = File::open(std::env::current_exe().expect("a path")).expect("it opens");
        let mut head = [0; 64];
        own.read_exact_at(&mut head, 0).expect("it reads");
        let count = usize::from(u16::from_le_bytes([head[56], head[57]]));
        let mut table = vec![0; count * PROGRAM_HEADER];
        let at = number(&head, 32).expect("where it is");
        own.read_exact_at(&mut table, at).expect("it reads");
        let names: Vec<_> = names(&own, &table).collect();
        assert!(names.contains(&b"libc.so.6".to_vec()), "{names:?}");
    }
}
