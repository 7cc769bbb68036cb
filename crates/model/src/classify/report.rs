//! The document `preheat.classify/2`, which every renderer shows. Times are in seconds.
//!
//! Documented in docs/classify-json.md and docs/schema/preheat.classify-2.schema.json;
//! change all three together.

use serde::{Deserialize, Serialize};

use super::{Format, Measures};
use crate::stats::{Class, Consistency, Interval};

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
    pub first: Interval,
    /// The steady iteration; `None` if no start settles.
    pub steady: Option<Interval>,
    /// first ÷ steady.
    pub ratio: Option<Interval>,
    /// The mean cost of warm-up beyond steady.
    pub excess: Option<Interval>,
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
