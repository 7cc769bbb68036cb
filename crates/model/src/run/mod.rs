//! A recorded program: the recording, and the document about it.
//!
//! - [`Recording`] holds the recorded data, [`Manifest`] its header.
//! - [`RunReport`] is the document, [`RunView`] the data of its page, [`StartAnalysis`] the
//!   data for exporters, [`AllItems`] the details for comparisons.
//! - [`Cause`] is the closed list of where time goes.

mod cause;
mod item;
mod manifest;
mod mapped;
mod report;
mod rule;
mod stacks;
mod timers;
pub mod trace;
mod view;

pub use cause::Cause;
pub use item::{AllItems, Compiler, ImportedModule, Importer, Item, Origin};
pub use manifest::{
    Evicted, Manifest, RECORDING_SCHEMA, RunSettings, StartInfo, Temperature, UnknownTemperature,
};
pub use mapped::{MAPPED_FILE, MAPPED_SCHEMA, Mapped, MappedBytes, MappedName, MappedSample};
pub use report::{
    AfterReading, AroundReport, CauseReport, CauseSeconds, DeviceBytes, EndOfTime, FirstBegin,
    FunctionReport, HostBytes, HostItem, HostMemory, HostPart, HostProcess, HostUse, IterationUnit,
    IterationsBy, LaterSaving, MarkReport, MemoryReport, NO_REPETITION, RUN_SCHEMA, RUN_SCHEMAS,
    RegionReport, Remedy, RemedyGroup, RepeatReport, RunReport, StartReport, TemperatureReport,
    ThreadReport, Unfinished, line_range,
};
pub use rule::{IterationRule, LineRule, UnknownIterationRule};
pub use stacks::{STACKS_FILE, STACKS_SCHEMA, StackFrame, StackSample, Stacks};
pub use timers::{Address, Body, SourceLine, TimedFile, Timers};
pub use trace::Recording;
pub use view::{
    Bar, FlameNode, MemoryPoint, PathPart, Row, RunView, Segment, SpanCause, SpanCauses,
    StartAnalysis,
};
