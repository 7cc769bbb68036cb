//! Reads iteration times written by other tools: bytes → [`Times`], benchmark by benchmark.
//!
//! The format is detected from the content, never from the file name. A file is read once,
//! front to back: each benchmark is delivered once it is complete, and memory use is
//! bounded whatever the file contains. This crate neither judges nor prints anything; a
//! file that cannot be read yields a message with the position.
//!
//! - `source` – bytes with their position, decompressed if necessary
//! - `csv`, `lines`, `json` – the formats; `json` has one file per tool
//! - `number` – the valid range of times; `starts` – limits on the number of times and
//!   everything else

#![forbid(unsafe_code)]

mod csv;
mod error;
mod json;
mod lines;
mod number;
mod source;
mod starts;

use std::io::Read;

use preheat_model::classify::{Format, Times};

use crate::error::quoted;
use crate::source::{BUFFER, Source};

pub use error::Error;
pub use number::{TimeUnit, UnknownUnit};

/// The result of reading.
type Result<T, E = Error> = std::result::Result<T, E>;

/// Settings for reading a file.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The name of benchmarks that have none in the file.
    pub name: String,
    /// The unit of files that do not define one; seconds by default.
    pub unit: Option<TimeUnit>,
    /// If true, the starts of a benchmark may have different numbers of iterations.
    pub mixed_lengths: bool,
}

/// Reads a file and passes each benchmark to `emit` once it is complete. Returns notes on
/// the whole file.
///
/// Benchmarks that were delivered before an error are complete and valid.
pub fn read(
    input: impl Read,
    settings: &Settings,
    emit: &mut dyn FnMut(Format, Times),
) -> Result<Vec<String>> {
    let mut count = 0;
    let mut counting = |format, times| {
        count += 1;
        emit(format, times);
    };
    let notes = recognize(input, settings, &mut counting)?;
    match count {
        0 => Err(Error::new("it has no times")),
        _ => Ok(notes),
    }
}

// Detects the format of a file by its first bytes.

/// Unsupported compression formats, by their first bytes.
const PACKED: [(&[u8], &str, &str); 4] = [
    (b"\x1f\x8b", "gzip", "gunzip -c"),
    (b"\x28\xb5\x2f\xfd", "Zstandard", "zstd -dc"),
    (b"\xfd7zXZ\0", "xz", "xz -dc"),
    (b"PK\x03\x04", "zip", "unzip -p"),
];

/// Reads a file in any format.
pub(crate) fn recognize(
    input: impl Read,
    settings: &Settings,
    emit: &mut dyn FnMut(Format, Times),
) -> Result<Vec<String>> {
    let mut source = Source::new(Box::new(input));
    if source.ahead(3)?.starts_with(b"BZh") {
        source = Source::new(Box::new(source::bzip2(source)));
        if source.ahead(3)?.starts_with(b"BZh") {
            return Err(Error::new("it is compressed twice; unpack it once"));
        }
    }
    let ahead = source.ahead(BUFFER)?;
    for (begin, name, command) in PACKED {
        if ahead.starts_with(begin) {
            return Err(Error::new(format!(
                "it is compressed with {name}; `{command} FILE | preheat classify -` unpacks it"
            )));
        }
    }
    let wide = [b"\xff\xfe", b"\xfe\xff"]
        .iter()
        .any(|b| ahead.starts_with(*b));
    if wide || ahead.contains(&0) {
        return Err(Error::new(format!(
            "it is not text in a known form (UTF-8 or ASCII); it begins with {}",
            quoted(&ahead[..ahead.len().min(16)])
        )));
    }
    if ahead.starts_with(b"\xef\xbb\xbf") {
        source.skip(3);
    }
    // Skip leading whitespace, however long.
    while source
        .peek()?
        .is_some_and(|byte| byte.is_ascii_whitespace())
    {
        source.next()?;
    }
    let ahead = source.ahead(BUFFER)?;
    match ahead.first() {
        None => Err(Error::new("it is empty")),
        Some(b'{' | b'[') => json::read(&mut source, settings, emit),
        Some(_) if is_table(ahead) => csv::read(&mut source, settings, emit),
        Some(_) => lines::read(&mut source, settings, emit),
    }
}

/// Returns true if the first significant line has at least three cells.
fn is_table(ahead: &[u8]) -> bool {
    let mut lines = ahead.split(|byte| *byte == b'\n');
    let significant = |line: &&[u8]| {
        let line = line.trim_ascii();
        !line.is_empty() && !line.starts_with(b"#")
    };
    let first = lines.find(significant).unwrap_or_default();
    first.iter().filter(|byte| **byte == b',').count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> String {
        let mut emit = |_, _| panic!("nothing can be read");
        let error = recognize(bytes, &Settings::default(), &mut emit).unwrap_err();
        error.to_string()
    }

    #[test]
    fn unsupported_files_are_rejected() {
        assert_eq!(refused(b""), "it is empty");
        assert_eq!(refused(b" \n\t\r\n"), "it is empty");
        assert_eq!(refused(b"\xef\xbb\xbf"), "it is empty");
        assert!(refused(b"\x1f\x8b\x08...").contains("`gunzip -c FILE | preheat classify -`"));
        assert!(refused(b"PK\x03\x04").contains("zip"));
        assert!(refused(b"\xff\xfe1\0").contains("not text in a known form"));
        assert!(refused(b"\x7fELF\x02\x01\0\0").ends_with("it begins with \" ELF    \""));
        assert!(refused(b"BZh9 is not compressed data").contains("damaged"));
    }

    #[test]
    fn a_table_has_three_cells() {
        assert!(is_table(b"# c\n\nidx, name, 0\n"));
        assert!(!is_table(b"0,5\n0,6,7\n"));
        assert!(!is_table(b"0.5\n"));
    }
}
