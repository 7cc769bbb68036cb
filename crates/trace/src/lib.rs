//! Reads recordings: a directory of process files becomes a
//! [`Recording`](preheat_model::run::Recording) for the analysis.
//!
//! A recording may come from another machine, from a program that was killed, or from a
//! full disk, so nothing in it is trusted. An unusable recording is a [`ReadError`]; a
//! damaged one loses only the damaged parts, which are listed in the `problems` of the
//! start. Bytes are decoded without unsafe code. Files are read in blocks, so that memory
//! use follows the data, not the sizes that a file claims.
//!
//! From the file upwards: `layout` finds the chunks, `slots` splits them into records,
//! `decoder` turns those into spans and tables, `nest` orders the spans, `join` combines
//! the processes of a start with the launcher's samples, and `document` reads
//! `recording.json` and the other documents. Conclusions are drawn in `analyze`.

#![forbid(unsafe_code)]

mod decoder;
mod definitions;
mod document;
mod error;
mod files_used;
mod join;
mod layout;
mod nest;
mod own_load;
mod process;
mod recorded_start;
mod slots;
mod thread_names;

use std::io::Cursor;
use std::path::Path;

use preheat_model::run::Recording;
use preheat_model::run::trace::Process;

pub use error::ReadError;
pub use files_used::{files, imports};

/// Reads a recording: its directory, or the `recording.json` in it.
///
/// Damage to the files of a start is listed in that start's `problems`.
pub fn read(path: &Path) -> Result<Recording, ReadError> {
    let (directory, manifest) = document::read_manifest(path)?;
    let mut starts = recorded_start::read_all(&directory, &manifest)?;
    for start in &mut starts {
        own_load::find_own_load(start, manifest.machine.cores);
    }
    Ok(Recording { manifest, starts })
}

/// Reads one process file from memory, as if it were the whole recording.
///
/// `exec` is the time at which its start began, on the clock of the file. Also returns
/// sentences that describe any damage.
pub fn read_process(bytes: &[u8], exec: u64) -> Result<(Process, Vec<String>), ReadError> {
    let mut decoded = process::decode(&mut Cursor::new(bytes), exec)?;
    let ended = decoded.last_known();
    decoded.close(ended);
    Ok((decoded.process, decoded.problems.into_sentences()))
}
