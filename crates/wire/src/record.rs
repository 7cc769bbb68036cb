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

/// Declares an enum whose variants have the numbers that recordings contain, the list of all
/// variants, and the conversion from a number.
macro_rules! numbered {
    (
        $(#[$about:meta])*
        $name:ident: $repr:ident, $from:ident($number:ident) {
            $($(#[$meaning:meta])* $variant:ident = $value:literal,)*
        }
    ) => {
        $(#[$about])*
        #[repr($repr)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$meaning])* $variant = $value,)*
        }

        impl $name {
            /// All variants, in the order of their numbers.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The variant with this number, if this version knows it.
            pub const fn $from(number: $number) -> Option<$name> {
                match number {
                    $($value => Some($name::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

numbered! {
    /// The kind of a record. Each description ends with the content of its further slots.
    Kind: u8, from_u8(u8) {
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
}

numbered! {
    /// The data recorded with a call besides its time. Each description ends with the content
    /// of its further slots.
    Shape: u8, from_number(i32) {
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
}

numbered! {
    /// Iterations that are detected in Python.
    Iteration: u8, from_u16(u16) {
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
        /// `InferenceSession.run`), or the one named by the user. Since version 1.3.
        FunctionCall = 10,
        /// An outermost call of a function that JAX compiles. Since version 1.3.
        CompiledCall = 11,
        /// An iteration that the program names with `preheat.iteration`. Since version 1.4.
        Named = 12,
        /// An outermost call of a PyTorch tensor's `backward`, until an optimizer steps. Since
        /// version 1.7.
        Backward = 13,
    }
}

numbered! {
    /// The reason the import system could not use a module's `.pyc` file.
    NoBytecode: u16, from_u16(u16) {
        /// The file does not exist.
        Missing = 1,
        /// The file belongs to another version of the source or of Python, or is damaged.
        Stale = 2,
        /// The file cannot be opened.
        Unreadable = 3,
    }
}

numbered! {
    /// The outcome of writing a `.pyc` file after compiling a module.
    BytecodeWrite: i32, from_i32(i32) {
        /// Python writes the file, so the next start finds it.
        Writes = 0,
        /// `sys.dont_write_bytecode` is set.
        TurnedOff = 1,
        /// The directory cannot be written to.
        NotWritable = 2,
    }
}

numbered! {
    /// A clock that a program can read.
    Clock: u16, from_u16(u16) {
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
        /// `clock` in C: CPU time.
        CClock = 12,
    }
}

numbered! {
    /// Instantaneous events.
    Event: u16, from_u16(u16) {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_fills_a_slot() {
        assert_eq!(size_of::<Record>(), SLOT_BYTES);
    }

    /// Old recordings contain these numbers: a variant may be added, but none may change.
    #[test]
    fn numbers_do_not_change() {
        fn listed<T: Copy + std::fmt::Debug>(all: &[T], number: impl Fn(T) -> i64) -> String {
            let each = all.iter().map(|&one| format!("{}={one:?}", number(one)));
            each.collect::<Vec<_>>().join(" ")
        }
        assert_eq!(
            listed(Kind::ALL, |kind| kind as i64),
            "1=Call 2=Import 3=Load 4=Iteration 5=Range 6=Text 7=Symbol 8=Memory 9=Event 10=Allocator 11=Thread 12=Process 13=Line 14=Sparse 15=Clock 16=Elapsed 17=LineBegin 18=Bytecode 19=ThreadName"
        );
        assert_eq!(
            listed(Shape::ALL, |shape| shape as i64),
            "0=Plain 1=Heavy 2=Allocate 3=Free 4=Copy 5=Launch 6=Module 7=Lookup 8=Alias"
        );
        assert_eq!(
            listed(Iteration::ALL, |which| which as i64),
            "1=OptimizerStep 2=ModelCall 3=TrainStep 4=PredictStep 5=TestStep 6=DataFetch 7=Predict 8=Evaluate 9=Epoch 10=FunctionCall 11=CompiledCall 12=Named 13=Backward"
        );
        assert_eq!(
            listed(NoBytecode::ALL, |why| why as i64),
            "1=Missing 2=Stale 3=Unreadable"
        );
        assert_eq!(
            listed(BytecodeWrite::ALL, |write| write as i64),
            "0=Writes 1=TurnedOff 2=NotWritable"
        );
        assert_eq!(
            listed(Clock::ALL, |clock| clock as i64),
            "1=Time 2=PerfCounter 3=Monotonic 4=ProcessTime 5=ThreadTime 6=CudaEvent 7=ChronoSystem 8=ChronoSteady 9=ClockGettime 10=ClockGettimeCpu 11=GetTimeOfDay 12=CClock"
        );
        assert_eq!(
            listed(Event::ALL, |event| event as i64),
            "1=Main 2=PythonBegan 3=PythonReady 4=Exit 5=Forked 6=File 7=Library 8=Arguments 9=Program 10=Note 11=Mark"
        );
    }

    #[test]
    fn the_page_about_recordings_lists_all_iterations() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recording.md");
        let page = std::fs::read_to_string(page).expect("the page");
        let (_, table) = page
            .split_once("| iteration | name |")
            .expect("a table of iterations");
        let rows = table.lines().skip(2).map_while(|line| {
            let (number, rest) = line.strip_prefix("| ")?.split_once(" | `")?;
            Some(format!("{number}={}", rest.split('`').next()?))
        });
        let all = Iteration::ALL.iter();
        let expected = all.map(|&which| format!("{}={which:?}", which as u8));
        assert_eq!(rows.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }

    #[test]
    fn numbers_are_read_back() {
        for &kind in Kind::ALL {
            assert_eq!(Kind::from_u8(kind as u8), Some(kind));
        }
        for &shape in Shape::ALL {
            assert_eq!(Shape::from_number(shape as i32), Some(shape));
        }
        for &which in Iteration::ALL {
            assert_eq!(Iteration::from_u16(which as u16), Some(which));
        }
        for &event in Event::ALL {
            assert_eq!(Event::from_u16(event as u16), Some(event));
        }
        assert_eq!(Kind::from_u8(0), None);
        assert_eq!(Iteration::from_u16(0), None);
    }
}
