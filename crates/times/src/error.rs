//! Reading errors, with their position.

use std::fmt;
use std::io;

/// The reason a file cannot be read. Displayed as a message that follows the file name.
#[derive(Debug)]
pub struct Error {
    what: String,
    /// Line and column, counted from 1.
    position: Option<(u64, u64)>,
    /// The path in the document: `.benchmarks[0].runs[3]`.
    path: String,
}

impl Error {
    /// An error that concerns the whole file.
    pub(crate) fn new(what: impl Into<String>) -> Error {
        Error {
            what: what.into(),
            position: None,
            path: String::new(),
        }
    }

    /// An error at a line and column.
    pub(crate) fn at(position: (u64, u64), what: impl Into<String>) -> Error {
        Error {
            position: Some(position),
            ..Error::new(what)
        }
    }

    /// Adds the path in the document, if the error has none yet.
    pub(crate) fn within(mut self, path: impl FnOnce() -> String) -> Error {
        if self.path.is_empty() {
            self.path = path();
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.position {
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
            // Reading a whole stream never requests an exact number of bytes, so this can
            // only come from decompression.
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

/// Quotes file content for a message: short, and without terminal control characters.
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
    fn the_position_comes_first() {
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
