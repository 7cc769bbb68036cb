//! Regions that a program times itself: between two clock readings of its own code.
//!
//! The recorder has every reading with its place. Which of them the program subtracts is
//! read from its source ([`source`]) when the recording is made and kept in the manifest as
//! [`Timers`]; [`regions`] pairs the readings of a start by it, and [`summary`] reports each
//! region over all starts, with its causes.

mod body;
mod place;
mod regions;
mod site;
mod source;
mod summary;

pub use body::body;
pub use place::{Frame, addresses, frames};
pub(super) use regions::{Execution, Key, Region, Regions, regions};
#[cfg(test)]
pub(super) use site::Site;
pub use source::{SourceTimers, timers_in};
pub(super) use summary::{Case, listed, name, summarize, unpaired};

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Recording;

/// The program's clock readings, as its source and its debug information describe them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timers {
    /// Which readings each source file subtracts from each other.
    pub files: Vec<TimedFile>,
    /// Lines of the addresses that native programs read clocks at.
    pub addresses: Vec<Address>,
    /// Which regions have the same source text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bodies: Vec<Body>,
}

/// The source text between two lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// Its path.
    pub file: String,
    /// The first line.
    pub from: u32,
    /// The last line.
    pub to: u32,
    /// The number of the text: equal numbers have the same, apart from strings, comments and
    /// the names of results.
    pub text: u32,
}

/// The clock readings of one source file that could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedFile {
    /// Its path.
    pub file: String,
    /// A line whose reading is subtracted from that of another line: (earlier, later).
    pub differences: Vec<(u32, u32)>,
    /// For each difference, the number of the variable that is subtracted. Without numbers,
    /// all are of one variable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<u32>,
    /// Lines with two readings of which the second is subtracted from the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_line: Vec<u32>,
    /// Lines that return a reading: the caller's line is what matters.
    pub returns: Vec<u32>,
}

/// An address in an executable, and the line that it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The executable's path.
    pub program: String,
    /// The address, relative to where the executable is loaded.
    pub address: u64,
    /// The source file; empty if it is not known.
    pub file: String,
    /// The line; 0 if it is not known.
    pub line: u32,
    /// The function.
    pub function: String,
}

impl Timers {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.addresses.is_empty()
    }

    fn body(&self, from: &Frame, to: &Frame) -> Option<u32> {
        let of = |body: &&Body| {
            (&*body.file, body.from, body.to) == (&*from.file, from.line, to.line)
                && from.file == to.file
        };
        self.bodies.iter().find(of).map(|body| body.text)
    }

    fn file(&self, file: &str) -> Option<&TimedFile> {
        self.files.iter().find(|known| known.file == file)
    }
}

/// The lines of all regions of a recording, as file, first and last line.
pub fn timed_lines(recording: &Recording, timers: &Timers) -> BTreeSet<(String, u32, u32)> {
    let starts = recording.starts.iter();
    let regions = starts.flat_map(|start| regions(start, timers).all);
    regions
        .filter(|region| region.known && region.begins().file == region.ends().file)
        .map(|region| {
            let (from, to) = (region.begins(), region.ends());
            (from.file.clone(), from.line, to.line)
        })
        .collect()
}
