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
mod calls;
mod counted;
mod detail;
mod examine;
mod facts;
mod items;
mod iterations;
mod leaves;
mod marks;
mod memory;
mod notes;
mod others;
mod path;
mod ranges;
mod remedies;
mod summary;
mod timers;
mod torch_compile;
mod viewing;
mod waiting;

pub use analysis::{Findings, analyze};
pub use calls::span_causes;
pub use timers::{
    Frame, NativeCall, SourceTimers, body, frames, native_calls, timed_lines, timers_in,
};

pub(crate) use counted::{Counted, counted, temperatures, warmest};
pub(crate) use items::LISTED_IMPORT;
pub(crate) use preheat_model::run::{
    AfterReading, AroundReport, Bar, Behind, Cause, CauseReport, CauseSeconds, Compiler,
    DeviceBytes, FirstBegin, FlameNode, FunctionReport, HostBytes, HostItem, HostMemory, HostPart,
    HostProcess, HostUse, Importer, Item, IterationUnit, IterationsBy, Later, Manifest,
    MappedBytes, MappedSample, MarkReport, MemoryPoint, MemoryReport, Module, Origin, PathPart,
    RUN_SCHEMA, Recording, RegionReport, Remedy, RepeatReport, Row, RunReport, RunView, Rung,
    Segment, StackFrame, Stacks, StartAnalysis, StartReport, Temperature, ThreadReport, TimedFile,
    Timers, Unfinished, line_patterns, trace,
};
pub(crate) use summary::FEW_ITERATIONS;
