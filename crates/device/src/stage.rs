//! Named, timed steps.

use std::time::Instant;

/// The steps that a device may take from nothing to its first result. A closed
/// list, so that reports and claims can speak of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StageName {
    /// Load the driver's library into the process.
    LoadLibrary,
    /// Initialize the driver.
    InitializeDriver,
    /// Look at the device: name, memory, abilities.
    QueryDevice,
    /// Load the run-time compiler's library, where it is one of its own (NVRTC).
    LoadCompiler,
    /// Kernel source to an intermediate form (parse; CUDA C to PTX).
    SourceToIntermediate,
    /// Optimise the intermediate form, where that is a step of its own.
    Optimise,
    /// Intermediate form to machine code.
    IntermediateToMachineCode,
    /// Machine code from a cache instead of a compilation.
    ReadCache,
    /// Machine code into memory, ready to launch.
    Load,
}

impl StageName {
    /// All of them, in the order in which they come.
    pub const ALL: [StageName; 9] = [
        StageName::LoadLibrary,
        StageName::InitializeDriver,
        StageName::QueryDevice,
        StageName::LoadCompiler,
        StageName::SourceToIntermediate,
        StageName::Optimise,
        StageName::IntermediateToMachineCode,
        StageName::ReadCache,
        StageName::Load,
    ];

    /// The words for it in reports and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            StageName::LoadLibrary => "load driver library",
            StageName::InitializeDriver => "initialize driver",
            StageName::QueryDevice => "query device",
            StageName::LoadCompiler => "load compiler library",
            StageName::SourceToIntermediate => "source to intermediate",
            StageName::Optimise => "optimise",
            StageName::IntermediateToMachineCode => "intermediate to machine code",
            StageName::ReadCache => "read compile cache",
            StageName::Load => "load",
        }
    }
}

/// One step and how long it took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// What was done.
    pub name: StageName,
    /// How long it took.
    pub seconds: f64,
}

/// Times steps that follow each other.
#[derive(Debug)]
pub struct Stopwatch {
    last: Instant,
    stages: Vec<Stage>,
}

impl Stopwatch {
    /// Start now.
    #[allow(clippy::new_without_default, reason = "starting a clock is no default")]
    pub fn new() -> Stopwatch {
        Stopwatch {
            last: Instant::now(),
            stages: Vec::new(),
        }
    }

    /// The step `name` ends now; the next one begins.
    pub fn lap(&mut self, name: StageName) {
        let now = Instant::now();
        self.stages.push(Stage {
            name,
            seconds: (now - self.last).as_secs_f64(),
        });
        self.last = now;
    }

    /// All steps so far.
    pub fn stages(self) -> Vec<Stage> {
        self.stages
    }
}
