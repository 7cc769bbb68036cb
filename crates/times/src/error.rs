//! Why a file cannot be read: a sentence, with the place.

use std::fmt;
use std::io;

/// Why a file cannot be read. Shown as a sentence that follows the file's name.
#[derive(Debug)]
pub struct Error {
    what: String,
    /// Line and column, counted from 1.
    place: Option<(u64, u64)>,
    /// Where in the document: `.benchmarks[0].runs[3]`.
    path: String,
}

impl Error {
    /// Of the file as a whole.
    pub(crate) fn new(what: impl Into<String>) -> Error {
        Error {
            what: what.into(),
            place: None,
            path: String::new(),
        }
    }

    /// At a line and column.
    pub(crate) fn at(place: (u64, u64), what: impl Into<String>) -> Error {
        Error {
            place: Some(place),
            ..Error::new(what)
        }
    }

    /// With the path in the document, if it has none yet.
    pub(crate) fn within(mut self, path: impl FnOnce() -> String) -> Error {
        if self.path.is_empty() {
            self.path = path();
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.place {
            write!(f, "line {line}, column {column}")?;
            if !self.path.is_empty() {
                write!(f, ", {}", self.path)?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(why: io::Error) -> Error {
        match why.kind() {
            // What reads from a whole stream never asks for an exact count, so this comes
            // from unpacking alone.
            io::ErrorKind::UnexpectedEof => {
                Error::new("its compressed data ends too early: was it cut off?")
            }
            io::ErrorKind::IsADirectory => Error::new(
                "it is a directory; name the files in it (of a recording: what `preheat report RECORDING --json FILE` writes)",
            ),
            _ => Error::new(format!("it cannot be read: {why}")),
        }
    }
}

/// What a sentence quotes of a file: short, and nothing that would steer a terminal.
pub(crate) fn quoted(text: &[u8]) -> String {
    const MOST: usize = 40;
    let text = String::from_utf8_lossy(text);
    let mut short: String = text
        .chars()
        .take(MOST)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(MOST).is_some() {
        short.push('…');
    }
    format!("\"{short}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_first() {
        let error = Error::at((3, 14), "a").within(|| ".b[1]".to_owned());
        assert_eq!(error.to_string(), "line 3, column 14, .b[1]: a");
        let error = error.within(|| ".outer".to_owned());
        assert_eq!(error.to_string(), "line 3, column 14, .b[1]: a");
        assert_eq!(Error::new("a").to_string(), "a");
    }

    #[test]
    fn quotations_are_short_and_harmless() {
        assert_eq!(quoted(b"a\x1b[1m\xff"), "\"a [1m\u{fffd}\"");
        assert_eq!(quoted(&[b'x'; 99]).chars().count(), 43);
    }
}
