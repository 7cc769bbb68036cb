//! The header of a bundle: its version, origin, target machine and size. This is the
//! document `preheat.caches/1`, padded with spaces.
//!
//! Its checksum detects damaged bundles: XXH64, which is fast, and which `xxhsum -H64` computes
//! too. It does not protect against deliberate changes.

use std::hash::Hasher;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use ::tar::EntryType;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

use super::portability::Machine;
use super::tar::{self, BLOCK};
use thiserror::Error;

const NAME: &str = "preheat-caches.json";
const KIND: &str = "preheat.caches/";
const MAJOR: &str = "1";

/// The longest header, in bytes.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// The last field, followed by sixteen digits.
const CHECKSUM: &[u8] = b"\"xxh64\":\"";

/// The document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    schema: String,
    preheat: String,
    pub created: String,
    /// The absolute path of the packed cache directory.
    pub place: String,
    pub machine: Machine,
    /// Directories of caches with code that only runs on the processor it was compiled for.
    pub for_the_processor: Vec<String>,
    pub files: u64,
    pub bytes: u64,
    /// The checksum of all files.
    pub files_xxh64: String,
    /// The checksum of this document, computed with these digits set to zero.
    xxh64: String,
}

impl Header {
    pub(super) fn new(created: &str, place: &str, machine: &Machine) -> Header {
        Header {
            schema: format!("{KIND}{MAJOR}"),
            preheat: env!("CARGO_PKG_VERSION").to_owned(),
            created: created.to_owned(),
            place: place.to_owned(),
            machine: machine.clone(),
            for_the_processor: Vec::new(),
            files: u64::MAX,
            bytes: u64::MAX,
            files_xxh64: "0".repeat(16),
            xxh64: "0".repeat(16),
        }
    }

    /// The document, padded to `length` bytes or to whole blocks.
    pub(super) fn text(&self, length: Option<usize>) -> Result<Vec<u8>, BundleError> {
        let text = serde_json::to_vec(self);
        let mut text = text.map_err(|why| BundleError::Failed(why.to_string()))?;
        let length = length.unwrap_or((text.len() / BLOCK + 2) * BLOCK);
        if text.len() >= length {
            return Err(BundleError::Failed("its header is too long".into()));
        }
        text.resize(length - 1, b' ');
        text.push(b'\n');
        let digits =
            digits(&text).ok_or_else(|| BundleError::Failed("it has no checksum".into()))?;
        let sum = checksum(&text);
        text[digits].copy_from_slice(sum.as_bytes());
        Ok(text)
    }

    /// The tar header and the document, the beginning of a bundle.
    pub(super) fn front(text: &[u8]) -> Vec<u8> {
        let mut bytes = tar::header(NAME, EntryType::Regular, 0o644, text.len() as u64, 0).to_vec();
        bytes.extend(text);
        bytes
    }

    /// Reads a header. Newer versions are refused.
    pub(super) fn read(from: &mut dyn Read) -> Result<Header, BundleError> {
        let other = || BundleError::Refused("it is not a preheat bundle".to_owned());
        let first = match tar::next_header(from) {
            Ok(Some(first))
                if first.name == NAME.as_bytes() && first.kind == EntryType::Regular =>
            {
                first
            }
            Err(why @ BundleError::Failed(_)) => return Err(why),
            _ => return Err(other()),
        };
        if first.size > MAX_HEADER_BYTES || first.size % BLOCK as u64 != 0 {
            return Err(damaged("its header is too long"));
        }
        let mut text = vec![0; first.size as usize];
        tar::fill(from, &mut text)?;
        let bad = || damaged("its header cannot be read");
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(|_| bad())?;
        let schema = value.get("schema").and_then(|schema| schema.as_str());
        let major = schema.and_then(|schema| schema.strip_prefix(KIND));
        match major.ok_or_else(other)? {
            MAJOR => {}
            newer => {
                return Err(BundleError::Refused(format!(
                    "it has version {newer} of the format, but this preheat ({}) reads version {MAJOR}; use the preheat that packed it, or pack it again",
                    env!("CARGO_PKG_VERSION")
                )));
            }
        }
        let header: Header = serde_json::from_value(value).map_err(|_| bad())?;
        let digits = digits(&text).ok_or_else(bad)?;
        text[digits].fill(b'0');
        if header.xxh64 != checksum(&text) {
            return Err(damaged("the checksum of its header does not match"));
        }
        Ok(header)
    }

    /// The path of the cache directory.
    pub(super) fn place(&self) -> Result<PathBuf, BundleError> {
        let path = Path::new(&self.place);
        let plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
        let is_right =
            path.is_absolute() && path.components().all(plain) && !self.place.contains('\0');
        is_right
            .then(|| path.to_owned())
            .ok_or_else(|| damaged("its original path is not absolute"))
    }
}

/// The range of the digits of the document's checksum.
fn digits(text: &[u8]) -> Option<Range<usize>> {
    let mut parts = text.windows(CHECKSUM.len());
    let digits = parts.rposition(|part| part == CHECKSUM)? + CHECKSUM.len();
    (digits + 16 <= text.len()).then_some(digits..digits + 16)
}

fn checksum(text: &[u8]) -> String {
    let mut sum = Checksum::new();
    sum.add(text);
    sum.digits()
}

/// A checksum that is computed incrementally.
#[derive(Clone, Debug)]
pub(super) struct Checksum(XxHash64);

impl Checksum {
    pub(super) fn new() -> Checksum {
        Checksum(XxHash64::with_seed(0))
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// The value in hexadecimal.
    pub(super) fn digits(&self) -> String {
        format!("{:016x}", self.value())
    }

    pub(super) fn value(&self) -> u64 {
        self.0.finish()
    }
}

// Errors of packing and unpacking.

/// An error of packing or unpacking, a clause such as "it is damaged: …".
#[derive(Debug, PartialEq, Eq, Error)]
pub enum BundleError {
    /// The input is not acceptable: another card, a damaged file, nothing to pack.
    #[error("{0}")]
    Refused(String),
    /// The operation failed here: a full disk, a directory without permissions.
    #[error("{0}")]
    Failed(String),
    /// The callback interrupted it.
    #[error("interrupted")]
    Interrupted,
}

/// An I/O error for a path.
pub(super) fn failed(path: &Path, why: &io::Error) -> BundleError {
    BundleError::Failed(format!("{}: {why}", path.display()))
}

/// The error for a bundle that preheat cannot have written like this.
pub(super) fn damaged(how: &str) -> BundleError {
    BundleError::Refused(format!(
        "it is damaged: {how}; copy it again, or pack it again"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header::new("2026-01-01T00:00:00Z", "/x/y", &Machine::here(None))
    }

    #[test]
    fn a_header_survives_a_round_trip() {
        let mut header = header();
        let length = header.text(None).expect("a document").len();
        header.files = 3;
        let text = header.text(Some(length)).expect("a document");
        assert_eq!(text.len() % BLOCK, 0);
        let mut front = Header::front(&text);
        let read = Header::read(&mut front.as_slice()).expect("it is read");
        assert_eq!((read.files, &read.place), (3, &header.place));
        for at in [BLOCK + 40, BLOCK + length - 2] {
            front[at] ^= 1;
            assert!(Header::read(&mut front.as_slice()).is_err(), "{at}");
            front[at] ^= 1;
        }
    }

    #[test]
    fn newer_and_foreign_headers_are_refused() {
        let refused = |header: &Header, word: &str| {
            let text = header.text(None).expect("a document");
            let read = Header::read(&mut Header::front(&text).as_slice());
            let why = read.expect_err("it is refused").to_string();
            assert!(why.contains(word), "{why}");
        };
        let mut newer = header();
        newer.schema = "preheat.caches/2".into();
        refused(&newer, "version 2");
        newer.schema = "preheat.run/1".into();
        refused(&newer, "not a preheat bundle");
        let why = Header::read(&mut &b"PK\x03\x04"[..]).expect_err("it is refused");
        assert!(why.to_string().contains("not a preheat bundle"), "{why}");
        for place in ["", "x", "/a/../b", "/a\0"] {
            let mut header = header();
            header.place = place.into();
            assert!(header.place().is_err(), "{place:?}");
        }
    }

    #[test]
    fn values_match_the_reference_implementation() {
        // From `xxhsum -H64`.
        for (text, value) in [
            ("", 0xef46_db37_51d8_e999),
            ("a", 0xd24e_c4f1_a98c_6e5b),
            (
                "Nobody inspects the spammish repetition",
                0xfbce_a83c_8a37_8bf1,
            ),
        ] {
            let mut sum = Checksum::new();
            sum.add(text.as_bytes());
            assert_eq!(sum.value(), value, "{text}");
        }
    }
}
