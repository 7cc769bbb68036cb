//! The data of one start that the HTML page ([`RunView`]) and exporters ([`StartAnalysis`])
//! show in addition to the report. The page's data is bounded regardless of the length of the
//! recording. Units are seconds since `exec`, and bytes.

use super::Cause;
use super::trace::{Process, Span};

/// The charts of one start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunView {
    /// The index of the shown start.
    pub start: usize,
    /// The end of the waterfall: the end of the third iteration.
    pub until: f64,
    /// The path: one cause at each instant, without gaps, from 0 to `until`.
    pub path: Vec<Segment>,
    /// Begin and end of the iterations within the waterfall.
    pub iterations: Vec<(f64, f64)>,
    /// The rows of the waterfall, one per thread, starting with the one that runs the
    /// iterations.
    pub rows: Vec<Row>,
    /// The imports, as a tree whose root is the whole program.
    pub imports: Vec<FlameNode>,
    /// The functions behind the program's own CPU time, each within its caller.
    pub functions: Vec<FlameNode>,
    /// Memory over time.
    pub memory: Vec<MemoryPoint>,
}

/// A part of the path.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Begin.
    pub begin: f64,
    /// End.
    pub end: f64,
    /// The cause.
    pub cause: Cause,
    /// The largest item in it.
    pub label: String,
}

/// A thread in the waterfall.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// `main thread`, `pt_autograd_0`, `ptxas`.
    pub name: String,
    /// The display name of the process: `python train.py (4711)`.
    pub process: String,
    /// Its bars, in order of begin.
    pub bars: Vec<Bar>,
}

/// A bar in the waterfall: one span, or several small adjacent spans with the same cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Begin.
    pub begin: f64,
    /// End.
    pub end: f64,
    /// The nesting depth; 0 is outermost.
    pub depth: u32,
    /// The cause; none for a span that only groups others, such as an iteration.
    pub cause: Option<Cause>,
    /// The name.
    pub label: String,
    /// Details such as the importer, bytes or a count; may be empty.
    pub detail: String,
    /// The number of spans it represents.
    pub spans: u64,
}

/// A node of a flame graph: a module and the modules it imported, or a function and the
/// functions it called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlameNode {
    /// The module or function.
    pub name: String,
    /// The importer of a module: `torch._compile inner:53, from train.py:12`; the location
    /// of a function: `train.py:12`.
    pub detail: String,
    /// The beginning of an import; for functions, only the order is meaningful.
    pub begin: f64,
    /// Inclusive seconds.
    pub seconds: f64,
    /// Exclusive seconds.
    pub own: f64,
    /// The children, without small ones.
    pub children: Vec<FlameNode>,
}

/// Memory at an instant, in bytes; none if it was not sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryPoint {
    /// The time.
    pub time: f64,
    /// In use on the device, by any process.
    pub device: Option<u64>,
    /// Allocated on the device by the program through the driver.
    pub allocated: Option<u64>,
    /// In use by tensors, as reported by the framework.
    pub used: Option<u64>,
    /// Resident size of the process.
    pub resident: Option<u64>,
}

/// The cause of a span of one process; none for spans that only group others.
pub type SpanCause<'a> = Box<dyn Fn(&Span) -> Option<Cause> + 'a>;

/// Returns the function that classifies the spans of a process.
pub type SpanCauses = for<'a> fn(&'a Process) -> SpanCause<'a>;

/// The analysis of one start, for exporters that also show the raw spans.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartAnalysis {
    /// The process and thread that run the iterations, as indices into the tables of the
    /// start; none if nothing was recorded.
    pub thread: Option<(usize, usize)>,
    /// Begin and end of each iteration, in nanoseconds since `exec`.
    pub iterations: Vec<(u64, u64)>,
    /// One cause at each instant until the end of the third iteration (of the program, if
    /// nothing repeats), without gaps. If there are very many parts, short ones are merged.
    pub path: Vec<PathPart>,
    /// Item names; `PathPart::item` is an index into this list.
    pub names: Vec<String>,
}

/// A part of the path, in nanoseconds since `exec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathPart {
    /// Begin.
    pub begin: u64,
    /// End.
    pub end: u64,
    /// The cause.
    pub cause: Cause,
    /// The item, as an index into [`StartAnalysis::names`].
    pub item: u32,
}
