//! The quantities of a run: both levels, the difference and its interval.

use preheat_model::compare::{CompareReport, Quantity};

use super::super::order::reasons;
use super::super::words::{correction, starred};
use super::table::{Row, Table};
use crate::terminal::{Screen, Style, clean};

/// Shows the table, then the reasons why quantities are inconclusive.
pub(super) fn show(screen: &mut Screen, report: &CompareReport) {
    if report.quantities.is_empty() {
        return;
    }
    screen.blank();
    let rows = report.quantities.iter();
    let rows = rows.map(|quantity| Row::new(clean(&quantity.name), quantity));
    Table::new(rows.collect(), screen.terminal.width).show(screen, "");
    let all: Vec<&Quantity> = report.quantities.iter().collect();
    let starred = report.quantities.iter().filter_map(starred);
    let stars = correction(starred, report.tests());
    for why in stars.into_iter().chain(reasons(&all)) {
        screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Dim, &why);
    }
}
