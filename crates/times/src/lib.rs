//! Iteration times that other tools wrote: bytes → [`Times`], benchmark by benchmark.
//!
//! What a file is is told by what it holds, never by its name. It is read once, from
//! front to back: a benchmark is handed over as soon as it is complete, and what a reader
//! holds is bounded whatever the file says. Nothing is judged here and nothing printed; a
//! file that cannot be read gives a sentence with the place in it.
//!
//! - `source` – bytes with their place, unpacked (`unpack`) where they are compressed
//! - `recognise` – which form it is
//! - `csv` (of `cells`), `lines`, `json` – the forms; `json` has a file for each tool
//! - `number` – what a time may be; `starts`, `held`, `notes` – how many there may be, and
//!   how much of all else

#![forbid(unsafe_code)]

mod cells;
mod csv;
mod error;
mod held;
mod json;
mod lines;
mod notes;
mod number;
mod recognise;
mod source;
mod starts;
mod unit;
mod unpack;

use std::io::Read;

use preheat_analyze::classify::{Format, Times};

pub use error::Error;
pub use unit::Unit;

/// The result of reading.
type Result<T, E = Error> = std::result::Result<T, E>;

/// How a file is to be read.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What a benchmark is called where the file does not say.
    pub name: String,
    /// The unit of files that do not say theirs; seconds if none is named.
    pub unit: Option<Unit>,
    /// Whether the starts of a benchmark may have different numbers of iterations.
    pub mixed_lengths: bool,
}

/// Reads a file and hands over each benchmark as soon as it is complete. What is returned
/// is worth telling of the file as a whole.
///
/// What was handed over before an error is complete and sound.
pub fn read(
    input: impl Read,
    settings: &Settings,
    take: &mut dyn FnMut(Format, Times),
) -> Result<Vec<String>> {
    let mut taken = 0;
    let mut counting = |format, times| {
        taken += 1;
        take(format, times);
    };
    let notes = recognise::read(input, settings, &mut counting)?;
    match taken {
        0 => Err(Error::new("it has no times")),
        _ => Ok(notes),
    }
}
