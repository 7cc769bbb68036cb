//! Finds the loader that an executable file requests, and detects a runtime that must be
//! the first library.

use std::fs::File;
use std::os::unix::fs::FileExt;

mod needed;

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
const LONGEST: usize = 4096;

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
            let mut path = vec![0; usize::try_from(bytes).ok()?.min(LONGEST)];
            file.read_exact_at(&mut path, at).ok()?;
            loader = match path.windows(4).any(|part| part == b"musl") {
                true => Loader::Musl,
                false => Loader::Glibc,
            };
        }
    }
    if loader == Loader::Glibc && needed::names(file, &table).any(|name| is_sanitizer(&name)) {
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

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::path::Path;

    use super::*;

    fn read_at(path: &Path) -> Option<Elf> {
        let file = File::open(path).expect("it opens");
        let mut head = Vec::new();
        let mut start = (&file).take(4096);
        start.read_to_end(&mut head).expect("it reads");
        read(&file, &head)
    }

    /// The executable of this test, modified.
    fn changed(name: &str, change: impl Fn(&mut Vec<u8>)) -> Option<Elf> {
        let own = std::env::current_exe().expect("a path");
        let mut bytes = std::fs::read(own).expect("it reads");
        change(&mut bytes);
        let path = std::env::temp_dir().join(format!("preheat-elf-{name}-{}", std::process::id()));
        std::fs::write(&path, &bytes).expect("a file");
        let read = read_at(&path);
        std::fs::remove_file(path).expect("it can be removed");
        read
    }

    #[test]
    fn this_test_is_loaded_by_glibc_and_a_text_by_nothing() {
        let own = std::env::current_exe().expect("a path");
        assert_eq!(read_at(&own), Some(Elf::Native(Loader::Glibc)));
        assert_eq!(read_at(Path::new("/etc/passwd")), None);
    }

    #[test]
    fn other_formats_are_distinguished() {
        assert_eq!(changed("class", |elf| elf[4] = 1), Some(Elf::Foreign));
        assert_eq!(changed("machine", |elf| elf[18] = 0xfe), Some(Elf::Foreign));
        let musl = changed("musl", |elf| {
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
            let _ = changed(&format!("cut-{length}"), |elf| elf.truncate(length));
        }
    }
}
