//! The symbols of a library or executable, looked up when its start has ended.

use std::fs::{self, File};

use addr2line::Loader;
use object::Endianness;
use object::ReadCache;
use object::read::elf::{ElfFile64, ProgramHeader};
use preheat_model::run::StackFrame;

/// Lines are only looked up in smaller files: the debug information of a large library
/// takes longer to read than the program took to start.
const MAX_BYTES_WITH_LINES: u64 = 64 << 20;

/// The symbols and lines of a file with machine code.
pub(super) struct Symbols {
    library: String,
    loader: Option<Loader>,
    lines: bool,
    /// The loaded parts of the file: offset, length, address.
    segments: Vec<(u64, u64, u64)>,
}

impl Symbols {
    pub(super) fn of(path: &str) -> Symbols {
        let plain = fs::metadata(path).ok().filter(|file| file.is_file());
        let loader = plain.as_ref().and_then(|_| Loader::new(path).ok());
        Symbols {
            library: path.to_owned(),
            loader,
            lines: plain.is_some_and(|file| file.len() <= MAX_BYTES_WITH_LINES),
            segments: segments(path).unwrap_or_default(),
        }
    }

    /// The function at this offset in the file.
    pub(super) fn frame(&self, offset: u64) -> StackFrame {
        let mut frame = StackFrame {
            library: self.library.clone(),
            ..StackFrame::default()
        };
        let within = |segment: &&(u64, u64, u64)| {
            offset
                .checked_sub(segment.0)
                .is_some_and(|at| at < segment.1)
        };
        let segment = self.segments.iter().find(within);
        let (Some(loader), Some(segment)) = (&self.loader, segment) else {
            return frame;
        };
        let address = segment.2.saturating_add(offset - segment.0);
        if let Some(symbol) = loader.find_symbol(address) {
            frame.function = symbol.to_owned();
        }
        if self.lines
            && let Ok(Some(location)) = loader.find_location(address)
        {
            frame.file = location.file.unwrap_or_default().to_owned();
            frame.line = location.line.unwrap_or(0);
        }
        frame
    }
}

fn segments(path: &str) -> Option<Vec<(u64, u64, u64)>> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    let endian = elf.endian();
    let loaded = elf.elf_program_headers().iter();
    let loaded = loaded.filter(|segment| segment.p_type(endian) == object::elf::PT_LOAD);
    let parts = loaded.map(|segment| {
        (
            segment.p_offset(endian),
            segment.p_filesz(endian),
            segment.p_vaddr(endian),
        )
    });
    Some(parts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_not_libraries_have_no_symbols() {
        let none = Symbols::of("/nonexistent/library.so").frame(64);
        assert_eq!(none.library, "/nonexistent/library.so");
        assert_eq!((none.function.as_str(), none.line), ("", 0));
    }
}
