//! The decoded recording: spans and tables.
//!
//! The reader (`preheat-trace`) fills these types; the rest of this crate only reads them.
//! They are compact, because a recording may have ten million spans. All times are
//! nanoseconds since the start's `exec`.

pub use preheat_wire::Iteration;
use serde::{Deserialize, Serialize};

use super::{Manifest, Mapped, Stacks};

/// A whole recording.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The header.
    pub manifest: Manifest,
    /// The starts, in the order of the manifest.
    pub starts: Vec<StartTrace>,
}

/// The trace of one start.
#[derive(Clone, Debug, Default)]
pub struct StartTrace {
    /// The time at which the command had ended.
    pub end: u64,
    /// The process id of the command.
    pub pid: u32,
    /// Its processes, by `began`. An `exec` adds another entry with the same process id.
    pub processes: Vec<Process>,
    /// Times of output lines that end an iteration, in order. Lines that were read together
    /// have the same time.
    pub lines: Vec<u64>,
    /// Times of output lines that begin an iteration, in order.
    pub line_begins: Vec<u64>,
    /// Sampled stacks of the threads.
    pub stacks: Stacks,
    /// Sampled memory by mapping.
    pub mapped: Mapped,
    /// Error messages about files that could not be read.
    pub problems: Vec<String>,
}

/// The program of a process that was sampled but has no recording, and no sampled name.
pub const UNKNOWN_CHILD: &str = "a child process";

/// One program in one process.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// The process id of its parent.
    pub parent: u32,
    /// The path of the executable, or [`UNKNOWN_CHILD`].
    pub program: String,
    /// The command line.
    pub arguments: Vec<String>,
    /// The time at which the kernel created it, if known; 0 for the command itself.
    pub made: u64,
    /// The time at which the recorder was loaded, after libraries were mapped and relocated.
    pub began: u64,
    /// The time at which `main` was called, after the constructors of the libraries.
    pub main: Option<u64>,
    /// The time at which Python first ran code of the recorder.
    pub python_began: Option<u64>,
    /// The time at which that was done and user code could begin.
    pub python_ready: Option<u64>,
    /// The time at which it ended, if known; else the time of its last record.
    pub ended: u64,
    /// Its threads, in order of first appearance.
    pub threads: Vec<Thread>,
    /// The symbol table.
    pub symbols: Vec<Symbol>,
    /// The text table; text 0 is empty.
    pub texts: Vec<String>,
    /// Imports, indexed by `Span::detail`.
    pub imports: Vec<Import>,
    /// Modules compiled from source, indexed by `Span::detail`.
    pub bytecode: Vec<Bytecode>,
    /// Loaded libraries, indexed by `Span::detail`.
    pub loads: Vec<Load>,
    /// The resource usage of heavy calls, indexed by `Span::detail`.
    pub usages: Vec<Usage>,
    /// Device code that was loaded, indexed by `Span::detail`.
    pub modules: Vec<DeviceModule>,
    /// Allocations, indexed by `Span::detail`.
    pub allocations: Vec<Allocation>,
    /// Freed addresses, indexed by `Span::detail`.
    pub frees: Vec<u64>,
    /// Copies, indexed by `Span::detail`.
    pub copies: Vec<Copied>,
    /// Kernels that were launched or looked up, indexed by `Span::detail`.
    pub functions: Vec<Function>,
    /// Device memory, in chronological order.
    pub memory: Vec<DeviceMemory>,
    /// Statistics of a framework's allocator, in chronological order.
    pub allocator: Vec<AllocatorSample>,
    /// Resident memory and disk reads, in chronological order.
    pub samples: Vec<ProcessSample>,
    /// Calls after the end of detailed recording: symbol, count, total nanoseconds.
    pub totals: Vec<(u16, u64, u64)>,
    /// Disjoint intervals without detail, in order. Frequent calls have no spans there.
    pub sparse: Vec<(u64, u64)>,
    /// Clock readings by the program's own code, in file order.
    pub readings: Vec<Reading>,
    /// Elapsed times between CUDA events that the program queried.
    pub elapsed: Vec<Elapsed>,
    /// Opened files, including module files and mapped libraries.
    pub files: Vec<String>,
    /// Notes written by the recorder.
    pub notes: Vec<String>,
    /// Marks of the program: time and name.
    pub marks: Vec<(u64, String)>,
    /// The number of omitted records.
    pub dropped: u64,
    /// The time of the first omitted record.
    pub full_at: Option<u64>,
}

/// A thread and its spans, by begin: each span comes before those nested in it.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// The thread id.
    pub id: u32,
    /// The thread name.
    pub name: String,
    /// Its spans.
    pub spans: Vec<Span>,
    /// Samples of the thread, in chronological order.
    pub samples: Vec<ThreadSample>,
}

/// An operation of a thread, from begin to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The begin.
    pub begin: u64,
    /// The end; that of the process if the span never ended.
    pub end: u64,
    /// An index into one of the tables of the process.
    pub detail: u32,
    /// The symbol of a call.
    pub symbol: u16,
    /// The type of span.
    pub what: SpanKind,
    /// The number of enclosing spans.
    pub depth: u8,
}

/// The name of a function without its version; see [`preheat_wire::base_name`].
pub fn base_name(name: &str) -> &str {
    let base = preheat_wire::base_name(name.as_bytes());
    str::from_utf8(base).unwrap_or(name)
}

/// The type of a span, and the table that its `detail` refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// A call without details; `detail` is unused.
    Call,
    /// A call that may take long: `usages`.
    Heavy,
    /// `allocations`.
    Allocate,
    /// `frees`.
    Free,
    /// `copies`.
    Copy,
    /// `functions`.
    Launch,
    /// `modules`.
    Module,
    /// `functions`.
    Lookup,
    /// `imports`.
    Import,
    /// `loads`.
    Load,
    /// `bytecode`.
    Bytecode,
    /// An iteration that was detected in Python: `texts` has its name.
    Iteration(Iteration),
    /// An NVTX range: `texts` has its name; `symbol` is the text of its domain, 0 for the
    /// default domain.
    Range,
}

impl SpanKind {
    /// The number of types, each detected iteration counted as one.
    pub const COUNT: usize = 13 + Iteration::ALL.len();

    /// The position of the type in a table with [`SpanKind::COUNT`] entries.
    pub const fn index(self) -> usize {
        match self {
            SpanKind::Call => 0,
            SpanKind::Heavy => 1,
            SpanKind::Allocate => 2,
            SpanKind::Free => 3,
            SpanKind::Copy => 4,
            SpanKind::Launch => 5,
            SpanKind::Module => 6,
            SpanKind::Lookup => 7,
            SpanKind::Import => 8,
            SpanKind::Load => 9,
            SpanKind::Bytecode => 10,
            SpanKind::Range => 11,
            SpanKind::Iteration(which) => 12 + which as usize,
        }
    }
}

impl From<Iteration> for SpanKind {
    fn from(which: Iteration) -> SpanKind {
        SpanKind::Iteration(which)
    }
}

/// Describes an iteration that was detected in Python; `name` was recorded with it.
pub fn iteration_label(which: Iteration, name: &str) -> String {
    match which {
        Iteration::OptimizerStep => format!("step of {name}"),
        Iteration::ModelCall
        | Iteration::FunctionCall
        | Iteration::CompiledCall
        | Iteration::Backward => format!("call of {name}"),
        Iteration::Named => name.to_owned(),
        Iteration::TrainStep
        | Iteration::PredictStep
        | Iteration::TestStep
        | Iteration::DataFetch
        | Iteration::Predict
        | Iteration::Evaluate
        | Iteration::Epoch => iteration_title(which).to_owned(),
    }
}

/// The general name of an iteration that was detected in Python.
pub const fn iteration_title(which: Iteration) -> &'static str {
    match which {
        Iteration::OptimizerStep => "optimizer step",
        Iteration::ModelCall => "model call",
        Iteration::TrainStep => "training step",
        Iteration::PredictStep => "prediction step",
        Iteration::TestStep => "evaluation step",
        Iteration::DataFetch => "next batch",
        Iteration::Predict => "prediction",
        Iteration::Evaluate => "evaluation",
        Iteration::Epoch => "epoch",
        Iteration::FunctionCall | Iteration::CompiledCall => "call",
        Iteration::Named => "iteration",
        Iteration::Backward => "backward pass",
    }
}

/// A hooked function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbol {
    /// The name without version, such as `cuMemAlloc`.
    pub name: String,
    /// The file name of its library, such as `libcuda.so.1`.
    pub library: String,
}

/// The resource usage of a thread during a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Nanoseconds on a processor.
    pub cpu: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u32,
    /// Bytes read from a disk.
    pub bytes_read: u64,
}

/// A Python import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Import {
    /// The name of the module.
    pub name: String,
    /// The importing module.
    pub importer: String,
    /// The importing function; `<module>` at the top level.
    pub function: String,
    /// The importing line.
    pub line: u32,
    /// `file:line` of the main program that led to the import; empty if none did.
    pub main: String,
    /// True if it raised an exception.
    pub failed: bool,
    /// Its resource usage.
    pub usage: Usage,
}

/// A module compiled from source by the import system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytecode {
    /// The path of the source file.
    pub path: String,
    /// The reason why its bytecode was not used.
    pub why: NoBytecode,
    /// The attempt to write its bytecode for the next start.
    pub write: BytecodeWrite,
    /// The resource usage of compiling it.
    pub usage: Usage,
}

/// The reason why the import system cannot use a module's `.pyc` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBytecode {
    /// The file does not exist.
    Missing,
    /// The file belongs to another version of the source, or is damaged.
    Stale,
    /// The file cannot be opened.
    Unreadable,
}

/// The attempt to write a `.pyc` file after compiling a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BytecodeWrite {
    /// Python writes the file.
    Writes,
    /// `sys.dont_write_bytecode` is set.
    TurnedOff,
    /// The directory cannot be written to.
    NotWritable,
}

/// A library loaded at run time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// The path as requested.
    pub path: String,
    /// True if loading it failed.
    pub failed: bool,
    /// Its resource usage.
    pub usage: Usage,
}

/// Code loaded onto a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceModule {
    /// Its size in bytes; 0 if unknown.
    pub bytes: u64,
    /// Architectures with machine code, as 10 × major + minor.
    pub machine_code: Vec<u16>,
    /// Architectures with PTX.
    pub ptx: Vec<u16>,
    /// The handle of the module or library.
    pub handle: u64,
    /// The resource usage of loading it.
    pub usage: Usage,
}

/// An allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// The size in bytes.
    pub bytes: u64,
    /// The address.
    pub pointer: u64,
    /// The return value of the function; 0 is success.
    pub status: i32,
}

/// A copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// The size in bytes.
    pub bytes: u64,
    /// The destination address; 0 if unknown.
    pub destination: u64,
    /// The source address; 0 if unknown.
    pub source: u64,
}

/// A kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// The name; empty if the kernel was never looked up by name.
    pub name: String,
}

/// A clock reading by the program's own code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The time of the reading.
    pub time: u64,
    /// The index of the thread in its process.
    pub thread: u32,
    /// The location in the program, as an index into `texts`.
    pub place: u32,
    /// The clock.
    pub clock: Clock,
    /// The value in nanoseconds; for a CUDA event, its id.
    pub value: u64,
}

/// A query of the time between two CUDA events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed {
    /// The time of the query.
    pub time: u64,
    /// The index of the thread in its process.
    pub thread: u32,
    /// The earlier event, as in its [`Reading`].
    pub from: u64,
    /// The later event.
    pub to: u64,
    /// The result in nanoseconds.
    pub nanoseconds: u64,
}

/// A clock that programs use to time themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// Python's `time.time()`.
    Time,
    /// Python's `time.perf_counter()`.
    PerfCounter,
    /// Python's `time.monotonic()`.
    Monotonic,
    /// Python's `time.process_time()`: CPU time.
    ProcessTime,
    /// Python's `time.thread_time()`: CPU time.
    ThreadTime,
    /// CUDA events.
    CudaEvent,
    /// `std::chrono::system_clock` and `high_resolution_clock` in C++.
    ChronoSystem,
    /// `std::chrono::steady_clock` in C++.
    ChronoSteady,
    /// `clock_gettime` with a wall clock.
    ClockGettime,
    /// `clock_gettime` with a CPU-time clock.
    ClockGettimeCpu,
    /// `gettimeofday`.
    GetTimeOfDay,
    /// `clock` in C: CPU time.
    CClock,
}

impl Clock {
    /// The name, as in source code.
    pub fn as_str(self) -> &'static str {
        match self {
            Clock::Time => "time.time",
            Clock::PerfCounter => "time.perf_counter",
            Clock::Monotonic => "time.monotonic",
            Clock::ProcessTime => "time.process_time",
            Clock::ThreadTime => "time.thread_time",
            Clock::CudaEvent => "CUDA events",
            Clock::ChronoSystem => "std::chrono::system_clock",
            Clock::ChronoSteady => "std::chrono::steady_clock",
            Clock::ClockGettime | Clock::ClockGettimeCpu => "clock_gettime",
            Clock::GetTimeOfDay => "gettimeofday",
            Clock::CClock => "clock",
        }
    }

    /// Returns true for a clock that native code reads. `--synchronize` waits after readings in
    /// Python only.
    pub fn is_native(self) -> bool {
        match self {
            Clock::ChronoSystem
            | Clock::ChronoSteady
            | Clock::ClockGettime
            | Clock::ClockGettimeCpu
            | Clock::GetTimeOfDay
            | Clock::CClock => true,
            Clock::Time
            | Clock::PerfCounter
            | Clock::Monotonic
            | Clock::ProcessTime
            | Clock::ThreadTime
            | Clock::CudaEvent => false,
        }
    }

    /// Returns true if it counts CPU time instead of wall-clock time.
    pub fn is_cpu_time(self) -> bool {
        match self {
            Clock::ProcessTime | Clock::ThreadTime | Clock::ClockGettimeCpu | Clock::CClock => true,
            Clock::Time
            | Clock::PerfCounter
            | Clock::Monotonic
            | Clock::CudaEvent
            | Clock::ChronoSystem
            | Clock::ChronoSteady
            | Clock::ClockGettime
            | Clock::GetTimeOfDay => false,
        }
    }
}

/// Device memory at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceMemory {
    /// The time.
    pub time: u64,
    /// Bytes in use, by any process.
    pub used: u64,
    /// Total bytes of the device.
    pub total: u64,
    /// The symbol of the call that preceded the sample.
    pub after: u16,
    /// The device.
    pub device: u32,
}

/// A sample of a framework's allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocatorSample {
    /// The time.
    pub time: u64,
    /// Bytes in use by tensors.
    pub used: u64,
    /// Bytes reserved on the device.
    pub reserved: u64,
    /// Peak bytes in use since the previous sample.
    pub peak_used: u64,
    /// Peak bytes reserved since the previous sample.
    pub peak_reserved: u64,
}

/// A sample of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessSample {
    /// The time.
    pub time: u64,
    /// Resident bytes.
    pub resident: u64,
    /// The part of them that is mapped files and shared memory; 0 if unknown.
    pub file_backed: u64,
    /// Total bytes read from disks.
    pub read: u64,
    /// Total page faults that waited for a disk.
    pub major_faults: u64,
}

/// A sample of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadSample {
    /// The time.
    pub time: u64,
    /// Total CPU time.
    pub cpu: u64,
    /// Total time spent waiting for a processor that other programs used.
    pub waited: u64,
    /// Total time spent waiting for a processor that other threads or processes of the
    /// program used.
    pub waited_for_own: u64,
}

impl Process {
    /// Returns true if every call in this interval was recorded.
    pub fn is_in_detail(&self, (begin, end): (u64, u64)) -> bool {
        let before = self.sparse.partition_point(|interval| interval.0 < end);
        self.sparse[..before]
            .last()
            .is_none_or(|interval| interval.1 <= begin)
    }

    /// The name of a span's function; empty for spans that are not calls.
    pub fn symbol(&self, span: &Span) -> &str {
        self.symbols
            .get(usize::from(span.symbol))
            .map_or("", |symbol| symbol.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_million_spans_fit_into_memory() {
        assert!(size_of::<Span>() <= 24);
    }
}
