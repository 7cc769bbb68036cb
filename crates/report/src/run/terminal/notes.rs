//! The notes, and the machine.

use preheat_model::run::RunReport;

use crate::terminal::{Screen, Style, joined};
use crate::units::bytes;

/// The maximum length of an environment variable to show, in bytes.
const SHORT: usize = 40;

/// Shows the notes, then the machine.
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
    // The page and the document have the longer ones.
    let short = report
        .environment
        .iter()
        .filter(|(_, value)| value.len() <= SHORT);
    facts.extend(short.map(|(name, value)| format!("{name}={value}")));
    screen.blank();
    screen.paragraph(&[], 0, Style::Dim, &joined(&facts));
}
