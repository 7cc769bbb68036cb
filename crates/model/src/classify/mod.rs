//! Iteration times of other tools, and their classes: the document `preheat.classify/2`, which
//! every renderer shows. Times are in seconds.
//!
//! Documented in docs/classify-json.md and docs/schema/preheat.classify-2.schema.json; change
//! all three together.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::stats::{Class, Consistency, Estimate};

pub use crate::lab::MAX_STARTS;

/// The schema id that this version writes.
pub const CLASSIFY_SCHEMA: &str = "preheat.classify/2";

/// The result for all files. The same files, seed and version always give the same
/// document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassifyReport {
    /// Always [`CLASSIFY_SCHEMA`].
    pub schema: String,
    /// The version of preheat that classified.
    pub preheat: String,
    /// Seeds all resampling.
    pub seed: u64,
    /// The number of files.
    pub files: usize,
    /// All benchmarks, in the order of the files and within them.
    pub benchmarks: Vec<Benchmark>,
    /// Files that could not be read completely.
    pub unread: Vec<Unread>,
    /// Human-readable notes on whole files.
    pub notes: Vec<String>,
}

/// One benchmark. Numbers over starts cover those that settle, or all if none does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    /// Its name.
    pub name: String,
    /// The file it comes from.
    pub file: String,
    /// The format of that file.
    pub format: Format,
    /// The meaning of one time.
    pub measures: Measures,
    /// The class of most starts.
    pub class: Class,
    /// The agreement of the starts on this class.
    pub consistency: Consistency,
    /// The number of starts with a steady state.
    pub settled: usize,
    /// The individual starts, in order.
    pub starts: Vec<Start>,
    /// The first iteration.
    pub first: Estimate,
    /// The steady iteration; `None` if no start settles.
    pub steady: Option<Estimate>,
    /// first ÷ steady.
    pub ratio: Option<Estimate>,
    /// The mean cost of warm-up beyond steady.
    pub excess: Option<Estimate>,
    /// The number of iterations of each start to discard so that the rest is steady; `None`
    /// without a steady state.
    pub discard: Option<usize>,
    /// Human-readable notes from the file, and doubts.
    pub notes: Vec<String>,
}

/// One start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// Its class.
    pub class: Class,
    /// Its number of iterations.
    pub iterations: usize,
    /// The index of the first steady iteration, which is the number of iterations before
    /// it.
    pub steady_start: Option<usize>,
    /// The first iteration.
    pub first: f64,
    /// The median iteration from `steady_start` on, always without iteration 0.
    pub steady: Option<f64>,
    /// The cost of the iterations before `steady_start` beyond steady.
    pub excess: Option<f64>,
}

/// A file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The file.
    pub file: String,
    /// The reason, with the position.
    pub why: String,
}

impl ClassifyReport {
    /// The number of benchmarks in this class.
    pub fn count(&self, class: Class) -> usize {
        self.benchmarks.iter().filter(|b| b.class == class).count()
    }

    /// The number of iterations of each start to discard so that the rest is steady in
    /// every benchmark that has a steady state.
    pub fn discard(&self) -> Option<usize> {
        self.benchmarks.iter().filter_map(|b| b.discard).max()
    }
}

impl Benchmark {
    /// The minimum and maximum number of iterations in a start.
    pub fn iterations(&self) -> (usize, usize) {
        let counts = || self.starts.iter().map(|start| start.iterations);
        (counts().min().unwrap_or(0), counts().max().unwrap_or(0))
    }
}

// The times of one benchmark, and the format they came in.

/// The times of one benchmark, in seconds, each finite and above zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// Its name.
    pub name: String,
    /// The meaning of one time.
    pub measures: Measures,
    /// The iterations of each start; at least one start, none of them empty.
    pub starts: Vec<Vec<f64>>,
    /// Human-readable notes from the file.
    pub notes: Vec<String>,
}

/// The meaning of one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measures {
    /// An iteration within a start.
    Iterations,
    /// A whole start: the tool starts a process for each time. There is one series, over
    /// the starts, which shows how the machine warms up, not the program.
    Starts,
}

impl Measures {
    /// The plural noun.
    pub fn plural(self) -> &'static str {
        match self {
            Measures::Iterations => "iterations",
            Measures::Starts => "starts",
        }
    }

    /// The singular noun.
    pub fn singular(self) -> &'static str {
        match self {
            Measures::Iterations => "iteration",
            Measures::Starts => "start",
        }
    }
}

/// The format of the times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Format {
    /// warmup_stats CSV.
    #[serde(rename = "warmup_stats")]
    WarmupStats,
    /// Krun results.
    #[serde(rename = "krun")]
    Krun,
    /// `hyperfine --export-json`.
    #[serde(rename = "hyperfine")]
    Hyperfine,
    /// pyperf JSON.
    #[serde(rename = "pyperf")]
    Pyperf,
    /// JMH JSON (`-rf json`).
    #[serde(rename = "jmh")]
    Jmh,
    /// A list of numbers, or a list of such lists, as JSON.
    #[serde(rename = "json")]
    Json,
    /// One number per line.
    #[serde(rename = "lines")]
    Lines,
    /// `preheat run --json`.
    #[serde(rename = "preheat.run")]
    Run,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 8] = [
        Format::WarmupStats,
        Format::Krun,
        Format::Hyperfine,
        Format::Pyperf,
        Format::Jmh,
        Format::Json,
        Format::Lines,
        Format::Run,
    ];

    /// The human-readable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::WarmupStats => "warmup_stats CSV",
            Format::Krun => "Krun results",
            Format::Hyperfine => "hyperfine JSON",
            Format::Pyperf => "pyperf JSON",
            Format::Jmh => "JMH JSON",
            Format::Json => "JSON list",
            Format::Lines => "one number per line",
            Format::Run => "preheat run JSON",
        }
    }

    /// Returns true if the format defines the unit of the times.
    pub fn has_unit(self) -> bool {
        !matches!(self, Format::WarmupStats | Format::Json | Format::Lines)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
