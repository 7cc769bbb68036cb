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
    pub(crate) fn new(what: impl ToString) -> Error {
        Error {
            what: what.to_string(),
            position: None,
            path: String::new(),
        }
    }

    /// An error at a line and column.
    pub(crate) fn at(position: (u64, u64), what: impl ToString) -> Error {
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

/// A value or an amount that is not accepted. It has no position; the reader adds it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Problem {
    #[error("{text} {why}")]
    Time { text: String, why: NotATime },
    #[error("a file can have at most {0} benchmarks; split it")]
    ManyBenchmarks(usize),
    #[error("names and parameters have too much text; split the file, or remove some of them")]
    MuchText,
    #[error("more than {0} times at once; split the file")]
    ManyTimes(usize),
    #[error("a benchmark can have at most {0} starts; remove some")]
    ManyStarts(usize),
    #[error("a start has at most {0} iterations here; use only the first ones")]
    ManyIterations(usize),
    #[error(
        "{starts} starts of so many iterations would take many minutes to classify; use fewer \
         starts, or the first iterations of each"
    )]
    MuchWork { starts: usize },
    #[error(
        "start {start} has {last} {} and the first has {first}: was one cut off? \
         --mixed-lengths accepts starts of different lengths",
        if *.last == 1 { "iteration" } else { "iterations" }
    )]
    MixedLengths {
        start: usize,
        first: usize,
        last: usize,
    },
}

/// The reason a number cannot be the time of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotATime {
    #[error("is not a time: every iteration needs one")]
    Missing,
    #[error("is not a time: the clock was too coarse, or nothing ran")]
    Zero,
    #[error("is not a time: it is below 0")]
    Negative,
    #[error(
        "is not a time: it would take over thirty years; \
         --unit s|ms|us|ns names another unit"
    )]
    TooLong,
    #[error(
        "is not a time: it would take less than a picosecond; \
         --unit s|ms|us|ns names another unit"
    )]
    TooShort,
}

/// Quotes file content for a message: short, and without terminal control characters.
pub(crate) fn quoted(text: &[u8]) -> String {
    const MAX_NOTES: usize = 40;
    let text = String::from_utf8_lossy(text);
    let mut short: String = text
        .chars()
        .take(MAX_NOTES)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(MAX_NOTES).is_some() {
        short.push('…');
    }
    format!("\"{short}\"")
}

// Notes on a whole file, limited in number.

/// The maximum number of notes.
const MAX_NOTES: usize = 100;

/// Notes, in order.
#[derive(Default)]
pub(crate) struct Notes {
    shown: Vec<String>,
    more: usize,
}

impl Notes {
    /// Adds a note; `note` is called only if it is kept.
    pub fn add(&mut self, note: impl FnOnce() -> String) {
        if self.shown.len() == MAX_NOTES {
            self.more += 1;
        } else {
            self.shown.push(note());
        }
    }

    /// Returns the notes, with a count of the others.
    pub fn finish(mut self) -> Vec<String> {
        match self.more {
            0 => {}
            1 => self.shown.push("and 1 more like this".to_owned()),
            more => self.shown.push(format!("and {more} more like this")),
        }
        self.shown
    }
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

    #[test]
    fn further_notes_are_counted() {
        let mut notes = Notes::default();
        (0..MAX_NOTES + 3).for_each(|at| notes.add(|| format!("note {at}")));
        let all = notes.finish();
        assert_eq!(
            (all.len(), &*all[MAX_NOTES - 1]),
            (MAX_NOTES + 1, "note 99")
        );
        assert_eq!(all[MAX_NOTES], "and 3 more like this");
    }
}
