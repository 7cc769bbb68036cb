//! What was read: the times of one benchmark, and in which form they came.

use std::fmt;

use serde::{Deserialize, Serialize};

pub use crate::lab::MOST_STARTS;

/// The times of one benchmark, in seconds, each finite and above zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// Its name.
    pub name: String,
    /// What one time is.
    pub measures: Measures,
    /// Start by start, iteration by iteration; at least one start, none of them empty.
    pub starts: Vec<Vec<f64>>,
    /// Sentences for people: what the file says of itself and a reader should know.
    pub notes: Vec<String>,
}

/// What one time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measures {
    /// An iteration within a start.
    Iterations,
    /// A whole start: the tool starts a process for each time. There is one series, over the
    /// starts, and what it shows is how the machine warms up, not the program.
    Starts,
}

impl Measures {
    /// Several of what is measured.
    pub fn plural(self) -> &'static str {
        match self {
            Measures::Iterations => "iterations",
            Measures::Starts => "starts",
        }
    }

    /// One of what is measured.
    pub fn singular(self) -> &'static str {
        match self {
            Measures::Iterations => "iteration",
            Measures::Starts => "start",
        }
    }
}

/// In which form the times came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Format {
    /// The CSV of warmup_stats.
    #[serde(rename = "warmup_stats")]
    WarmupStats,
    /// Results of Krun.
    #[serde(rename = "krun")]
    Krun,
    /// `hyperfine --export-json`.
    #[serde(rename = "hyperfine")]
    Hyperfine,
    /// pyperf's JSON.
    #[serde(rename = "pyperf")]
    Pyperf,
    /// `-rf json` of JMH.
    #[serde(rename = "jmh")]
    Jmh,
    /// A list of numbers, or a list of such lists, as JSON.
    #[serde(rename = "json")]
    Json,
    /// One number a line.
    #[serde(rename = "lines")]
    Lines,
    /// `preheat run --json`.
    #[serde(rename = "preheat.run")]
    Run,
}

impl Format {
    /// Every form.
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

    /// What people call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::WarmupStats => "warmup_stats CSV",
            Format::Krun => "Krun results",
            Format::Hyperfine => "hyperfine JSON",
            Format::Pyperf => "pyperf JSON",
            Format::Jmh => "JMH JSON",
            Format::Json => "JSON list",
            Format::Lines => "one number a line",
            Format::Run => "preheat run JSON",
        }
    }

    /// Whether the form itself says in which unit the times are.
    pub fn has_unit(self) -> bool {
        !matches!(self, Format::WarmupStats | Format::Json | Format::Lines)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
