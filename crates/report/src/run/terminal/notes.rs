//! What is missing or doubtful, and where all this was measured.

use preheat_model::run::RunReport;

use crate::terminal::{Screen, Style, joined};
use crate::units::bytes;

/// A value of the environment that can stand in a line, in bytes.
const SHORT: usize = 40;

/// The notes, then the machine.
pub(super) fn show(screen: &mut Screen, report: &RunReport) {
    if !report.notes.is_empty() {
        screen.title("Notes");
        for note in &report.notes {
            screen.paragraph(&[(Style::Dim, "  • ")], 4, Style::Plain, note);
        }
    }
    let machine = &report.machine;
    let mut facts = vec![
        machine.cpu.clone(),
        format!("{} cores", machine.cores),
        bytes(machine.memory),
        machine.os.clone(),
        format!("kernel {}", machine.kernel),
        format!("preheat {}", report.preheat),
        report.created.clone(),
    ];
    // The page and the document have those that are too long for a line.
    let short = report
        .environment
        .iter()
        .filter(|(_, value)| value.len() <= SHORT);
    facts.extend(short.map(|(name, value)| format!("{name}={value}")));
    screen.blank();
    screen.paragraph(&[], 0, Style::Dim, &joined(&facts));
}
