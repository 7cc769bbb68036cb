//! What a recording says of itself: `recording.json`, rewritten after every start.

use serde::{Deserialize, Serialize};

use super::Timers;
use crate::lab::Machine;

/// The schema that this version writes.
pub const RECORDING_SCHEMA: &str = "preheat.recording/1";

/// The head of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Always [`RECORDING_SCHEMA`].
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
    /// The starts, in the order in which they ran.
    pub starts: Vec<StartInfo>,
    /// The program's clock readings, as its source describes them.
    #[serde(default, skip_serializing_if = "Timers::is_empty")]
    pub timers: Timers,
    /// Why `preheat start` starts the command plainly; none if it can start it warm, or if
    /// that was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_plainly: Option<String>,
    /// Large imports that a library asked for and works without, by module.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub optional_imports: Vec<String>,
    /// Sentences for people: what is not recorded, and why.
    pub notes: Vec<String>,
}

/// How a command was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSettings {
    /// How iterations are to be found: `auto`, `nvtx`, `nvtx:NAME`, `python`, `kernels`,
    /// `timers`, `lines:REGEX`.
    pub iterations: String,
    /// Starts that were asked for at each temperature.
    pub starts: usize,
    /// Seeds the order of the starts and every resampling.
    pub seed: u64,
    /// The most bytes of a process file.
    pub limit: u64,
    /// Whether the device was waited for at the end of each iteration.
    pub synchronize: bool,
    /// Why fewer starts were made than asked for.
    pub ended_early: Option<String>,
}

/// One start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartInfo {
    /// The directory of its process files, below the recording's.
    pub directory: String,
    /// How cold it was made.
    pub temperature: Temperature,
    /// `CLOCK_MONOTONIC` in nanoseconds just before `exec`.
    pub exec: u64,
    /// The same when it had ended.
    pub end: u64,
    /// The process that was started.
    pub pid: u32,
    /// Its exit code; 128 + n for signal n.
    pub exit_code: i32,
    /// The largest resident size of it and its children, in bytes.
    pub peak_resident: u64,
    /// Files and bytes that were evicted from the page cache before it.
    pub evicted: Option<Evicted>,
    /// Why this start has no recording, if it has none.
    pub unrecorded: Option<String>,
}

/// What was evicted from the page cache before a start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evicted {
    /// Files that were looked at.
    pub files: u64,
    /// Bytes of them that were cached before.
    pub cached: u64,
    /// Bytes that were still cached afterwards, because someone else uses them.
    pub left: u64,
}

/// How cold a start is made. Ordered from the warmest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Temperature {
    /// A fresh process; everything may be cached.
    Process,
    /// The files that it reads are evicted from the page cache first.
    Disk,
    /// Kernel and compile caches start empty.
    Caches,
    /// Python finds no bytecode.
    Bytecode,
}

impl Temperature {
    /// All of them, from the warmest.
    pub const ALL: [Temperature; 4] = [
        Temperature::Process,
        Temperature::Disk,
        Temperature::Caches,
        Temperature::Bytecode,
    ];

    /// The temperature with this name; else the names that there are.
    pub fn from_name(name: &str) -> Result<Temperature, String> {
        let mut all = Temperature::ALL.into_iter();
        all.find(|known| known.as_str() == name).ok_or_else(|| {
            let names = Temperature::ALL.map(Temperature::as_str).join(", ");
            format!("unknown temperature; expected one of {names}")
        })
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Temperature::Process => "process",
            Temperature::Disk => "disk",
            Temperature::Caches => "caches",
            Temperature::Bytecode => "bytecode",
        }
    }
}
