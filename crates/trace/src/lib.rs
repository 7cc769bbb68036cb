//! Reads recordings: a directory of process files becomes a
//! [`Recording`](preheat_analyze::run::Recording), which the analysis understands.
//!
//! A recording may come from another machine, from a program that was killed, or from a
//! disk that was full, so nothing in it is believed. What cannot be used at all is a
//! [`ReadError`]; what is damaged loses only what is damaged, and the start's `problems`
//! say so. Bytes are decoded without any unsafe code, and files are read in blocks:
//! memory goes to what was recorded, never to what a file claims.
//!
//! From the file upwards: `layout` finds the chunks, `slots` takes them apart into
//! records, `decoder` makes those into spans and tables, `nest` puts the spans in
//! order, `join` joins the processes of a start and what the launcher saw of them,
//! `manifest` reads the head. What follows from all that is not decided here.

#![forbid(unsafe_code)]

mod decoder;
mod definitions;
mod error;
mod files;
mod functions;
mod imports;
mod join;
mod layout;
mod manifest;
mod nest;
mod problems;
mod process;
mod slots;
mod start;

use std::io::Cursor;
use std::path::Path;

use preheat_analyze::run::trace::Process;
use preheat_analyze::run::{Recording, find_own_load};

pub use error::ReadError;
pub use files::files;
pub use imports::imports;

/// Reads a recording: its directory, or the `recording.json` in it.
///
/// Damage to the files of a start is told in that start's `problems`.
pub fn read(path: &Path) -> Result<Recording, ReadError> {
    let (directory, manifest) = manifest::read(path)?;
    let mut starts = start::read_all(&directory, &manifest)?;
    for start in &mut starts {
        find_own_load(start, manifest.machine.cores);
    }
    Ok(Recording { manifest, starts })
}

/// Reads one process file that is in memory, as if it were all that was recorded.
///
/// `exec` is when its start began, on the clock of the file. Beside the process there
/// are sentences about what is damaged.
pub fn read_process(bytes: &[u8], exec: u64) -> Result<(Process, Vec<String>), ReadError> {
    let mut decoded = process::decode(&mut Cursor::new(bytes), exec)?;
    let ended = decoded.last_known();
    decoded.close(ended);
    Ok((decoded.process, decoded.problems.into_sentences()))
}
