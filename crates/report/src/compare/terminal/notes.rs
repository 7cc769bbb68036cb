//! The notes and the decision.

use preheat_model::compare::CompareReport;

use super::super::gate::{Decision, gate};
use super::super::words::sentence;
use crate::terminal::{Screen, Style};

/// Shows the notes, then the decision.
pub(super) fn show(screen: &mut Screen, report: &CompareReport) {
    if !report.notes.is_empty() {
        screen.title("Notes");
        for note in &report.notes {
            screen.paragraph(&[(Style::Dim, "  • ")], 4, Style::Plain, &sentence(note));
        }
    }
    screen.blank();
    let (decision, text) = gate(report);
    let (sign, style) = match decision {
        Decision::Regressed => ("✗ ", Style::Red),
        Decision::Inconclusive => ("? ", Style::Yellow),
        Decision::Passed => ("✓ ", Style::Green),
    };
    // On a very narrow terminal, indent less so that the last line is not empty.
    let indent = 2.min(screen.terminal.width / 5);
    screen.paragraph(&[(style, sign)], indent, Style::Plain, &text);
}
