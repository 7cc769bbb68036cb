//! Reads iteration times written by other tools: bytes → [`Times`], benchmark by benchmark.
//!
//! The format is detected from the content, never from the file name. A file is read once,
//! front to back: each benchmark is delivered once it is complete, and memory use is
//! bounded whatever the file contains. This crate neither judges nor prints anything; a
//! file that cannot be read yields a message with the position.
//!
//! - `source` – bytes with their position, decompressed (`unpack`) if necessary
//! - `recognise` – format detection
//! - `csv` (built on `cells`), `lines`, `json` – the formats; `json` has one file per tool
//! - `number` – the valid range of times; `starts`, `quota`, `notes` – limits on the number of
//!   times and everything else

#![forbid(unsafe_code)]

mod cells;
mod csv;
mod error;
mod json;
mod lines;
mod notes;
mod number;
mod quota;
mod recognise;
mod source;
mod starts;
mod unpack;

use std::io::Read;

use preheat_model::classify::{Format, Times};

pub use error::Error;
pub use number::{TimeUnit, UnknownUnit};

/// The result of reading.
type Result<T, E = Error> = std::result::Result<T, E>;

/// Settings for reading a file.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The name of benchmarks that have none in the file.
    pub name: String,
    /// The unit of files that do not define one; seconds by default.
    pub unit: Option<TimeUnit>,
    /// If true, the starts of a benchmark may have different numbers of iterations.
    pub mixed_lengths: bool,
}

/// Reads a file and passes each benchmark to `emit` once it is complete. Returns notes on
/// the whole file.
///
/// Benchmarks that were delivered before an error are complete and valid.
pub fn read(
    input: impl Read,
    settings: &Settings,
    emit: &mut dyn FnMut(Format, Times),
) -> Result<Vec<String>> {
    let mut count = 0;
    let mut counting = |format, times| {
        count += 1;
        emit(format, times);
    };
    let notes = recognise::read(input, settings, &mut counting)?;
    match count {
        0 => Err(Error::new("it has no times")),
        _ => Ok(notes),
    }
}
