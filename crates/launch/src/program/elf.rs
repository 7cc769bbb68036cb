//! Finds the loader that an executable file requests, and detects a runtime that must be
//! the first library.
//!
//! This decides whether a program is recorded, so a damaged file may not end in an error: it
//! reads a few fields at their offsets, without mapping the file as `object` would.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// An executable file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elf {
    /// For the recorder's architecture.
    Native(Loader),
    /// For another one: 32 bits, or another processor.
    Foreign,
}

/// The loader of its libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loader {
    /// None: it is statically linked.
    None,
    /// glibc or compatible.
    Glibc,
    /// glibc, with a sanitizer runtime that must be the first library.
    Sanitized,
    /// musl.
    Musl,
}

/// The value of `e_machine`.
#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
/// The value of `e_machine`.
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("preheat supports x86-64, and aarch64 without tests; see docs/install.md");

const PT_INTERP: u32 = 3;
const PROGRAM_HEADER: usize = 56;
/// The maximum length of the path of a loader.
const MAX_LOADER_PATH: usize = 4096;

/// Reads the file; `None` if it is not an ELF file or not readable.
pub(super) fn read(file: &File, head: &[u8]) -> Option<Elf> {
    let identity = head.get(..20)?;
    if !identity.starts_with(b"\x7fELF") {
        return None;
    }
    let machine = u16::from_le_bytes([identity[18], identity[19]]);
    // The class (64 bits) and the byte order (little-endian).
    if identity[4] != 2 || identity[5] != 1 || machine != MACHINE {
        return Some(Elf::Foreign);
    }
    let offset = u64::from_le_bytes(head.get(32..40)?.try_into().ok()?);
    let size = usize::from(u16::from_le_bytes(head.get(54..56)?.try_into().ok()?));
    let count = usize::from(u16::from_le_bytes(head.get(56..58)?.try_into().ok()?));
    if size != PROGRAM_HEADER {
        return None;
    }
    let mut table = vec![0; size * count];
    file.read_exact_at(&mut table, offset).ok()?;
    let mut loader = Loader::None;
    for entry in table.chunks_exact(size) {
        if u32::from_le_bytes(entry.get(..4)?.try_into().ok()?) == PT_INTERP {
            let at = u64::from_le_bytes(entry.get(8..16)?.try_into().ok()?);
            let bytes = u64::from_le_bytes(entry.get(32..40)?.try_into().ok()?);
            let mut path = vec![0; usize::try_from(bytes).ok()?.min(MAX_LOADER_PATH)];
            file.read_exact_at(&mut path, at).ok()?;
            loader = match path.windows(4).any(|part| part == b"musl") {
                true => Loader::Musl,
                false => Loader::Glibc,
            };
        }
    }
    if loader == Loader::Glibc && names(file, &table).any(|name| is_sanitizer(&name)) {
        loader = Loader::Sanitized;
    }
    Some(Elf::Native(loader))
}

/// Returns whether a library, given its name or path, is a sanitizer runtime that must be
/// loaded first. The names of GCC and Clang differ.
pub(super) fn is_sanitizer(library: &[u8]) -> bool {
    let name = library.rsplit(|&byte| byte == b'/').next();
    let name = name.unwrap_or_default();
    let rest = (name.strip_prefix(b"libclang_rt.")).or_else(|| name.strip_prefix(b"lib"));
    let sanitizers: [&[u8]; 3] = [b"asan", b"hwasan", b"tsan"];
    sanitizers.iter().any(|sanitizer| {
        let end = rest.and_then(|rest| rest.strip_prefix(*sanitizer));
        end.is_some_and(|end| end.starts_with(b".") || end.starts_with(b"-"))
    })
}

// The libraries that an executable file is linked with.

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
/// An entry of the dynamic section: a tag and its value.
const DYNAMIC_ENTRY: usize = 16;
/// The maximum size of a dynamic section.
const MAX_DYNAMIC_BYTES: u64 = 1 << 16;
/// The maximum length of a name.
const MAX_NAME: u64 = 256;

/// The position in the file and in memory, from a program header.
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    bytes: u64,
}

/// Their names, from the program headers. Unreadable ones are skipped: the loader will
/// report them.
fn names(file: &File, table: &[u8]) -> impl Iterator<Item = Vec<u8>> {
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
    let mut bytes = vec![0; usize::try_from(section.bytes.min(MAX_DYNAMIC_BYTES)).ok()?];
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
    let mut bytes = vec![0; MAX_NAME as usize];
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
    use std::io::Read;
    use std::path::Path;

    use preheat_host::Scratch;

    use super::*;

    fn read_at(path: &Path) -> Option<Elf> {
        let file = File::open(path).expect("it opens");
        let mut head = Vec::new();
        let mut start = (&file).take(4096);
        start.read_to_end(&mut head).expect("it reads");
        read(&file, &head)
    }

    /// The executable of this test, modified.
    fn changed(change: impl Fn(&mut Vec<u8>)) -> Option<Elf> {
        let own = std::env::current_exe().expect("a path");
        let mut bytes = std::fs::read(own).expect("it reads");
        change(&mut bytes);
        let scratch = Scratch::new("elf").expect("a directory for the test");
        let path = scratch.path().join("program");
        std::fs::write(&path, &bytes).expect("a file");
        read_at(&path)
    }

    #[test]
    fn this_test_is_loaded_by_glibc_and_a_text_by_nothing() {
        let own = std::env::current_exe().expect("a path");
        assert_eq!(read_at(&own), Some(Elf::Native(Loader::Glibc)));
        assert_eq!(read_at(Path::new("/etc/passwd")), None);
    }

    #[test]
    fn other_formats_are_distinguished() {
        assert_eq!(changed(|elf| elf[4] = 1), Some(Elf::Foreign));
        assert_eq!(changed(|elf| elf[18] = 0xfe), Some(Elf::Foreign));
        let musl = changed(|elf| {
            let at = elf.windows(8).position(|part| part == b"ld-linux");
            let at = at.expect("it has a loader");
            elf[at..at + 8].copy_from_slice(b"ld-musl-");
        });
        assert_eq!(musl, Some(Elf::Native(Loader::Musl)));
    }

    #[test]
    fn sanitizers_are_known_by_their_names() {
        for name in [
            "libasan.so.8",
            "/usr/lib/libtsan.so",
            "libclang_rt.asan-x86_64.so",
            "libhwasan.so.0",
        ] {
            assert!(is_sanitizer(name.as_bytes()), "{name}");
        }
        for name in ["libc.so.6", "libasanity.so", "libubsan.so.1", "asan.so", ""] {
            assert!(!is_sanitizer(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn a_truncated_file_does_not_panic() {
        for length in [0, 3, 19, 40, 63, 64, 100] {
            let _ = changed(|elf| elf.truncate(length));
        }
    }

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
