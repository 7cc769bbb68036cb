//! Starts with planted clock readings, for tests.

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
pub(super) fn of_places(readings: &[(u64, u32, &str)], differences: &[(u32, u32)]) -> Vec<Region> {
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
