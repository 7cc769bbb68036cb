//! Reads the JSON documents of a recording: `recording.json`, its manifest, and those beside the
//! process files of a start.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use preheat_model::run::{
    MAPPED_SCHEMA, Manifest, Mapped, RECORDING_SCHEMA, STACKS_SCHEMA, Stacks,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{ReadError, check_schema};
use crate::recorded_start::{Unusable, open};

/// A longer file is not one that preheat wrote.
const MAX_BYTES: u64 = 64 << 20;

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
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
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

// Reads the memory of a start by mapping.

/// Reads a file. Times become times since `exec`.
pub(crate) fn read_mapped(path: &Path, exec: u64) -> Result<Mapped, DocumentError> {
    parse_mapped(&content(path)?, exec)
}

fn parse_mapped(bytes: &[u8], exec: u64) -> Result<Mapped, DocumentError> {
    let mut mapped: Mapped = parse(bytes, MAPPED_SCHEMA, |mapped: &Mapped| &mapped.schema)?;
    if !mapped.is_valid() {
        return Err(DocumentError::Contradictory(
            "a name does not exist, or a part exceeds its whole",
        ));
    }
    for sample in &mut mapped.samples {
        sample.time = sample.time.saturating_sub(exec);
    }
    mapped.samples.sort_by_key(|sample| sample.time);
    Ok(mapped)
}

// Reads the sampled stacks of a start.

/// Reads a file. Times become times since `exec`.
pub(crate) fn read_stacks(path: &Path, exec: u64) -> Result<Stacks, DocumentError> {
    parse_stacks(&content(path)?, exec)
}

fn parse_stacks(bytes: &[u8], exec: u64) -> Result<Stacks, DocumentError> {
    let mut stacks: Stacks = parse(bytes, STACKS_SCHEMA, |stacks: &Stacks| &stacks.schema)?;
    if !stacks.is_valid() {
        return Err(DocumentError::Contradictory(
            "a sample or a caller does not exist",
        ));
    }
    for sample in &mut stacks.samples {
        sample.time = sample.time.saturating_sub(exec);
    }
    stacks.samples.sort_by_key(|sample| sample.time);
    Ok(stacks)
}

// Reads `recording.json`, the manifest of a recording.

/// The file name of the manifest.
const NAME: &str = "recording.json";

/// The largest accepted manifest; each start takes a few hundred bytes.
const MAX_MANIFEST: u64 = 64 << 20;

/// Reads the manifest. Also returns the directory of the recording.
pub(crate) fn read_manifest(path: &Path) -> Result<(PathBuf, Manifest), ReadError> {
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
    let manifest = parse_manifest(&bytes(&directory, &file)?, &file)?;
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
    if found.len() > MAX_MANIFEST {
        return Err(bad("it is far too large for a manifest"));
    }
    fs::read(file).map_err(at)
}

fn parse_manifest(bytes: &[u8], file: &Path) -> Result<Manifest, ReadError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_mappings_are_refused() {
        let good = r#"{"schema":"preheat.memory/1","names":[{"name":"[heap]","code":false}],
            "samples":[{"time":120,"process":7,"bytes":[[0,4096,8192,8192]]},
            {"time":110,"process":7,"bytes":[]}]}"#;
        let mapped = parse_mapped(good.as_bytes(), 100).expect("a good file");
        let times: Vec<u64> = mapped.samples.iter().map(|sample| sample.time).collect();
        assert_eq!(times, [10, 20]);
        for (bad, why) in [
            (good.replace("memory/1", "memory/2"), "has the schema"),
            (good.replace("[0,4096", "[1,4096"), "does not exist"),
            (good.replace("[0,4096", "[0,9000"), "exceeds its whole"),
            (good.replace("[0,4096", "[0,-1"), "is damaged"),
            (good[..good.len() - 1].to_owned(), "is damaged"),
        ] {
            let problem = parse_mapped(bad.as_bytes(), 100)
                .expect_err("a bad file")
                .to_string();
            assert!(problem.contains(why), "{problem}");
        }
    }

    #[test]
    fn damaged_stacks_are_refused() {
        let good = r#"{"schema":"preheat.stacks/1",
            "frames":[{"function":"f","file":"a.py","line":3,"library":""}],
            "nodes":[[null,0]],"samples":[[120,7,7,0],[110,7,7,0]]}"#;
        let stacks = parse_stacks(good.as_bytes(), 100).expect("a good file");
        let times: Vec<u64> = stacks.samples.iter().map(|sample| sample.time).collect();
        assert_eq!(times, [10, 20]);
        for (bad, why) in [
            (good.replace("stacks/1", "stacks/2"), "has the schema"),
            (good.replace("[[null,0]]", "[[0,0]]"), "does not exist"),
            (good.replace("7,7,0]]", "7,7,9]]"), "does not exist"),
            (good[..good.len() - 1].to_owned(), "is damaged"),
            (good.replace("[120,7,7,0]", "[-1,7,7,0]"), "is damaged"),
        ] {
            let problem = parse_stacks(bad.as_bytes(), 100)
                .expect_err("a bad file")
                .to_string();
            assert!(problem.contains(why), "{problem}");
        }
    }
}
