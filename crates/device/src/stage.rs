//! Named, timed steps.

use std::time::Instant;

/// The steps of a device from nothing to its first result. A closed list, so that reports
/// and claims can refer to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StageName {
    /// Loading the driver library into the process.
    LoadLibrary,
    /// Initializing the driver.
    InitializeDriver,
    /// Querying the device: name, memory, features.
    QueryDevice,
    /// Loading the library of a separate run-time compiler (NVRTC).
    LoadCompiler,
    /// Translating kernel source to an intermediate form (parsing; CUDA C to PTX).
    SourceToIntermediate,
    /// Optimising the intermediate form, where that is a separate step.
    Optimise,
    /// Translating the intermediate form to machine code.
    IntermediateToMachineCode,
    /// Reading machine code from a cache instead of compiling.
    ReadCache,
    /// Loading machine code into memory, ready to launch.
    Load,
}

impl StageName {
    /// All stages, in order.
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

    /// The name in reports and JSON.
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

/// One step and its duration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// The step.
    pub name: StageName,
    /// Its duration.
    pub seconds: f64,
}

/// Times consecutive steps.
#[derive(Debug)]
pub struct Stopwatch {
    last: Instant,
    stages: Vec<Stage>,
}

impl Stopwatch {
    /// Starts the stopwatch.
    #[allow(
        clippy::new_without_default,
        reason = "a default value should not start a clock"
    )]
    pub fn new() -> Stopwatch {
        Stopwatch {
            last: Instant::now(),
            stages: Vec::new(),
        }
    }

    /// Ends the step `name` and begins the next one.
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
