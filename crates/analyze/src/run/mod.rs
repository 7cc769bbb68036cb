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
mod behind;
mod calls;
mod cause;
mod counted;
mod detail;
mod examine;
mod facts;
mod items;
mod iterations;
mod leaves;
mod manifest;
mod marks;
mod memory;
mod notes;
mod others;
mod own_load;
mod path;
mod ranges;
mod remedies;
mod report;
mod span_causes;
mod stacks;
mod summary;
mod timers;
mod torch_compile;
pub mod trace;
mod view;
mod viewing;
mod waiting;

pub use analysis::{Findings, analyze};
pub use behind::{Behind, Module};
pub use cause::Cause;
pub(crate) use counted::{Counted, counted, temperatures, warmest};
pub use examine::{PathPart, StartAnalysis};
pub use iterations::line_patterns;
pub use manifest::{Evicted, Manifest, RECORDING_SCHEMA, RunSettings, StartInfo, Temperature};
pub use own_load::find_own_load;
pub use report::{
    CauseReport, CauseSeconds, DeviceBytes, FunctionReport, Item, IterationsBy, Later, MarkReport,
    MemoryReport, RUN_SCHEMA, RegionReport, Remedy, RemedyGroup, RunReport, Rung, StartReport,
    ThreadReport, Unfinished,
};
pub use span_causes::span_causes;
pub use stacks::{STACKS_FILE, STACKS_SCHEMA, StackFrame, StackSample, Stacks};
pub use timers::{
    Address, Body, Frame, SourceTimers, TimedFile, Timers, addresses, body, frames, timed_lines,
    timers_in,
};
pub use trace::Recording;
pub use view::{Bar, FlameNode, MemoryPoint, Row, RunView, Segment};
