//! The output of a start: one JSON object per line, each complete once written.

use preheat_model::lab::{Sample, Skipped};
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
