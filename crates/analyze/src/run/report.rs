//! The document `preheat.run/1`: what every renderer shows. Seconds and bytes.
//!
//! Its description for people is docs/run-json.md, for programs
//! docs/schema/preheat.run-1.schema.json; the three change together.

use serde::{Deserialize, Serialize};

use super::trace::Clock;
use super::{Cause, Evicted, RunSettings, Temperature};
use crate::lab::Machine;
use crate::stats::{Class, Consistency, Interval};

/// The schema that this version writes.
pub const RUN_SCHEMA: &str = "preheat.run/1";

/// What a recording shows. Where starts of several temperatures were made, the numbers
/// beside the ladder are those of the warmest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Always [`RUN_SCHEMA`].
    pub schema: String,
    /// The version of preheat that recorded.
    pub preheat: String,
    /// When the first start began, as an RFC 3339 time in UTC.
    pub created: String,
    /// The command that was run.
    pub command: Vec<String>,
    /// Where it was run.
    pub directory: String,
    /// On which machine.
    pub machine: Machine,
    /// How.
    pub settings: RunSettings,
    /// Environment variables that matter to a cold start and were set.
    pub environment: Vec<(String, String)>,
    /// By what iterations were found: `nvtx`, `python`, `kernels`, `timers`, `lines`, or
    /// `none` if nothing repeats.
    pub iterations_by: IterationsBy,
    /// What an iteration is here, for people: `steps of SGD`, `NVTX ranges named step`.
    pub iteration: String,
    /// From `exec` to the end of the first iteration; to the end of the program where
    /// nothing repeats. Over the starts without the first, if there are others.
    pub time_to_first: Interval,
    /// The first iteration.
    pub first: Option<f64>,
    /// The steady iteration.
    pub steady: Option<f64>,
    /// first ÷ steady.
    pub ratio: Option<Interval>,
    /// How the iterations behave.
    pub class: Option<Class>,
    /// Whether all starts behave so.
    pub consistency: Option<Consistency>,
    /// Iterations before steady, median over the starts.
    pub warmup: Option<f64>,
    /// What warm-up cost over steady, median over the starts.
    pub excess: Option<f64>,
    /// The second iteration.
    #[serde(default)]
    pub second: Option<Interval>,
    /// The fastest iteration after the first.
    #[serde(default)]
    pub best: Option<Interval>,
    /// first ÷ second, of the starts that have both.
    #[serde(default)]
    pub first_to_second: Option<Interval>,
    /// How many starts the numbers above are from.
    pub counted_starts: usize,
    /// The causes on the path from `exec` to the end of the first iteration, largest
    /// first; their seconds add up to `time_to_first`.
    pub causes: Vec<CauseReport>,
    /// What the first iteration took beyond a steady one, by cause, largest first.
    pub first_excess: Vec<CauseSeconds>,
    /// The excess of the first iteration over the second, by cause, largest first; of the
    /// starts that have both. What it took less of is below zero.
    #[serde(default)]
    pub second_excess: Vec<CauseSeconds>,
    /// Other threads of the shown start that iterate, by the end of their first iteration.
    /// The numbers are those of the thread whose first iteration ended first.
    #[serde(default)]
    pub other_threads: Vec<ThreadReport>,
    /// Regions that the program times itself, in the order in which they were first executed.
    #[serde(default)]
    pub regions: Vec<RegionReport>,
    /// Moments that the program marks with `preheat.mark`, in order.
    #[serde(default)]
    pub marks: Vec<MarkReport>,
    /// Where memory went.
    pub memory: MemoryReport,
    /// From the coldest starts to the warmest; one rung for each temperature.
    pub ladder: Vec<Rung>,
    /// What would remove it, the largest predicted saving first; then what helps later
    /// than the first iteration, then what would not help.
    pub remedies: Vec<Remedy>,
    /// Every start, in the order in which they ran.
    pub starts: Vec<StartReport>,
    /// Sentences for people: what is missing or doubtful, and why.
    pub notes: Vec<String>,
}

/// By what iterations were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IterationsBy {
    /// NVTX ranges of the program.
    Nvtx,
    /// Steps and model calls that Python sees.
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

/// A further thread that iterates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadReport {
    /// The number of its process.
    pub process: u32,
    /// The name of its process: of its program, or of the thread where the same process has
    /// several.
    pub name: String,
    /// How many iterations it has.
    pub iterations: usize,
    /// From `exec` of the command to the end of its first iteration.
    pub time_to_first: f64,
}

/// A region that the program times itself: what lies between two clock readings of its own
/// code. Or a level above the iterations, such as an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegionReport {
    /// Its name for people: `train.py:14–20`, `epochs of fit`.
    pub name: String,
    /// The source file, or the executable where no lines are known; none for a level.
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
    /// How often it was executed, in the start that did so most often.
    pub count: usize,
    /// The first execution: the difference of the two readings, as the program calculates it.
    pub first: Interval,
    /// The second execution.
    pub second: Option<Interval>,
    /// The fastest execution after the first.
    pub best: Option<Interval>,
    /// first ÷ second, of the starts that have both.
    pub ratio: Option<Interval>,
    /// Where the time of the first execution went; adds up to `first`. Of the start that
    /// the page shows, in proportion.
    pub causes: Vec<CauseSeconds>,
    /// Where the time of the second execution went; adds up to `second`.
    pub second_causes: Vec<CauseSeconds>,
    /// Device work that the first execution did not wait for; none if there was none.
    pub unfinished: Option<Unfinished>,
    /// Whether only the order of the readings says that they belong together, because the
    /// source was not at hand. Such a region is never an iteration.
    #[serde(default)]
    pub paired_by_order: bool,
    /// The first execution in each start, in their order; none where it was not executed.
    /// Empty for a level.
    #[serde(default)]
    pub firsts: Vec<Option<f64>>,
}

/// A moment that the program marks itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarkReport {
    /// The program's name for it.
    pub name: String,
    /// How often it was reached, in the start that reached it most often.
    pub count: usize,
    /// From `exec` to the first time it was reached.
    pub first: Interval,
}

/// Device work that was still to be done when a clock was read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unfinished {
    /// Kernels that were launched and not waited for.
    pub launches: u64,
    /// How long it took until the device was done, where the program then waited for it.
    pub seconds: Option<f64>,
}

/// A cause and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseSeconds {
    /// Which.
    pub cause: Cause,
    /// How long.
    pub seconds: f64,
}

/// A cause with what is behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseReport {
    /// Which.
    pub cause: Cause,
    /// How long, on the path.
    pub seconds: f64,
    /// Its part of the time to first, 0 to 1.
    pub share: f64,
    /// Device memory that it took and holds at the end of the first iteration, where
    /// that is known.
    pub device_bytes: Option<u64>,
    /// What it was, largest first; not all of it.
    pub items: Vec<Item>,
    /// How many items there were in all.
    pub items_in_all: u64,
    /// Of the program's own CPU time: the functions that were sampled, largest first; not
    /// all of them. Empty for other causes.
    #[serde(default)]
    pub functions: Vec<FunctionReport>,
}

/// A function in the program's own CPU time, without what it called that is Python too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionReport {
    /// Its name; empty for native code without symbols.
    pub function: String,
    /// The source file, where that is known.
    pub file: Option<String>,
    /// The line of it that took the most, where that is known.
    pub line: Option<u32>,
    /// The library or executable of native code: its own, or what a Python function called
    /// for most of its time.
    pub library: Option<String>,
    /// The native function that a Python function called for most of its time.
    pub symbol: Option<String>,
    /// How long, on the path.
    pub seconds: f64,
    /// Its part of the time to first, 0 to 1.
    pub share: f64,
    /// How many samples this is from.
    pub samples: u64,
}

/// One thing behind a cause: a module, library, kernel or call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Its name: `torch._dynamo`, `libcudnn_ops.so.9`, `cuLibraryLoadData`.
    pub name: String,
    /// Who asked for it or what it was about; may be empty.
    pub detail: String,
    /// How long, on the path, without what lies within it and has another name.
    pub seconds: f64,
    /// How long with all that lies within it; as `seconds` where nothing does.
    pub inclusive: f64,
    /// How often, on the path.
    pub count: u64,
    /// Bytes, where it has to do with bytes.
    pub bytes: Option<u64>,
    /// The part of `seconds` that was waiting, mostly for a disk; none if unknown.
    pub waiting: Option<f64>,
}

/// Where memory went, in bytes. Of the start that the page shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// The device; none if none was used.
    pub device: Option<DeviceBytes>,
    /// The largest resident size of the process.
    pub resident_peak: u64,
    /// Its resident size at the end of the first iteration.
    pub resident_first: Option<u64>,
    /// Page-locked memory at the end of the first iteration.
    pub pinned: u64,
}

/// Where the memory of a device went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceBytes {
    /// In use after the first iteration, in all; the parts below add up to it.
    pub total: u64,
    /// The context.
    pub context: u64,
    /// Kernels: code, and what their first use took.
    pub kernels: u64,
    /// Allocations in use by tensors, if the framework says so; else all allocations.
    pub used: u64,
    /// What a framework's allocator holds beyond that.
    pub reserved: u64,
    /// Workspaces and whatever libraries took for themselves.
    pub workspaces: u64,
    /// What nothing accounts for; others on the same device are in it.
    pub other: u64,
    /// The most in use until the end of the first iteration.
    pub first_peak: u64,
    /// The most in use in the steady iterations; none if that is not known.
    pub steady_peak: Option<u64>,
}

/// One temperature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    /// How cold.
    pub temperature: Temperature,
    /// How many starts.
    pub starts: usize,
    /// From `exec` to the end of the first iteration.
    pub time_to_first: Interval,
    /// The first iteration.
    pub first: Option<f64>,
    /// The causes, in the order of [`Cause::ALL`].
    pub causes: Vec<CauseSeconds>,
}

/// What would remove a part of the cold start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remedy {
    /// Which, for programs: `warm-parent`, `prefetch`, …
    pub id: String,
    /// Which, for people.
    pub title: String,
    /// What to do.
    pub what: String,
    /// What that is predicted to save, in seconds of time to first.
    pub saving: f64,
    /// Bytes that it saves on the device, where that is the point.
    pub saving_bytes: Option<u64>,
    /// What the prediction assumes.
    pub assumption: String,
    /// The causes that it removes or makes smaller.
    pub causes: Vec<Cause>,
    /// A saving beside the time to first; none where it shortens nothing else.
    #[serde(default)]
    pub later: Option<Later>,
    /// Whether it is worth doing here. A common remedy that is not worth it is reported
    /// with the reason.
    #[serde(default = "helps")]
    pub helps: bool,
}

/// Documents of earlier versions list only remedies that help.
fn helps() -> bool {
    true
}

/// The use of a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemedyGroup {
    /// It shortens the time to first, or saves device memory.
    Start,
    /// It shortens only what comes later.
    Later,
    /// It would not help here.
    None,
}

impl Remedy {
    /// Its use.
    pub fn group(&self) -> RemedyGroup {
        match self.helps {
            false => RemedyGroup::None,
            true if self.later.is_some() && self.saving <= 0.0 => RemedyGroup::Later,
            true => RemedyGroup::Start,
        }
    }
}

/// A saving beside the time to first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Later {
    /// The display name of what becomes shorter: `the first iteration after it`, `each copy`.
    pub of: String,
    /// By how much, in seconds.
    pub seconds: f64,
    /// How many are needed until it pays off: warm-up iterations, or copies; 0 if it pays
    /// off at once.
    pub after: u64,
}

/// One start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartReport {
    /// How cold it was made.
    pub temperature: Temperature,
    /// Whether it was the first of all: reported apart.
    pub first_start: bool,
    /// Its exit code; 128 + n for signal n.
    pub exit_code: i32,
    /// From `exec` to the end of the first iteration (of the program, if nothing repeats);
    /// none if it did not come so far or was not recorded.
    pub time_to_first: Option<f64>,
    /// From `exec` to the end of the program.
    pub wall: f64,
    /// The causes, in the order of [`Cause::ALL`]; they add up to `time_to_first`.
    pub causes: Vec<CauseSeconds>,
    /// How long each iteration took.
    pub iterations: Vec<f64>,
    /// The largest resident size, in bytes.
    pub peak_resident: u64,
    /// The most device memory in use, in bytes; none if no device was used, or that is
    /// not known.
    #[serde(default)]
    pub peak_device: Option<u64>,
    /// What was evicted before it.
    pub evicted: Option<Evicted>,
    /// Whether a part of its recording could not be read; the notes say which.
    #[serde(default)]
    pub damaged: bool,
}
