//! One record: a span of time on a thread, or an instantaneous event.

/// The size of a slot. A chunk header fills two of them.
pub const SLOT_BYTES: usize = 32;

/// A slot as stored in the file.
pub type Slot = [u8; SLOT_BYTES];

/// The first slot of every record.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The begin time.
    pub begin: u64,
    /// The end time; 0 while in progress. Equal to `begin` for an instant.
    pub end: u64,
    /// A [`Kind`].
    pub kind: u8,
    /// The number of further slots that belong to it.
    pub more: u8,
    /// The symbol, event or iteration, depending on the kind.
    pub symbol: u16,
    /// The returned value or a small number, depending on the kind.
    pub status: i32,
    /// A number, depending on the kind.
    pub value: u64,
}

/// The kind of a record. Each description ends with the content of its further slots.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A call of a driver or library function. `symbol` is a number that a [`Kind::Symbol`]
    /// record defines, `status` the returned value; the rest depends on the symbol's
    /// [`Shape`].
    Call = 1,
    /// A Python import of a module that was not loaded yet. `status` is 0, or 1 if it
    /// raised; `value` is the importing line. [`Usage`](crate::Usage), then a text of four
    /// NUL-separated fields: the module's name, the importing module, the function there,
    /// and `file:line` of the main program that led to it.
    Import = 2,
    /// A library loaded by `dlopen`. `status` is 0, or 1 on failure.
    /// [`Usage`](crate::Usage), then the requested path.
    Load = 3,
    /// A step or model call detected in Python. `symbol` is an [`Iteration`], `value` the
    /// number of a text with its name.
    Iteration = 4,
    /// An NVTX range. `value` is the number of a text with its name, `status` that of a
    /// text with its domain (0: the default domain).
    Range = 5,
    /// Defines a text: `value` is its number. The text.
    Text = 6,
    /// Defines a symbol: `value` is its number, `status` its [`Shape`]. A text of two
    /// NUL-separated fields: its name and the file name of its library.
    Symbol = 7,
    /// Device memory, queried after a call that may have changed it. `value` is the free
    /// memory. [`DeviceMemory`](crate::DeviceMemory).
    Memory = 8,
    /// An instantaneous event. `symbol` is an [`Event`], which determines `value` and text.
    Event = 9,
    /// The state of a framework's allocator. `value` is the number of a text with its name.
    /// [`Allocator`](crate::Allocator).
    Allocator = 10,
    /// The CPU time of a thread is `value`. Written by the launcher: `status` is the
    /// thread. [`Sampled`](crate::Sampled). Since version 1.5 also written by the thread
    /// itself, without a status and further slots.
    Thread = 11,
    /// Written by the launcher: a sample of a process. `status` is the process, `value` its
    /// resident bytes. [`Sampled`](crate::Sampled).
    Process = 12,
    /// Written by the launcher: a line of output ends an iteration. `value` is its number.
    Line = 13,
    /// An interval without detail: the process repeats what was already recorded in detail,
    /// and frequent calls of every iteration are not recorded. Since version 1.1.
    Sparse = 14,
    /// The program's own code read a clock. `symbol` is a [`Clock`], `status` the number of
    /// a text with the reading location, `value` the reading in nanoseconds. Since version
    /// 1.2.
    ///
    /// The location is the call stack of the program's own code, innermost first: for
    /// Python, three NUL-separated fields per frame (file, line, function); for native
    /// code, `+` and the return address relative to the executable, in decimal.
    Clock = 15,
    /// The program queried the time between two CUDA events. `status` is the number of a
    /// text with the location, as in [`Kind::Clock`], `value` the result in nanoseconds.
    /// [`Elapsed`](crate::Elapsed). Since version 1.2.
    Elapsed = 16,
    /// Written by the launcher: a line of output begins an iteration. `value` is its
    /// number among those. Since version 1.3.
    LineBegin = 17,
    /// Python's import system compiled a module's source. `symbol` is a [`NoBytecode`],
    /// `status` a [`BytecodeWrite`]. [`Usage`](crate::Usage), then the path of the source.
    /// Since version 1.3.
    Bytecode = 18,
    /// Written by the launcher: the name of a thread. `status` is the thread, `value` its
    /// process. One slot: the name. Since version 1.5.
    ThreadName = 19,
}

impl Kind {
    /// The kind with this number, if this version knows it.
    pub const fn from_u8(number: u8) -> Option<Kind> {
        Some(match number {
            1 => Kind::Call,
            2 => Kind::Import,
            3 => Kind::Load,
            4 => Kind::Iteration,
            5 => Kind::Range,
            6 => Kind::Text,
            7 => Kind::Symbol,
            8 => Kind::Memory,
            9 => Kind::Event,
            10 => Kind::Allocator,
            11 => Kind::Thread,
            12 => Kind::Process,
            13 => Kind::Line,
            14 => Kind::Sparse,
            15 => Kind::Clock,
            16 => Kind::Elapsed,
            17 => Kind::LineBegin,
            18 => Kind::Bytecode,
            19 => Kind::ThreadName,
            _ => return None,
        })
    }
}

/// The data recorded with a call besides its time. Each description ends with the content
/// of its further slots.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// No further data.
    Plain = 0,
    /// A potentially slow call: initialization, contexts, compilers, library handles.
    /// [`Usage`](crate::Usage).
    Heavy = 1,
    /// Allocated memory: `value` bytes. [`Allocation`](crate::Allocation).
    Allocate = 2,
    /// Freed memory: `value` is its address.
    Free = 3,
    /// Copied memory: `value` bytes. [`Copied`](crate::Copied).
    Copy = 4,
    /// Launched a kernel: `value` is the handle of its function.
    Launch = 5,
    /// Loaded code: `value` is the handle of the module or library.
    /// [`Usage`](crate::Usage), [`Image`](crate::Image).
    Module = 6,
    /// Looked up a function in a module: `value` is the handle of the function (or kernel).
    /// Its name.
    Lookup = 7,
    /// Queried the function handle of a kernel handle: `value` is the function, `status`
    /// the returned value. [`Allocation`](crate::Allocation), whose `pointer` is the
    /// kernel.
    Alias = 8,
}

impl Shape {
    /// The shape with this number, if this version knows it.
    pub const fn from_number(number: i32) -> Option<Shape> {
        Some(match number {
            0 => Shape::Plain,
            1 => Shape::Heavy,
            2 => Shape::Allocate,
            3 => Shape::Free,
            4 => Shape::Copy,
            5 => Shape::Launch,
            6 => Shape::Module,
            7 => Shape::Lookup,
            8 => Shape::Alias,
            _ => return None,
        })
    }
}

/// Iterations that are detected in Python.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iteration {
    /// A PyTorch optimizer step.
    OptimizerStep = 1,
    /// An outermost call of a PyTorch model.
    ModelCall = 2,
    /// A Keras training step.
    TrainStep = 3,
    /// A Keras prediction step.
    PredictStep = 4,
    /// A Keras evaluation step.
    TestStep = 5,
    /// The next batch of a PyTorch data loader.
    DataFetch = 6,
    /// A whole `predict` of a Keras model, with all its steps. Since version 1.2.
    Predict = 7,
    /// A whole `evaluate` of a Keras model. Since version 1.2.
    Evaluate = 8,
    /// An epoch of a Keras model's `fit`. Since version 1.2.
    Epoch = 9,
    /// A call of a Python function that makes up an iteration: of a library (such as
    /// `InferenceSession.run`), or the one that was asked for. Since version 1.3.
    FunctionCall = 10,
    /// An outermost call of a function that JAX compiles. Since version 1.3.
    CompiledCall = 11,
    /// An iteration that the program names with `preheat.iteration`. Since version 1.4.
    Named = 12,
}

impl Iteration {
    /// The variant with the highest number.
    pub const LAST: Iteration = Iteration::Named;

    /// The iteration kind with this number, if this version knows it.
    pub const fn from_u16(number: u16) -> Option<Iteration> {
        Some(match number {
            1 => Iteration::OptimizerStep,
            2 => Iteration::ModelCall,
            3 => Iteration::TrainStep,
            4 => Iteration::PredictStep,
            5 => Iteration::TestStep,
            6 => Iteration::DataFetch,
            7 => Iteration::Predict,
            8 => Iteration::Evaluate,
            9 => Iteration::Epoch,
            10 => Iteration::FunctionCall,
            11 => Iteration::CompiledCall,
            12 => Iteration::Named,
            _ => return None,
        })
    }
}

/// The reason the import system could not use a module's `.pyc` file.
#[repr(u16)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBytecode {
    /// The file does not exist.
    Missing = 1,
    /// The file belongs to another version of the source or of Python, or is damaged.
    Stale = 2,
    /// The file cannot be opened.
    Unreadable = 3,
}

impl NoBytecode {
    /// The reason with this number, if this version knows it.
    pub const fn from_u16(number: u16) -> Option<NoBytecode> {
        Some(match number {
            1 => NoBytecode::Missing,
            2 => NoBytecode::Stale,
            3 => NoBytecode::Unreadable,
            _ => return None,
        })
    }
}

/// The outcome of writing a `.pyc` file after compiling a module.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BytecodeWrite {
    /// Python writes the file, so the next start finds it.
    Writes = 0,
    /// `sys.dont_write_bytecode` is set.
    TurnedOff = 1,
    /// The directory cannot be written to.
    NotWritable = 2,
}

impl BytecodeWrite {
    /// The outcome with this number, if this version knows it.
    pub const fn from_i32(number: i32) -> Option<BytecodeWrite> {
        Some(match number {
            0 => BytecodeWrite::Writes,
            1 => BytecodeWrite::TurnedOff,
            2 => BytecodeWrite::NotWritable,
            _ => return None,
        })
    }
}

/// A clock that a program can read.
#[repr(u16)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// `time.time()` and `time.time_ns()` in Python.
    Time = 1,
    /// `time.perf_counter()`, which is also the timer of `timeit`.
    PerfCounter = 2,
    /// `time.monotonic()`.
    Monotonic = 3,
    /// `time.process_time()`: CPU time, not wall-clock time.
    ProcessTime = 4,
    /// `time.thread_time()`: CPU time of one thread.
    ThreadTime = 5,
    /// A CUDA event was recorded; `value` identifies the event.
    CudaEvent = 6,
    /// `std::chrono::system_clock`, which `high_resolution_clock` is in libstdc++.
    ChronoSystem = 7,
    /// `std::chrono::steady_clock`.
    ChronoSteady = 8,
    /// `clock_gettime` of a wall clock or a monotonic one.
    ClockGettime = 9,
    /// `clock_gettime` of a CPU-time clock.
    ClockGettimeCpu = 10,
    /// `gettimeofday`.
    GetTimeOfDay = 11,
}

impl Clock {
    /// All clocks.
    pub const ALL: [Clock; 11] = [
        Clock::Time,
        Clock::PerfCounter,
        Clock::Monotonic,
        Clock::ProcessTime,
        Clock::ThreadTime,
        Clock::CudaEvent,
        Clock::ChronoSystem,
        Clock::ChronoSteady,
        Clock::ClockGettime,
        Clock::ClockGettimeCpu,
        Clock::GetTimeOfDay,
    ];

    /// The clock with this number, if this version knows it.
    pub fn from_u16(number: u16) -> Option<Clock> {
        Clock::ALL.into_iter().find(|clock| *clock as u16 == number)
    }
}

/// Instantaneous events.
#[repr(u16)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// `main` is about to be called: libraries are loaded and their constructors have run.
    Main = 1,
    /// Python is initialized and begins to run our first code.
    PythonBegan = 2,
    /// Our startup code is done; the user's begins. Text: Python's version.
    PythonReady = 3,
    /// The process exits normally. `value` is unused.
    Exit = 4,
    /// The process forked. `value` is the child.
    Forked = 5,
    /// A file was opened for reading, or a Python module was loaded from it. Its path.
    File = 6,
    /// A library was mapped. Its path.
    Library = 7,
    /// The command line, each argument NUL-terminated.
    Arguments = 8,
    /// The executable's path.
    Program = 9,
    /// Something is not recorded. A message.
    Note = 10,
    /// The program called `preheat.mark`. The name of the mark. Since version 1.4.
    Mark = 11,
}

impl Event {
    /// The event with this number, if this version knows it.
    pub const fn from_u16(number: u16) -> Option<Event> {
        Some(match number {
            1 => Event::Main,
            2 => Event::PythonBegan,
            3 => Event::PythonReady,
            4 => Event::Exit,
            5 => Event::Forked,
            6 => Event::File,
            7 => Event::Library,
            8 => Event::Arguments,
            9 => Event::Program,
            10 => Event::Note,
            11 => Event::Mark,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_fills_a_slot() {
        assert_eq!(size_of::<Record>(), SLOT_BYTES);
    }

    #[test]
    fn numbers_and_names_agree() {
        for number in 0..=255 {
            assert!(Kind::from_u8(number).is_none_or(|kind| kind as u8 == number));
            let wide = u16::from(number);
            assert!(Event::from_u16(wide).is_none_or(|event| event as u16 == wide));
            assert!(Iteration::from_u16(wide).is_none_or(|which| which as u16 == wide));
            assert!(NoBytecode::from_u16(wide).is_none_or(|why| why as u16 == wide));
            let signed = i32::from(number);
            assert!(Shape::from_number(signed).is_none_or(|shape| shape as i32 == signed));
            assert!(BytecodeWrite::from_i32(signed).is_none_or(|write| write as i32 == signed));
        }
        for clock in Clock::ALL {
            assert_eq!(Clock::from_u16(clock as u16), Some(clock));
        }
    }
}
