//! What is doubtful, and what was decided.

use preheat_analyze::compare::CompareReport;

use super::super::gate::{Decision, gate};
use super::super::words::sentence;
use crate::terminal::{Screen, Style};

/// The notes, then the decision.
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
    // Where there is no room at all, the last line is still not empty.
    let indent = 2.min(screen.terminal.width / 5);
    screen.paragraph(&[(style, sign)], indent, Style::Plain, &text);
}
