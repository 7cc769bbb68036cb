//! Regions that a program times itself: between two clock readings of its own code.
//!
//! The recorder stores every reading with its location. The source shows which of them are
//! subtracted ([`source`]); this is determined when the recording is made and stored in the
//! manifest as [`Timers`]. [`regions`] pairs the readings of a start accordingly, and
//! [`summary`] reports each region over all starts, with its causes.

mod around;
mod body;
mod events;
#[cfg(test)]
mod fixture;
mod frames;
mod pairs;
mod regions;
mod site;
mod source;
mod summary;
mod unfinished;

pub use body::body;
pub use frames::{Frame, NativeCall, frames, native_calls};
pub(super) use regions::{Execution, Key, Region, Regions, regions};
#[cfg(test)]
pub(super) use site::Site;
pub use source::{SourceTimers, timers_in};
pub(super) use summary::{Case, listed, name, summarize, unpaired, waited_in_first};

use std::collections::BTreeSet;

use super::{Recording, Timers};

/// The lines of all regions of a recording: file, first and last line.
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
