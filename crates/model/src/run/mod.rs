//! A recorded program: the recording, and the document about it.
//!
//! - [`Recording`] holds the recorded data, [`Manifest`] its header.
//! - [`RunReport`] is the document, [`RunView`] the data of its page, [`StartAnalysis`] the
//!   data for exporters, [`Behind`] the details for comparisons.
//! - [`Cause`] is the closed list of where time goes.

mod behind;
mod cause;
mod item;
mod manifest;
mod mapped;
mod path;
mod report;
mod stacks;
mod timers;
pub mod trace;
mod view;

pub use behind::{Behind, Module};
pub use cause::Cause;
pub use item::{Compiler, Importer, Item, Origin};
pub use manifest::line_patterns;
pub use manifest::{
    Evicted, Manifest, RECORDING_SCHEMA, RunSettings, StartInfo, Temperature, UnknownTemperature,
};
pub use mapped::{MAPPED_FILE, MAPPED_SCHEMA, Mapped, MappedBytes, MappedName, MappedSample};
pub use path::{PathPart, SpanCause, SpanCauses, StartAnalysis};
pub use report::{
    AfterReading, AroundReport, CauseReport, CauseSeconds, DeviceBytes, FirstBegin, FunctionReport,
    HostBytes, HostItem, HostMemory, HostPart, HostProcess, HostUse, IterationUnit, IterationsBy,
    Later, MarkReport, MemoryReport, RUN_SCHEMA, RUN_SCHEMAS, RegionReport, Remedy, RemedyGroup,
    RepeatReport, RunReport, Rung, StartReport, ThreadReport, Unfinished,
};
pub use stacks::{STACKS_FILE, STACKS_SCHEMA, StackFrame, StackSample, Stacks};
pub use timers::{Address, Body, SourceLine, TimedFile, Timers};
pub use trace::Recording;
pub use view::{Bar, FlameNode, MemoryPoint, Row, RunView, Segment};
