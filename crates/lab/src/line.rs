//! What a start tells its parent: one JSON object a line, each line complete as
//! soon as it is written.

use preheat_analyze::lab::{Sample, Skipped};
use serde::{Deserialize, Serialize};

/// One line of a start's output file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// A series was measured.
    Sample(Sample),
    /// Something could not be measured.
    Skipped(Skipped),
    /// The start cannot go on, for a reason that it knows.
    Failed {
        /// What happened and what to try.
        why: String,
    },
    /// What was measured is not what was asked for, and none of it counts.
    Void {
        /// What it was instead, and what to try.
        why: String,
    },
    /// All was measured: a start without this line ended too early.
    End,
}

/// The lines of a start's output; a last line that was cut off is left out.
pub fn parse(text: &str) -> Vec<Line> {
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use preheat_analyze::lab::SampleKind;

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
