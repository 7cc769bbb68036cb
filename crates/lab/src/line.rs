//! The input and the output of a start: a job, and one JSON object per line, each complete
//! once written.

use std::path::PathBuf;

use preheat_model::lab::{ExperimentId, Sample, Skipped};
use serde::{Deserialize, Serialize};

/// One line of a start's output file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// A measured series.
    Sample(Sample),
    /// A quantity that could not be measured.
    Skipped(Skipped),
    /// The start failed for a known reason.
    Failed {
        /// The reason and a suggestion.
        why: String,
    },
    /// The start measured something else than requested, and its samples are discarded.
    Void {
        /// A description of what it measured instead, with a suggestion.
        why: String,
    },
    /// The start is complete; without this line it ended early.
    End,
}

/// Parses a start's output; a truncated last line is ignored.
pub fn parse(text: &str) -> Vec<Line> {
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The description of one start, passed as JSON in its only argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The experiment.
    pub experiment: ExperimentId,
    /// The variant; empty if there is only one.
    pub variant: String,
    /// `cpu`, `cuda` or `opencl`.
    pub device: String,
    /// If true, run fewer iterations and smaller sweeps.
    pub quick: bool,
    /// The cache directory for compiled kernels; `None` to compile every time.
    pub cache: Option<PathBuf>,
    /// The output file.
    pub output: PathBuf,
}

#[cfg(test)]
mod tests {
    use preheat_model::lab::SampleKind;

    use super::*;

    #[test]
    fn a_cut_off_line_loses_nothing_before_it() {
        let whole = Line::Sample(Sample {
            name: "launch".into(),
            kind: SampleKind::Iterations,
            size: None,
            values: vec![0.5, 0.25],
        });
        let text = serde_json::to_string(&whole).expect("it serializes");
        let cut = &text[..text.len() / 2];
        assert_eq!(parse(&format!("{text}\n{cut}")), [whole]);
    }
}
