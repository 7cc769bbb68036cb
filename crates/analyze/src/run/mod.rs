//! A recorded program: where its cold start went, and what would remove it.
//!
//! - [`Recording`] holds the recorded data, [`Manifest`] its header.
//! - [`analyze`] explains it. It produces a [`RunReport`], a [`RunView`] with additional
//!   data for the HTML page, and a [`StartAnalysis`] per start for exporters.
//! - [`Cause`] is the closed list of where time goes.
//!
//! The stages of an analysis: `facts` (everything known about a process as a whole) →
//! `iterations` (the repeated unit) → `path` (one cause at each instant) → `examine` (one
//! start) → `summary` (all starts) → `items`, `memory`, `remedies`, `viewing`.

mod analysis;
mod concurrent;
mod counted;
mod detail;
mod driver_calls;
mod examine;
mod facts;
mod items;
mod iterations;
mod memory;
mod nested;
mod notes;
mod path;
mod remedies;
mod summary;
mod timers;
mod torch_compile;
mod viewing;

use trace::StartTrace;

use crate::stats::interval;

pub use analysis::{Findings, analyze};
pub(crate) use counted::{Counted, counted, temperatures, warmest};
pub use driver_calls::span_causes;
pub(crate) use items::LISTED_IMPORT;
pub(crate) use preheat_model::run::{
    AfterReading, AllItems, AroundReport, Bar, Cause, CauseReport, CauseSeconds, Compiler,
    DeviceBytes, FirstBegin, FlameNode, FunctionReport, HostBytes, HostItem, HostMemory, HostPart,
    HostProcess, HostUse, ImportedModule, Importer, Item, IterationRule, IterationUnit,
    IterationsBy, LaterSaving, LineRule, Manifest, MappedBytes, MappedSample, MarkReport,
    MemoryPoint, MemoryReport, NO_REPETITION, Origin, PathPart, RUN_SCHEMA, Recording,
    RegionReport, Remedy, RepeatReport, Row, RunReport, RunView, Segment, StackFrame, Stacks,
    StartAnalysis, StartReport, Temperature, TemperatureReport, ThreadReport, TimedFile, Timers,
    Unfinished, trace,
};
pub(crate) use summary::FEW_ITERATIONS;
pub use timers::{
    Frame, NativeCall, SourceTimers, body, frames, native_calls, timed_lines, timers_in,
};

// Moments that a program marks with `preheat.mark`.

/// All marks of the counted starts, in order of first occurrence.
fn list(recording: &Recording, counted: &[usize]) -> Vec<MarkReport> {
    let starts: Vec<Vec<(f64, &str)>> = (counted.iter())
        .filter_map(|at| recording.starts.get(*at))
        .map(seconds)
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for (_, name) in starts.iter().flatten() {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let mut marks: Vec<MarkReport> = (names.into_iter())
        .filter_map(|name| of_name(name, &starts, recording.manifest.settings.seed))
        .collect();
    marks.sort_by(|a, b| a.first.value.total_cmp(&b.first.value));
    marks
}

fn of_name(name: &str, starts: &[Vec<(f64, &str)>], seed: u64) -> Option<MarkReport> {
    let times = |marks: &Vec<(f64, &str)>| -> Vec<f64> {
        let named = marks.iter().filter(|mark| mark.1 == name);
        named.map(|mark| mark.0).collect()
    };
    let all: Vec<Vec<f64>> = starts.iter().map(times).filter(|t| !t.is_empty()).collect();
    let firsts: Vec<Vec<f64>> = all.iter().map(|times| vec![times[0]]).collect();
    Some(MarkReport {
        name: name.to_owned(),
        count: all.iter().map(Vec::len).max()?,
        first: interval(&firsts, seed)?,
    })
}

/// The marks of a start in chronological order, in seconds after `exec`.
fn seconds(start: &StartTrace) -> Vec<(f64, &str)> {
    let mut marks: Vec<(f64, &str)> = (start.processes.iter())
        .flat_map(|process| &process.marks)
        .map(|(time, name)| (*time as f64 / 1e9, name.as_str()))
        .collect();
    marks.sort_by(|a, b| a.0.total_cmp(&b.0));
    marks
}
