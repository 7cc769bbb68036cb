//! Regions that a program times itself: between two clock readings in its own code.
//!
//! The recorder stores every reading with its location. The source shows which of them are
//! subtracted ([`source`]); this is determined when the recording is made and stored in the
//! manifest as [`Timers`]. [`regions`] pairs the readings of a start accordingly, [`names`] names
//! them, and [`summary`] reports each region over all starts, with its causes.

mod body;
mod cpu_time;
mod events;
mod frames;
mod levels;
mod names;
mod pairs;
mod passing;
mod regions;
mod site;
mod source;
mod statements;
mod summary;

use std::collections::BTreeSet;

use super::path::CAUSES;
use super::summary::{in_order, mean_shares};
use super::{AroundReport, Recording, Timers};
use crate::stats::mean;
use summary::causes;

pub use body::body;
pub use frames::{Frame, NativeCall, frames, native_calls};
pub(super) use names::{RegionName, listed, name, unpaired};
pub(super) use regions::{Execution, Key, Region, Regions, regions};
pub use source::{SourceTimers, timers_in};
pub(super) use summary::{SummaryInput, summarize, waited_in_first};

#[cfg(test)]
pub(super) use site::Site;

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

// The time that the program's own timer adds to the first iteration.
//
// Iterations found by steps or calls leave out what a program does before its model call
// and after it, such as copying inputs; a region that the program times around them has it.

/// A region that is longer than the first iteration by less than this share shows the same
/// number.
const SAME_WITHIN: f64 = 0.1;

/// The time that the first execution of a region takes in addition to the first iteration, if
/// it contains only that iteration, or its begin, in all counted starts, and is markedly
/// longer.
fn around(case: &SummaryInput, region: &Region) -> Option<AroundReport> {
    if !region.known || region.key.clock.is_cpu_time() {
        return None;
    }
    let mut firsts: Vec<f64> = Vec::new();
    let mut longer: Vec<f64> = Vec::new();
    let mut outside: Vec<[f64; CAUSES]> = Vec::new();
    for at in case.counted {
        let start = case.starts.get(*at)?;
        let same = (start.regions.all.iter()).find(|other| other.key == region.key)?;
        let found = case.iterations.get(*at)?.as_ref()?;
        let execution = *same.executions.first()?;
        let Execution { begin, end, .. } = execution;
        let thread = (execution.process, execution.thread);
        let (from, to) = *found.iterations.first()?;
        let alone = found.iterations.get(1).is_none_or(|next| end <= next.1);
        if thread != (found.process, found.thread) || !(begin <= from && from < end && alone) {
            return None;
        }
        // A call lasts until the device is done, which may be after the clock was read.
        let to = to.min(end);
        let first = (to - from) as f64 * 1e-9;
        longer.push(execution.seconds - first);
        firsts.push(first);
        let windows = [(begin, from), (to, end)].map(|window| causes(start, thread, &[window]));
        let mut sum = [0.0; CAUSES];
        for causes in windows.iter().flatten() {
            for (sum, seconds) in sum.iter_mut().zip(causes) {
                *sum += seconds;
            }
        }
        outside.push(sum);
    }
    let (first, longer) = (mean(&firsts)?.value, mean(&longer)?.value);
    (longer > SAME_WITHIN * first).then(|| AroundReport {
        seconds: longer,
        causes: in_order(&mean_shares(outside.into_iter(), longer)),
    })
}

/// Starts with planted clock readings.
#[cfg(test)]
mod fixture {
    use super::super::trace::{Clock, Process, Reading, StartTrace};
    use super::super::{TimedFile, Timers};
    use super::regions::{Region, Regions, regions};

    /// The regions of a start with these (time, line) readings, in a file that subtracts
    /// these lines. Without lines, the source is unknown.
    pub(super) fn start(
        readings: &[(u64, u32)],
        differences: &[(u32, u32)],
    ) -> Vec<(u32, u32, Vec<u64>)> {
        found(
            readings,
            Some(differences).filter(|known| !known.is_empty()),
        )
    }

    /// Like [`start`]; `None` if the source is unknown.
    pub(super) fn found(
        readings: &[(u64, u32)],
        differences: Option<&[(u32, u32)]>,
    ) -> Vec<(u32, u32, Vec<u64>)> {
        let mut texts = vec![String::new()];
        texts.extend((1..100).map(|line| format!("a.py\0{line}\0<module>")));
        let readings = readings.iter().map(|(time, line)| Reading {
            time: *time,
            thread: 0,
            place: *line,
            clock: Clock::Time,
            value: 1_000_000 + time,
        });
        let process = Process {
            texts,
            readings: readings.collect(),
            ..Process::default()
        };
        let trace = StartTrace {
            processes: vec![process],
            ..StartTrace::default()
        };
        let timers = Timers {
            files: (differences.into_iter())
                .map(|differences| TimedFile {
                    file: "a.py".into(),
                    differences: differences.to_vec(),
                    ..TimedFile::default()
                })
                .collect(),
            ..Timers::default()
        };
        let found = regions(&trace, &timers).all;
        let lines = |region: Region| {
            let times = region.executions.iter().map(|e| e.end - e.begin);
            (region.from[0].line, region.key.to[0].line, times.collect())
        };
        found.into_iter().map(lines).collect()
    }

    /// The regions of readings given as (time, thread, location).
    pub(super) fn of_places(
        readings: &[(u64, u32, &str)],
        differences: &[(u32, u32)],
    ) -> Vec<Region> {
        all_of(readings, differences).all
    }

    /// The regions of such readings in a given file.
    pub(super) fn of_file(readings: &[(u64, u32, &str)], file: TimedFile) -> Vec<Region> {
        regions(&trace(readings), &timers(file)).all
    }

    /// Like [`of_places`], with unpaired readings.
    pub(super) fn all_of(readings: &[(u64, u32, &str)], differences: &[(u32, u32)]) -> Regions {
        let file = TimedFile {
            differences: differences.to_vec(),
            ..TimedFile::default()
        };
        regions(&trace(readings), &timers(file))
    }

    /// The timers of one file.
    pub(super) fn timers(file: TimedFile) -> Timers {
        Timers {
            files: vec![TimedFile {
                file: "a.py".into(),
                ..file
            }],
            ..Timers::default()
        }
    }

    /// A start with these readings.
    pub(super) fn trace(readings: &[(u64, u32, &str)]) -> StartTrace {
        let mut process = Process {
            texts: vec![String::new()],
            ..Process::default()
        };
        for (time, thread, place) in readings {
            let known = process.texts.iter().position(|text| text == place);
            let place = known.unwrap_or_else(|| {
                process.texts.push((*place).to_owned());
                process.texts.len() - 1
            });
            process.readings.push(Reading {
                time: *time,
                thread: *thread,
                place: place as u32,
                clock: Clock::Time,
                value: 1_000_000 + time,
            });
        }
        StartTrace {
            processes: vec![process],
            ..StartTrace::default()
        }
    }

    /// The durations of the executions.
    pub(super) fn lengths(region: &Region) -> Vec<u64> {
        region.executions.iter().map(|e| e.end - e.begin).collect()
    }
}
