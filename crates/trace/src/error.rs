//! Errors that make a recording unreadable.

use std::fmt;
use std::io;
use std::path::PathBuf;

use preheat_model::run::RECORDING_SCHEMA;
use preheat_wire::{FileHeader, MAJOR};

/// The reason that a recording, or one of its process files, cannot be used.
#[derive(Debug)]
pub enum ReadError {
    /// An I/O error.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The directory has no `recording.json`.
    NoManifest {
        /// The directory.
        directory: PathBuf,
        /// True if it contains directories of starts.
        has_starts: bool,
    },
    /// `recording.json` is not valid.
    BadManifest {
        /// The file.
        path: PathBuf,
        /// The error and its position.
        reason: String,
    },
    /// A newer preheat wrote it.
    Newer {
        /// The file; empty for bytes in memory.
        path: PathBuf,
        /// The version of its layout.
        found: u64,
    },
    /// It has an older layout, which is no longer supported.
    Older {
        /// The file; empty for bytes in memory.
        path: PathBuf,
        /// The version of its layout.
        found: u64,
    },
    /// It is too short to contain a header.
    TooShort {
        /// The length in bytes.
        bytes: u64,
    },
    /// It does not begin with the magic bytes of process files.
    NotAProcessFile,
}

impl ReadError {
    /// The same error, about the file with this path.
    pub(crate) fn at(self, path: PathBuf) -> ReadError {
        match self {
            ReadError::Newer { found, .. } => ReadError::Newer { path, found },
            ReadError::Older { found, .. } => ReadError::Older { path, found },
            ReadError::Io { error, .. } => ReadError::Io { path, error },
            other => other,
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io { path, error } if path.as_os_str().is_empty() => {
                write!(to, "cannot be read: {error}")
            }
            ReadError::Io { path, error } => write!(to, "cannot read {}: {error}", path.display()),
            ReadError::NoManifest {
                directory,
                has_starts: true,
            } => write!(
                to,
                "{} contains starts, but its recording.json is missing, and their times cannot be \
                 read without it; record again",
                directory.display()
            ),
            ReadError::NoManifest { directory, .. } => write!(
                to,
                "{} is not a recording: it has no recording.json; pass the directory that \
                 `preheat run` printed",
                directory.display()
            ),
            ReadError::BadManifest { path, reason } => {
                write!(to, "{} cannot be used: {reason}", path.display())
            }
            ReadError::Newer { path, found } => write!(
                to,
                "{}was recorded by a newer preheat (layout {found}); this version reads layout \
                 {MAJOR}, so update preheat",
                Subject(path)
            ),
            ReadError::Older { path, found } => write!(
                to,
                "{}was recorded by an older preheat (layout {found}); this version reads layout \
                 {MAJOR}, so record again, or use the preheat that recorded it",
                Subject(path)
            ),
            ReadError::TooShort { bytes } => write!(
                to,
                "is not readable: it has only {bytes} of the {} bytes of a header",
                size_of::<FileHeader>()
            ),
            ReadError::NotAProcessFile => {
                write!(to, "is not readable: it is not a process file")
            }
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// A path and a space, or nothing for bytes that have no path.
struct Subject<'a>(&'a std::path::Path);

impl fmt::Display for Subject<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.as_os_str().is_empty() {
            return Ok(());
        }
        write!(to, "{} ", self.0.display())
    }
}

/// Checks the version in a schema such as `preheat.recording/1`.
pub(crate) fn check_schema(schema: &str, path: PathBuf) -> Result<(), ReadError> {
    if schema == RECORDING_SCHEMA {
        return Ok(());
    }
    let known = RECORDING_SCHEMA.rsplit_once('/');
    let found = schema
        .rsplit_once('/')
        .and_then(|(kind, major)| Some((kind, major.parse::<u64>().ok()?)));
    match (known, found) {
        (Some((known, _)), Some((kind, major))) if kind == known => {
            if major > u64::from(MAJOR) {
                Err(ReadError::Newer { path, found: major })
            } else {
                Err(ReadError::Older { path, found: major })
            }
        }
        _ => Err(ReadError::BadManifest {
            path,
            reason: format!("it is a {schema:?} document, not a {RECORDING_SCHEMA:?} one"),
        }),
    }
}

// Descriptions of the damage in one file. Their number is limited, since a file may be
// damaged everywhere.

/// The maximum number of sentences per file.
const MAX_SENTENCES: usize = 6;

/// The damage found in a file.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    sentences: Vec<String>,
    more: u64,
}

impl Problems {
    /// Adds a sentence, which is built only if it is shown.
    pub(crate) fn add(&mut self, sentence: impl FnOnce() -> String) {
        if self.sentences.len() < MAX_SENTENCES {
            self.sentences.push(sentence());
        } else {
            self.more += 1;
        }
    }

    /// All sentences, and the number of those left out.
    pub(crate) fn into_sentences(mut self) -> Vec<String> {
        if self.more > 0 {
            let more = self.more;
            let noun = if more == 1 { "part" } else { "parts" };
            self.sentences
                .push(format!("{more} more {noun} cannot be read"));
        }
        self.sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_for_a_newer_layout_names_both_versions() {
        let error = check_schema("preheat.recording/2", PathBuf::from("r/recording.json"));
        assert_eq!(
            error.expect_err("newer").to_string(),
            "r/recording.json was recorded by a newer preheat (layout 2); this version reads \
             layout 1, so update preheat"
        );
    }

    #[test]
    fn another_document_is_named() {
        let error = check_schema("preheat.lab/1", PathBuf::from("x")).expect_err("other");
        assert!(error.to_string().contains("\"preheat.lab/1\" document"));
    }

    #[test]
    fn omitted_sentences_are_counted() {
        let mut problems = Problems::default();
        for number in 0..MAX_SENTENCES + 3 {
            problems.add(|| number.to_string());
        }
        let sentences = problems.into_sentences();
        assert_eq!(sentences.len(), MAX_SENTENCES + 1);
        assert_eq!(sentences[MAX_SENTENCES], "3 more parts cannot be read");
    }
}
