//! What the HTML page shows of one start beside the report: as much as can be seen, and
//! never more, however long the recording is. Seconds since `exec`, and bytes.

use super::Cause;

/// The pictures of one start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunView {
    /// Which start is shown: its index among all.
    pub start: usize,
    /// From `exec` to here the waterfall goes: the end of the third iteration.
    pub until: f64,
    /// The path: one cause at each instant, without gaps, from 0 to `until`.
    pub path: Vec<Segment>,
    /// Where iterations begin and end, as far as the waterfall goes.
    pub iterations: Vec<(f64, f64)>,
    /// The waterfall, thread by thread; the thread that runs the iterations first.
    pub rows: Vec<Row>,
    /// The imports, as a tree whose root is the whole program.
    pub imports: Vec<FlameNode>,
    /// The functions behind the program's own CPU time, each within its caller.
    pub functions: Vec<FlameNode>,
    /// Memory over time, in order.
    pub memory: Vec<MemoryPoint>,
}

/// A part of the path.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// From.
    pub begin: f64,
    /// To.
    pub end: f64,
    /// Why.
    pub cause: Cause,
    /// The largest thing in it.
    pub label: String,
}

/// A thread in the waterfall.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// `main thread`, `pt_autograd_0`, `ptxas`.
    pub name: String,
    /// The process, for people: `python train.py (4711)`.
    pub process: String,
    /// Its bars, in order of begin.
    pub bars: Vec<Bar>,
}

/// A bar in the waterfall: one span, or several small ones of a cause that lie together.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// From.
    pub begin: f64,
    /// To.
    pub end: f64,
    /// How deep it lies: 0 is outermost.
    pub depth: u32,
    /// Its cause; none for a mere frame such as an iteration.
    pub cause: Option<Cause>,
    /// Its name.
    pub label: String,
    /// More about it: who asked, bytes, how many; may be empty.
    pub detail: String,
    /// How many spans it stands for.
    pub spans: u64,
}

/// A node of a flame graph: a module with what it imported in turn, or a function with what
/// it called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlameNode {
    /// The module or function.
    pub name: String,
    /// The importer of a module: `torch._compile inner:53, from train.py:12`; the place of a
    /// function: `train.py:12`.
    pub detail: String,
    /// When a module began; of a function only the order.
    pub begin: f64,
    /// With all that lies within it.
    pub seconds: f64,
    /// Without.
    pub own: f64,
    /// Its children, without small ones.
    pub children: Vec<FlameNode>,
}

/// Memory at an instant, in bytes; none where it was not looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryPoint {
    /// When.
    pub time: f64,
    /// In use on the device, by whomever.
    pub device: Option<u64>,
    /// Allocated on the device by the program through the driver.
    pub allocated: Option<u64>,
    /// In use by tensors, as the framework says.
    pub used: Option<u64>,
    /// Resident.
    pub resident: Option<u64>,
}
