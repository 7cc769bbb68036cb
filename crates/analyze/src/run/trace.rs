//! What was recorded, as the analysis sees it: bytes made into spans and tables.
//!
//! The reader (`preheat-trace`) fills these types; everything else here reads them. They
//! are compact, because a recording may have ten million spans. All times are
//! nanoseconds since the start's `exec`.

use serde::{Deserialize, Serialize};

use super::{Manifest, Stacks};

/// A whole recording.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its head.
    pub manifest: Manifest,
    /// One for each of the manifest's starts, in the same order.
    pub starts: Vec<StartTrace>,
}

/// What one start left behind.
#[derive(Clone, Debug, Default)]
pub struct StartTrace {
    /// When the command had ended.
    pub end: u64,
    /// The process that was started.
    pub pid: u32,
    /// Its processes; an `exec` makes a new one with the same number. In order of `began`.
    pub processes: Vec<Process>,
    /// When lines of output ended iterations, in order. Lines that were read together have
    /// the same time.
    pub lines: Vec<u64>,
    /// When lines of output began iterations, in order.
    pub line_begins: Vec<u64>,
    /// Stacks of the threads, sampled from outside.
    pub stacks: Stacks,
    /// Sentences: what could not be read.
    pub problems: Vec<String>,
}

/// One program in one process.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// The executable's path.
    pub program: String,
    /// The command line.
    pub arguments: Vec<String>,
    /// When the kernel made it, as far as that is known; for the command itself 0.
    pub made: u64,
    /// When the recorder woke up in it: its libraries were mapped and relocated.
    pub began: u64,
    /// When `main` was about to be called: the libraries' constructors had run.
    pub main: Option<u64>,
    /// When Python ran the first of our code.
    pub python_began: Option<u64>,
    /// When that was done and the user's own code could begin.
    pub python_ready: Option<u64>,
    /// When it was last heard of, or its end if that is known.
    pub ended: u64,
    /// Its threads, in the order in which they were first heard of.
    pub threads: Vec<Thread>,
    /// Symbols by number.
    pub symbols: Vec<Symbol>,
    /// Texts by number; 0 is the empty text.
    pub texts: Vec<String>,
    /// Imports, by a span's `detail`.
    pub imports: Vec<Import>,
    /// Modules that were compiled from source, by a span's `detail`.
    pub bytecode: Vec<Bytecode>,
    /// Libraries that were loaded, by a span's `detail`.
    pub loads: Vec<Load>,
    /// What heavy calls used, by a span's `detail`.
    pub usages: Vec<Usage>,
    /// Code that was loaded, by a span's `detail`.
    pub modules: Vec<Module>,
    /// Allocations, by a span's `detail`.
    pub allocations: Vec<Allocation>,
    /// Addresses that were freed, by a span's `detail`.
    pub frees: Vec<u64>,
    /// Copies, by a span's `detail`.
    pub copies: Vec<Copied>,
    /// Functions that were launched or looked up; a launch's `detail` is its index here.
    pub functions: Vec<Function>,
    /// Device memory, in order of time.
    pub memory: Vec<DeviceMemory>,
    /// What a framework's allocator said of itself, in order of time.
    pub allocator: Vec<AllocatorSample>,
    /// Resident memory and reading, in order of time.
    pub samples: Vec<ProcessSample>,
    /// Calls after detail had ended, by symbol: how often, nanoseconds in all.
    pub totals: Vec<(u16, u64, u64)>,
    /// Stretches without detail, in order and apart: calls that every iteration makes often are not
    /// among the spans there.
    pub sparse: Vec<(u64, u64)>,
    /// Clocks that the program's own code read, in the order of the file.
    pub readings: Vec<Reading>,
    /// Times between CUDA events that it asked for.
    pub elapsed: Vec<Elapsed>,
    /// Files that were opened, modules' files and mapped libraries.
    pub files: Vec<String>,
    /// Sentences that the recorder left.
    pub notes: Vec<String>,
    /// Marks of the program: when, and their names.
    pub marks: Vec<(u64, String)>,
    /// Records that were left out.
    pub dropped: u64,
    /// When the first was left out.
    pub full_at: Option<u64>,
}

/// A thread and what it did, in order of begin: each span comes before those within it.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// As the kernel numbers it.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its spans.
    pub spans: Vec<Span>,
    /// When it was looked at from outside, in order of time.
    pub samples: Vec<ThreadSample>,
}

/// Something that a thread did, from begin to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// When it began.
    pub begin: u64,
    /// When it ended; the process's end if it never did.
    pub end: u64,
    /// What was done, by the tables of its process.
    pub detail: u32,
    /// Which symbol, for a call.
    pub symbol: u16,
    /// What it is.
    pub what: What,
    /// How many spans it lies within.
    pub depth: u8,
}

/// What a span is, and which table its `detail` points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum What {
    /// A call with nothing more; `detail` means nothing.
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
    /// A PyTorch optimizer's step: `texts` has its name.
    OptimizerStep,
    /// An outermost model call: `texts`.
    ModelCall,
    /// A training step of Keras: `texts`.
    TrainStep,
    /// A prediction step of Keras: `texts`.
    PredictStep,
    /// An evaluation step of Keras: `texts`.
    TestStep,
    /// A data loader's next batch: `texts`.
    DataFetch,
    /// A whole `predict` of Keras: `texts`.
    Predict,
    /// A whole `evaluate` of Keras: `texts`.
    Evaluate,
    /// An epoch of Keras' `fit`: `texts`.
    Epoch,
    /// A call of a Python function that makes up an iteration: `texts`.
    FunctionCall,
    /// An outermost call of a function that JAX compiles: `texts`.
    CompiledCall,
    /// An iteration that the program names itself: `texts`.
    Named,
    /// An NVTX range: `texts` has its name; `symbol` is its domain's text, 0 for the
    /// default one.
    Range,
}

/// A function that is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbol {
    /// Its name without version, such as `cuMemAlloc`.
    pub name: String,
    /// The file name of its library, such as `libcuda.so.1`.
    pub library: String,
}

/// What a thread used during a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Nanoseconds on a processor.
    pub cpu: u64,
    /// Page faults that had to wait for a disk.
    pub major_faults: u32,
    /// Bytes that were read from a disk.
    pub bytes_read: u64,
}

/// A Python import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Import {
    /// The module.
    pub name: String,
    /// The module that asked for it.
    pub importer: String,
    /// The function there; `<module>` at its top level.
    pub function: String,
    /// The line there.
    pub line: u32,
    /// `file:line` of the main program that led to it; empty if none did.
    pub main: String,
    /// Whether it raised.
    pub failed: bool,
    /// What it used.
    pub usage: Usage,
}

/// A module that the import system compiled from source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytecode {
    /// The path of the source.
    pub path: String,
    /// Why its bytecode was not used.
    pub why: NoBytecode,
    /// Whether the next start finds it.
    pub write: BytecodeWrite,
    /// What compiling used.
    pub usage: Usage,
}

/// Why the import system cannot use a module's `.pyc` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBytecode {
    /// It does not exist.
    Missing,
    /// It belongs to another version of the source, or is damaged.
    Stale,
    /// It cannot be opened.
    Unreadable,
}

/// Whether Python writes a `.pyc` file after compiling a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BytecodeWrite {
    /// It does.
    Writes,
    /// `sys.dont_write_bytecode` is set.
    TurnedOff,
    /// The directory cannot be written to.
    NotWritable,
}

/// A library that was loaded while the program ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// As it was asked for.
    pub path: String,
    /// Whether that failed.
    pub failed: bool,
    /// What it used.
    pub usage: Usage,
}

/// Code that was loaded onto a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// Its size; 0 if unknown.
    pub bytes: u64,
    /// Architectures with machine code, as 10 × major + minor.
    pub machine_code: Vec<u16>,
    /// Architectures with PTX.
    pub ptx: Vec<u16>,
    /// The module's or library's handle.
    pub handle: u64,
    /// What loading used.
    pub usage: Usage,
}

/// An allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Its size.
    pub bytes: u64,
    /// Its address.
    pub pointer: u64,
    /// What the function returned; 0 is success.
    pub status: i32,
}

/// A copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Its size.
    pub bytes: u64,
    /// Where to; 0 if unknown.
    pub destination: u64,
    /// Where from; 0 if unknown.
    pub source: u64,
}

/// A kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Its name; empty if it was never looked up by name.
    pub name: String,
}

/// A reading of a clock by the program's own code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// When.
    pub time: u64,
    /// The thread, by its index in its process.
    pub thread: u32,
    /// The place in the program, in `texts`.
    pub place: u32,
    /// Which clock.
    pub clock: Clock,
    /// The reading in nanoseconds; for a CUDA event, which one.
    pub value: u64,
}

/// The program asked for the time between two CUDA events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed {
    /// When.
    pub time: u64,
    /// The thread, by its index in its process.
    pub thread: u32,
    /// The earlier event, as its [`Reading`] has it.
    pub from: u64,
    /// The later event.
    pub to: u64,
    /// The answer in nanoseconds.
    pub nanoseconds: u64,
}

/// A clock that programs time themselves with.
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
    /// C++'s `std::chrono::system_clock` and `high_resolution_clock`.
    ChronoSystem,
    /// C++'s `std::chrono::steady_clock`.
    ChronoSteady,
    /// `clock_gettime` of a wall clock.
    ClockGettime,
    /// `clock_gettime` of CPU time.
    ClockGettimeCpu,
    /// `gettimeofday`.
    GetTimeOfDay,
}

impl Clock {
    /// Its name where programs are written.
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
        }
    }

    /// Whether it counts CPU time instead of wall-clock time.
    pub fn is_cpu_time(self) -> bool {
        match self {
            Clock::ProcessTime | Clock::ThreadTime | Clock::ClockGettimeCpu => true,
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

/// Memory of a device at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceMemory {
    /// When.
    pub time: u64,
    /// Bytes in use, by whomever.
    pub used: u64,
    /// Bytes in all.
    pub total: u64,
    /// The symbol whose call was just made.
    pub after: u16,
    /// Which device.
    pub device: u32,
}

/// What a framework's allocator said of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocatorSample {
    /// When.
    pub time: u64,
    /// In use by tensors.
    pub used: u64,
    /// Taken from the device.
    pub reserved: u64,
    /// The most in use since the sample before.
    pub peak_used: u64,
    /// The most taken since the sample before.
    pub peak_reserved: u64,
}

/// A process as it was seen from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessSample {
    /// When.
    pub time: u64,
    /// Resident bytes.
    pub resident: u64,
    /// Bytes read from disks so far.
    pub read: u64,
    /// Page faults that waited for a disk so far.
    pub major_faults: u64,
}

/// A thread as it was seen from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadSample {
    /// When.
    pub time: u64,
    /// Its CPU time so far.
    pub cpu: u64,
    /// What it waited for a processor so far, while others had it.
    pub waited: u64,
    /// What it waited for a processor so far, while the program itself had it: its other
    /// threads and processes.
    pub waited_for_own: u64,
}

impl Process {
    /// Whether every call of this stretch was recorded.
    pub fn is_in_detail(&self, (begin, end): (u64, u64)) -> bool {
        let before = self.sparse.partition_point(|stretch| stretch.0 < end);
        self.sparse[..before]
            .last()
            .is_none_or(|stretch| stretch.1 <= begin)
    }

    /// The name of a span's function; empty for what is no call.
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
