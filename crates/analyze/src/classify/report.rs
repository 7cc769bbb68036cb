//! The document `preheat.classify/1`: what every renderer shows. Seconds.
//!
//! Its description for people is docs/classify-json.md, for programs
//! docs/schema/preheat.classify-1.schema.json; the three change together.

use serde::{Deserialize, Serialize};

use super::{Format, Measures};
use crate::stats::{Class, Consistency, Interval};

/// The schema that this version writes.
pub const CLASSIFY_SCHEMA: &str = "preheat.classify/1";

/// What the files show. The same files, seed and version always give the same document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassifyReport {
    /// Always [`CLASSIFY_SCHEMA`].
    pub schema: String,
    /// The version of preheat that judged.
    pub preheat: String,
    /// Seeds all resampling.
    pub seed: u64,
    /// How many files were named.
    pub files: usize,
    /// Every benchmark, in the order of the files and within them.
    pub benchmarks: Vec<Benchmark>,
    /// Files that could not be read to their end.
    pub unread: Vec<Unread>,
    /// Sentences for people: what is worth knowing of a file as a whole.
    pub notes: Vec<String>,
}

/// One benchmark. Numbers over starts are of those that settle; of all, if none does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    /// Its name.
    pub name: String,
    /// The file that it is from.
    pub file: String,
    /// The form of that file.
    pub format: Format,
    /// What one time is.
    pub measures: Measures,
    /// How most starts behave.
    pub class: Class,
    /// Whether all starts behave so.
    pub consistency: Consistency,
    /// How many starts have a steady state.
    pub settled: usize,
    /// Each start by itself, in order.
    pub starts: Vec<Start>,
    /// The first iteration.
    pub first: Interval,
    /// The steady iteration; none if no start settles.
    pub steady: Option<Interval>,
    /// first ÷ steady.
    pub ratio: Option<Interval>,
    /// What warm-up cost over steady: the mean over starts.
    pub excess: Option<Interval>,
    /// How many iterations of each start to discard, so that what is left is steady; none
    /// if there is no steady state.
    pub discard: Option<usize>,
    /// Sentences for people: what the file says of itself, what is doubtful.
    pub notes: Vec<String>,
}

/// One start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// How it behaves.
    pub class: Class,
    /// How many iterations it has.
    pub iterations: usize,
    /// The first steady iteration, counted from 0: how many come before it.
    pub steady_start: Option<usize>,
    /// The first iteration.
    pub first: f64,
    /// The median iteration from `steady_start` on, iteration 0 never among them.
    pub steady: Option<f64>,
    /// What the iterations before `steady_start` cost over steady.
    pub excess: Option<f64>,
}

/// What could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The file.
    pub file: String,
    /// Why, with the place in it.
    pub why: String,
}

impl ClassifyReport {
    /// How many benchmarks have this class.
    pub fn count(&self, class: Class) -> usize {
        self.benchmarks.iter().filter(|b| b.class == class).count()
    }

    /// How many iterations of each start to discard, so that what is left is steady in every
    /// benchmark that has a steady state.
    pub fn discard(&self) -> Option<usize> {
        self.benchmarks.iter().filter_map(|b| b.discard).max()
    }
}

impl Benchmark {
    /// The fewest and the most iterations that a start has.
    pub fn iterations(&self) -> (usize, usize) {
        let counts = || self.starts.iter().map(|start| start.iterations);
        (counts().min().unwrap_or(0), counts().max().unwrap_or(0))
    }
}
