//! Reads `recording.json`, the manifest of a recording.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use preheat_model::run::{Manifest, RECORDING_SCHEMA};
use serde_json::Value;

use crate::ReadError;
use crate::error::check_schema;

/// The file name of the manifest.
const NAME: &str = "recording.json";

/// The largest accepted manifest; each start takes a few hundred bytes.
const LONGEST: u64 = 64 << 20;

/// Reads the manifest. Also returns the directory of the recording.
pub(crate) fn read(path: &Path) -> Result<(PathBuf, Manifest), ReadError> {
    let at = |error| ReadError::Io {
        path: path.to_owned(),
        error,
    };
    let is_directory = fs::metadata(path).map_err(at)?.is_dir();
    let (directory, file) = if is_directory {
        (path.to_owned(), path.join(NAME))
    } else {
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        (parent.unwrap_or(Path::new(".")).to_owned(), path.to_owned())
    };
    let manifest = parse(&bytes(&directory, &file)?, &file)?;
    Ok((directory, manifest))
}

fn bytes(directory: &Path, file: &Path) -> Result<Vec<u8>, ReadError> {
    let found = match fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ReadError::NoManifest {
                directory: directory.to_owned(),
                has_starts: has_starts(directory),
            });
        }
        other => other,
    };
    let bad = |reason: &str| ReadError::BadManifest {
        path: file.to_owned(),
        reason: reason.to_owned(),
    };
    let at = |error| ReadError::Io {
        path: file.to_owned(),
        error,
    };
    let found = found.map_err(at)?;
    // Reading anything but a plain file might never end.
    if !found.is_file() {
        return Err(bad("it is not a plain file"));
    }
    if found.len() > LONGEST {
        return Err(bad("it is far too large for a manifest"));
    }
    fs::read(file).map_err(at)
}

fn parse(bytes: &[u8], file: &Path) -> Result<Manifest, ReadError> {
    let bad = |reason: String| ReadError::BadManifest {
        path: file.to_owned(),
        reason,
    };
    let not_json = |error: serde_json::Error| bad(format!("it is not valid: {error}"));
    // The schema first: another version may have other fields.
    let value: Value = serde_json::from_slice(bytes).map_err(not_json)?;
    let Some(schema) = value.get("schema").and_then(Value::as_str) else {
        return Err(bad(format!(
            "it is not marked as a {RECORDING_SCHEMA:?} document"
        )));
    };
    check_schema(schema, file.to_owned())?;
    // Parsed from the bytes again, so that errors include the position.
    serde_json::from_slice(bytes).map_err(not_json)
}

/// Returns whether there are directories of starts, so that this once was a recording.
fn has_starts(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.file_name().as_encoded_bytes().starts_with(b"start-"))
    })
}
