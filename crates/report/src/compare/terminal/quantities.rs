//! The quantities of a run: what each was, what it is, the difference, how sure that is.

use preheat_analyze::compare::{CompareReport, Quantity};

use super::super::order::reasons;
use super::table::{Row, Table};
use crate::terminal::{Screen, Style, clean};

/// The table, and why some quantities are inconclusive.
pub(super) fn show(screen: &mut Screen, report: &CompareReport) {
    if report.quantities.is_empty() {
        return;
    }
    screen.blank();
    let rows = report.quantities.iter();
    let rows = rows.map(|quantity| Row::new(clean(&quantity.name), quantity));
    Table::new(rows.collect(), screen.terminal.width).show(screen, "");
    let all: Vec<&Quantity> = report.quantities.iter().collect();
    for why in reasons(&all) {
        screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Dim, &why);
    }
}
