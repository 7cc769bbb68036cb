//! The manifest of a recording: `recording.json`, rewritten after every start. It states the
//! rule by which iterations are found.

use serde::{Deserialize, Serialize};

use super::{IterationRule, Timers};
use crate::Machine;

/// The schema written by this version.
pub const RECORDING_SCHEMA: &str = "preheat.recording/1";

/// The header of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Always [`RECORDING_SCHEMA`].
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
    /// The starts, in chronological order.
    pub starts: Vec<StartInfo>,
    /// Clock readings found in the source of the program.
    #[serde(default, skip_serializing_if = "Timers::is_empty")]
    pub timers: Timers,
    /// The reason for starting the command plainly; none if it can be started warm, or if
    /// this was not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_plainly: Option<String>,
    /// Large imports that a library can do without, by module name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub optional_imports: Vec<String>,
    /// Modules that these load, and that would be loaded without them too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_imports: Vec<String>,
    /// Human-readable notes on what was not recorded, and why.
    pub notes: Vec<String>,
}

/// The settings of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSettings {
    /// The rule by which iterations are found.
    pub iterations: IterationRule,
    /// Requested starts per temperature.
    pub starts: usize,
    /// The seed for the order of starts and for resampling.
    pub seed: u64,
    /// The size limit of a process file, in bytes.
    pub limit: u64,
    /// True if each iteration ended with a device synchronization.
    pub synchronize: bool,
    /// The reason for running fewer starts than requested.
    pub ended_early: Option<String>,
    /// The exit code of the command, if that was the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_with: Option<i32>,
}

/// One start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartInfo {
    /// The directory of its process files, relative to the recording.
    pub directory: String,
    /// The temperature at which it was started.
    pub temperature: Temperature,
    /// `CLOCK_MONOTONIC` in nanoseconds just before `exec`.
    pub exec: u64,
    /// `CLOCK_MONOTONIC` in nanoseconds after it ended.
    pub end: u64,
    /// The process id of the command.
    pub pid: u32,
    /// The exit code; 128 + n for signal n.
    pub exit_code: i32,
    /// Peak host memory: the largest resident size of a process, in bytes.
    pub peak_resident: u64,
    /// Files and bytes evicted from the page cache before it.
    pub evicted: Option<Evicted>,
    /// The reason why this start has no recording; none if it has one.
    pub unrecorded: Option<String>,
}

/// The page cache eviction before a start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evicted {
    /// Number of files examined.
    pub files: u64,
    /// Bytes that were cached before.
    pub cached: u64,
    /// Bytes still cached afterwards, because another process uses them.
    pub left: u64,
}

/// The temperature of a start, ordered from the warmest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Temperature {
    /// A fresh process; everything may be cached.
    Process,
    /// The files it reads are first evicted from the page cache.
    Disk,
    /// Kernel and compile caches start empty.
    Caches,
    /// Python finds no bytecode.
    Bytecode,
}

/// The error for a temperature that does not exist; its message lists all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown temperature; expected one of {}",
    Temperature::ALL.map(Temperature::as_str).join(", ")
)]
pub struct UnknownTemperature;

impl Temperature {
    /// All temperatures, warmest first.
    pub const ALL: [Temperature; 4] = [
        Temperature::Process,
        Temperature::Disk,
        Temperature::Caches,
        Temperature::Bytecode,
    ];

    /// The temperature with this name.
    pub fn from_name(name: &str) -> Result<Temperature, UnknownTemperature> {
        let mut all = Temperature::ALL.into_iter();
        all.find(|known| known.as_str() == name)
            .ok_or(UnknownTemperature)
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Temperature::Process => "process",
            Temperature::Disk => "disk",
            Temperature::Caches => "caches",
            Temperature::Bytecode => "bytecode",
        }
    }
}
