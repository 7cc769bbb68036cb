//! The times of one benchmark, and the format they came in.

use std::fmt;

use serde::{Deserialize, Serialize};

pub use crate::lab::MOST_STARTS;

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
