//! Reads the JSON documents beside the process files of a start.

use std::io::{self, Read};
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::ReadError;
use crate::start::{Unusable, open};

/// A longer file is not one that preheat wrote.
const LONGEST: u64 = 64 << 20;

/// The reason that a document cannot be used. Displayed after its name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DocumentError {
    #[error("{0}")]
    NotPlain(&'static str),
    #[error(transparent)]
    NotOpened(ReadError),
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("is damaged: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("has the schema {found:?}; this version reads {known}")]
    OtherSchema { found: String, known: &'static str },
    #[error("is damaged: {0}")]
    Contradictory(&'static str),
}

/// The content of a document.
pub(crate) fn content(path: &Path) -> Result<Vec<u8>, DocumentError> {
    let file = open(path).map_err(|problem| match problem {
        Unusable::Kind(sentence) => DocumentError::NotPlain(sentence),
        Unusable::Error(error) => DocumentError::NotOpened(error),
    })?;
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Parses a document whose schema must be `known`.
pub(crate) fn parse<T: DeserializeOwned>(
    bytes: &[u8],
    known: &'static str,
    schema: impl Fn(&T) -> &str,
) -> Result<T, DocumentError> {
    let document: T = serde_json::from_slice(bytes)?;
    let found = schema(&document);
    match found == known {
        true => Ok(document),
        false => Err(DocumentError::OtherSchema {
            found: found.to_owned(),
            known,
        }),
    }
}
