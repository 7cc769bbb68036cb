//! The document `preheat.run/2`, which every renderer shows. Units are seconds and bytes.
//!
//! docs/run-json.md describes it, and docs/schema/preheat.run-2.schema.json is its schema;
//! the three change together.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::trace::Clock;
use super::{Cause, Evicted, Item, RunSettings, Temperature};
use crate::stats::{Class, Consistency, Estimate};
use crate::{Machine, RemedyId};

/// The schema written by this version.
pub const RUN_SCHEMA: &str = "preheat.run/2";
/// The text of [`RunReport::iteration`] if nothing repeats and no call or step was made once.
pub const NO_REPETITION: &str = "no repetition was found";
/// The schema ids that this version reads.
pub const RUN_SCHEMAS: [&str; 2] = [RUN_SCHEMA, "preheat.run/1"];

/// The results of a recording. If it has starts at several temperatures, all numbers
/// outside `ladder` are those of the warmest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Always [`RUN_SCHEMA`].
    pub schema: String,
    /// The version of preheat that made the recording.
    pub preheat: String,
    /// The time of the first start, in RFC 3339 format and UTC.
    pub created: String,
    /// The command.
    pub command: Vec<String>,
    /// Its working directory.
    pub directory: String,
    /// The machine.
    pub machine: Machine,
    /// The settings of the run.
    pub settings: RunSettings,
    /// Environment variables that were set and affect cold start.
    pub environment: Vec<(String, String)>,
    /// The detection of iterations: `nvtx`, `python`, `kernels`, `timers`, `lines`, or
    /// `none` if nothing repeats.
    pub iterations_by: IterationsBy,
    /// A human-readable description of an iteration: `steps of SGD`, `NVTX ranges named
    /// step`.
    pub iteration: String,
    /// The unit that an iteration is; none if nothing repeats, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<IterationUnit>,
    /// The evidence for the beginning of the first iteration; only for iterations by lines, and for
    /// steps of an optimizer whose first begin is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_begin: Option<FirstBegin>,
    /// From `exec` to the end of the first iteration, or to the end of the program if
    /// nothing repeats. Excludes the first start, if there are others.
    pub time_to_first: Estimate,
    /// The first iteration.
    pub first: Option<f64>,
    /// The steady iteration.
    pub steady: Option<f64>,
    /// first ÷ steady.
    pub ratio: Option<Estimate>,
    /// The class of the iterations.
    pub class: Option<Class>,
    /// The agreement of the starts on this class.
    pub consistency: Option<Consistency>,
    /// Iterations before the steady state, median over the starts.
    pub warmup: Option<f64>,
    /// The excess of warm-up over steady iterations, median over the starts.
    pub excess: Option<f64>,
    /// The second iteration.
    #[serde(default)]
    pub second: Option<Estimate>,
    /// The fastest iteration after the first.
    #[serde(default)]
    pub best: Option<Estimate>,
    /// first ÷ second, over the starts that have both.
    #[serde(default)]
    pub first_to_second: Option<Estimate>,
    /// The number of starts behind the numbers above.
    pub counted_starts: usize,
    /// The causes on the path from `exec` to the end of the first iteration, largest
    /// first; their seconds add up to `time_to_first`.
    pub causes: Vec<CauseReport>,
    /// The excess of the first iteration over a steady one, by cause, largest first.
    pub first_excess: Vec<CauseSeconds>,
    /// The excess of the first iteration over the second, by cause, largest first, over the
    /// starts that have both. Negative if the second took longer.
    #[serde(default)]
    pub second_excess: Vec<CauseSeconds>,
    /// Other threads of the shown start that iterate, by the end of their first iteration.
    /// All numbers are those of the thread whose first iteration ended first.
    #[serde(default)]
    pub other_threads: Vec<ThreadReport>,
    /// Regions that the program times itself, in order of first execution.
    #[serde(default)]
    pub regions: Vec<RegionReport>,
    /// Moments marked with `preheat.mark`, in order.
    #[serde(default)]
    pub marks: Vec<MarkReport>,
    /// Memory usage.
    pub memory: MemoryReport,
    /// The temperatures, from the coldest to the warmest.
    pub ladder: Vec<TemperatureReport>,
    /// The remedies, largest predicted saving first; then those that help after the first
    /// iteration, then those that would not help.
    pub remedies: Vec<Remedy>,
    /// All starts, in chronological order.
    pub starts: Vec<StartReport>,
    /// Human-readable notes on missing or doubtful data.
    pub notes: Vec<String>,
}

/// The detection of iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IterationsBy {
    /// NVTX ranges of the program.
    Nvtx,
    /// Steps and model calls, detected in Python.
    Python,
    /// The period of the kernel launches.
    Kernels,
    /// Regions that the program times itself.
    Timers,
    /// Lines of output.
    Lines,
    /// Nothing repeats.
    None,
}

impl IterationsBy {
    /// The end of the time to first.
    pub fn end_of_time(self) -> EndOfTime {
        match self {
            IterationsBy::Nvtx
            | IterationsBy::Python
            | IterationsBy::Kernels
            | IterationsBy::Timers
            | IterationsBy::Lines => EndOfTime::FirstIteration,
            IterationsBy::None => EndOfTime::Program,
        }
    }
}

/// The end of the time to first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndOfTime {
    /// The end of the first iteration.
    FirstIteration,
    /// The end of the program, if nothing repeats.
    Program,
}

impl RunReport {
    /// Returns true if the first iteration is comparable with later ones: they do the same
    /// work, and begin by the same rule.
    pub fn compares_first(&self) -> bool {
        let begins = self.first_begin.is_none_or(|begin| begin.known);
        match self.unit {
            Some(IterationUnit::Models) => false,
            Some(IterationUnit::OptimizerStep) => begins,
            _ => true,
        }
    }
}

/// The unit that an iteration is. Only iterations of the same unit are comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IterationUnit {
    /// An NVTX range.
    Range,
    /// A run of a module compiled by XLA.
    CompiledModule,
    /// A step of a PyTorch optimizer.
    OptimizerStep,
    /// A training step of Keras.
    TrainStep,
    /// A call of Keras `predict`.
    Predict,
    /// A call of Keras `evaluate`.
    Evaluate,
    /// A step within Keras `predict`.
    PredictStep,
    /// A step within Keras `evaluate`.
    TestStep,
    /// A call of a model.
    ModelCall,
    /// A call of one of several models, each of which is called once.
    Models,
    /// A call of a Python function.
    FunctionCall,
    /// A call of a function compiled by JAX.
    CompiledCall,
    /// An iteration named by the program.
    Named,
    /// A period of the kernel launches.
    Launches,
    /// An execution of a region that the program times itself.
    Region,
    /// A line of output.
    Line,
}

/// The evidence for the beginning of the first iteration, which no line precedes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstBegin {
    /// True if something that repeats between later lines shows where the first iteration
    /// begins, or a line does. Otherwise a warm-up without output is part of it.
    pub known: bool,
    /// Iterations without output before the first line: a warm-up.
    pub silent: usize,
}

/// Another thread that iterates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadReport {
    /// Its process id.
    pub process: u32,
    /// The name of its program, or of the thread if several threads of the process iterate.
    pub name: String,
    /// The number of its iterations.
    pub iterations: usize,
    /// From `exec` of the command to the end of the thread's first iteration.
    pub time_to_first: f64,
}

/// A region that the program times itself, between two clock readings in its own code; or a
/// level above the iterations, such as an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegionReport {
    /// The display name: `train.py:14–20`, `epochs of fit`.
    pub name: String,
    /// The source file, or the executable if no lines are known; none for a level.
    pub file: Option<String>,
    /// The line of the earlier reading.
    pub from: Option<u32>,
    /// The line of the later reading.
    pub to: Option<u32>,
    /// The function of the earlier reading.
    pub function: Option<String>,
    /// The lines of the helper that reads the clock for these lines, such as a decorator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helper: Option<String>,
    /// The clock; none for a level.
    pub clock: Option<Clock>,
    /// True if its executions are the iterations of this report.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub iterates: bool,
    /// A number for its source text without comments, strings and names of variables: equal
    /// in two programs that time the same statements. None if the source is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u32>,
    /// The number of executions, in the start with the most.
    pub count: usize,
    /// The first execution: the difference of the two readings, as the program calculates
    /// it.
    pub first: Estimate,
    /// The second execution.
    pub second: Option<Estimate>,
    /// The fastest execution after the first.
    pub best: Option<Estimate>,
    /// first ÷ second, over the starts that have both.
    pub ratio: Option<Estimate>,
    /// The causes of the first execution, averaged over the counted starts; they add up to
    /// `first`.
    pub causes: Vec<CauseSeconds>,
    /// The causes of the second execution; they add up to `second`.
    pub second_causes: Vec<CauseSeconds>,
    /// Device work that the first execution did not wait for; none if there was none.
    pub unfinished: Option<Unfinished>,
    /// True if the readings were paired by their order alone, because the source was not
    /// available. Such regions are iterations only if there are no others.
    #[serde(default)]
    pub paired_by_order: bool,
    /// The first execution in each start, in order; none if the start did not execute it.
    /// Empty for a level.
    #[serde(default)]
    pub firsts: Vec<Option<f64>>,
    /// The work around the first iteration in the first execution, if that contains it and is
    /// markedly longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around: Option<AroundReport>,
    /// The earlier region with the same code, if a program without a loop repeats its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<RepeatReport>,
}

impl RegionReport {
    /// The file and the lines of its name; `None` if the name has other parts.
    pub fn file_and_lines(&self) -> Option<(&str, String)> {
        let file = self.file.as_ref()?.rsplit('/').next()?;
        let lines = line_range(self.from?, self.to?);
        (self.name == format!("{file}:{lines}")).then_some((file, lines))
    }
}

/// The lines of a region: `14–20`, `14`; `20→14` if it ends further up than it begins.
pub fn line_range(from: u32, to: u32) -> String {
    match from.cmp(&to) {
        Ordering::Less => format!("{from}–{to}"),
        Ordering::Equal => from.to_string(),
        Ordering::Greater => format!("{from}→{to}"),
    }
}

/// The time of a region before and after the iteration that it contains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AroundReport {
    /// The mean over the counted starts.
    pub seconds: f64,
    /// Its causes, which add up to it.
    pub causes: Vec<CauseSeconds>,
}

/// The repetition of a timed region further down in the source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatReport {
    /// The name of the first region with this code.
    pub first: String,
    /// The position among the regions with this code: 2 for the second.
    pub position: usize,
    /// The time of the first region ÷ that of this one, over the starts that have both.
    pub ratio: Option<Estimate>,
}

/// A moment that the program marks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarkReport {
    /// The name given by the program.
    pub name: String,
    /// The number of times it was reached, in the start with the most.
    pub count: usize,
    /// From `exec` to the first occurrence.
    pub first: Estimate,
}

/// Device work that was still running when a clock was read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unfinished {
    /// Kernels that were launched and not waited for.
    pub launches: u64,
    /// Seconds until the device was done, if the program waited for it afterwards; an upper
    /// bound unless it did so at once.
    pub seconds: Option<f64>,
    /// The program's next act; none in older documents, whose `seconds` are never bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<AfterReading>,
}

/// The next act of a program that read a clock while the device was working.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterReading {
    /// It waited for the device.
    Waited,
    /// It waited for the device after other work, or found it done.
    Later,
    /// It never waited for the device.
    Never,
}

/// A cause and its seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseSeconds {
    /// The cause.
    pub cause: Cause,
    /// Its seconds.
    pub seconds: f64,
}

/// A cause with its items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseReport {
    /// The cause.
    pub cause: Cause,
    /// Seconds on the path.
    pub seconds: f64,
    /// Its share of the time to first, 0 to 1.
    pub share: f64,
    /// Device memory that it allocated and still holds at the end of the first iteration,
    /// if known.
    pub device_bytes: Option<u64>,
    /// The largest items, largest first.
    pub items: Vec<Item>,
    /// The number of all items.
    pub items_in_all: u64,
    /// For the program's own CPU time, the largest sampled functions, largest first. Empty
    /// for other causes.
    #[serde(default)]
    pub functions: Vec<FunctionReport>,
}

/// A function in the program's own CPU time, without the Python functions it called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionReport {
    /// The function name; empty for native code without symbols.
    pub function: String,
    /// The source file, if known.
    pub file: Option<String>,
    /// The line with the most time, if known.
    pub line: Option<u32>,
    /// The library or executable of a native function, or of the native code in which a
    /// Python function spent most of its time.
    pub library: Option<String>,
    /// The native function in which a Python function spent most of its time.
    pub symbol: Option<String>,
    /// Seconds on the path.
    pub seconds: f64,
    /// Its share of the time to first, 0 to 1.
    pub share: f64,
    /// The number of samples.
    pub samples: u64,
}

/// Memory usage of the shown start, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// Device memory; none if no device was used.
    pub device: Option<DeviceBytes>,
    /// Peak host memory: the largest resident size of a process.
    pub resident_peak: u64,
    /// Its resident size in the first sample after the first iteration.
    pub resident_first: Option<u64>,
    /// Page-locked memory at the end of the first iteration.
    pub pinned: u64,
    /// The use of resident host memory; none if it was not sampled.
    #[serde(default)]
    pub host: Option<HostMemory>,
}

/// The use of resident host memory, of all processes of a start together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostMemory {
    /// At the end of the first iteration; at the peak, if nothing repeats.
    pub first: HostBytes,
    /// At the peak after that; none if it did not grow by one percent.
    pub peak: Option<HostBytes>,
}

/// Resident host memory at one time. A page that several processes of the start share is
/// divided among them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostBytes {
    /// The time, in seconds since `exec`.
    pub time: f64,
    /// In all; the parts add up to it, and so do the processes.
    pub total: u64,
    /// The parts, largest first.
    pub parts: Vec<HostPart>,
    /// The processes, largest first.
    pub processes: Vec<HostProcess>,
}

/// A part of host memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostPart {
    /// Its use.
    #[serde(rename = "use")]
    pub usage: HostUse,
    /// The size, in bytes.
    pub bytes: u64,
    /// Its items, largest first: libraries, packages, lines of the program.
    pub items: Vec<HostItem>,
    /// The number of items in total.
    pub items_in_all: u64,
}

/// One item of a part of host memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostItem {
    /// Its name.
    pub name: String,
    /// The size, in bytes.
    pub bytes: u64,
}

/// The host memory of one process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostProcess {
    /// Its number.
    pub process: u32,
    /// Its display name.
    pub name: String,
    /// The size, in bytes.
    pub bytes: u64,
}

/// The uses of host memory: a closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostUse {
    /// Code and data of mapped libraries and executables, and what they allocate while they
    /// are loaded.
    Libraries,
    /// Allocated while Python imported modules.
    Modules,
    /// Allocated by drivers, compilers and GPU libraries.
    Drivers,
    /// Allocated while the program's own code ran: its model and data.
    Program,
    /// Files that are mapped, but not as code.
    Files,
    /// Memory that is shared between processes.
    Shared,
    /// Stacks of threads.
    Stacks,
    /// Used by the recorder of preheat.
    Recorder,
    /// Memory of unknown use.
    Unexplained,
}

impl HostUse {
    /// The display name.
    pub fn name(self) -> &'static str {
        match self {
            HostUse::Libraries => "libraries",
            HostUse::Modules => "modules",
            HostUse::Drivers => "drivers",
            HostUse::Program => "program",
            HostUse::Files => "files",
            HostUse::Shared => "shared",
            HostUse::Stacks => "stacks",
            HostUse::Recorder => "recorder",
            HostUse::Unexplained => "unexplained",
        }
    }

    /// One line of explanation.
    pub fn explanation(self) -> &'static str {
        match self {
            HostUse::Libraries => "mapped libraries, and memory that they allocate while loading",
            HostUse::Modules => "allocated while Python imported modules",
            HostUse::Drivers => "allocated by drivers, compilers and GPU libraries",
            HostUse::Program => "allocated while the program's own code ran: its model and data",
            HostUse::Files => "files that are mapped, but not as code",
            HostUse::Shared => "memory that is shared between processes",
            HostUse::Stacks => "stacks of threads",
            HostUse::Recorder => "used by the recorder of preheat",
            HostUse::Unexplained => "memory of unknown use",
        }
    }
}

/// The breakdown of device memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceBytes {
    /// Total in use after the first iteration; the parts below add up to it.
    pub total: u64,
    /// The context.
    pub context: u64,
    /// Kernels: their code, and memory allocated at their first use.
    pub kernels: u64,
    /// Allocations in use by tensors, if the framework reports them; else all allocations.
    pub used: u64,
    /// Memory that a framework's allocator holds beyond that.
    pub reserved: u64,
    /// Workspaces and other allocations by libraries.
    pub workspaces: u64,
    /// Memory that nothing accounts for, including that of other processes on the device.
    pub other: u64,
    /// Peak usage until the end of the first iteration.
    pub first_peak: u64,
    /// Peak usage in the steady iterations; none if unknown.
    pub steady_peak: Option<u64>,
}

/// The results at one temperature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TemperatureReport {
    /// The temperature.
    pub temperature: Temperature,
    /// The number of starts.
    pub starts: usize,
    /// From `exec` to the end of the first iteration.
    pub time_to_first: Estimate,
    /// The first iteration.
    pub first: Option<f64>,
    /// The causes, in the order of [`Cause::ALL`].
    pub causes: Vec<CauseSeconds>,
}

/// A change that would remove part of the cold start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remedy {
    /// The id.
    pub id: RemedyId,
    /// The display name.
    pub title: String,
    /// Instructions.
    pub what: String,
    /// The predicted saving, in seconds of the time to first.
    pub saving: f64,
    /// Bytes saved on the device, if that is its purpose.
    pub saving_bytes: Option<u64>,
    /// The assumptions of the prediction.
    pub assumption: String,
    /// The causes that it removes or reduces.
    pub causes: Vec<Cause>,
    /// A saving outside the time to first; none if there is none.
    #[serde(default)]
    pub later: Option<LaterSaving>,
    /// True if it would help. A common remedy that would not is reported with the reason.
    #[serde(default = "helps")]
    pub helps: bool,
}

/// Documents of earlier versions list only remedies that help.
fn helps() -> bool {
    true
}

/// The benefit of a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemedyGroup {
    /// It shortens the time to first, or saves device memory.
    Start,
    /// It shortens only later work.
    Later,
    /// It would not help here.
    None,
}

impl Remedy {
    /// Its benefit.
    pub fn group(&self) -> RemedyGroup {
        match self.helps {
            false => RemedyGroup::None,
            true if self.later.is_some() && self.saving <= 0.0 => RemedyGroup::Later,
            true => RemedyGroup::Start,
        }
    }
}

/// A saving after the first iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaterSaving {
    /// The display name of what gets shorter: `the first iteration after it`, `each copy`.
    pub of: String,
    /// The saving, in seconds.
    pub seconds: f64,
    /// Warm-up iterations or copies needed until it pays off; 0 if it does at once.
    pub after: u64,
}

/// One start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartReport {
    /// The temperature of the start.
    pub temperature: Temperature,
    /// True if it was the very first start, which is reported separately.
    pub first_start: bool,
    /// The exit code; 128 + n for signal n.
    pub exit_code: i32,
    /// From `exec` to the end of the first iteration (of the program, if nothing repeats);
    /// none if the start did not get that far or was not recorded.
    pub time_to_first: Option<f64>,
    /// From `exec` to the end of the program.
    pub wall: f64,
    /// The causes, in the order of [`Cause::ALL`]; they add up to `time_to_first`.
    pub causes: Vec<CauseSeconds>,
    /// The duration of each iteration.
    pub iterations: Vec<f64>,
    /// Peak host memory: the largest resident size of a process, in bytes.
    pub peak_resident: u64,
    /// The peak device memory in use, in bytes; none if no device was used, or if unknown.
    #[serde(default)]
    pub peak_device: Option<u64>,
    /// The result of evicting the page cache before the start.
    pub evicted: Option<Evicted>,
    /// True if part of its recording could not be read; the notes list which.
    #[serde(default)]
    pub damaged: bool,
}
