//! The quantities of a run: both levels, the difference and its interval.

use preheat_model::compare::CompareReport;

use super::super::order::{by_sides, only_in, reasons};
use super::super::words::{correction, sentence, starred};
use super::table::{Name, Row, Table};
use crate::terminal::{Screen, Style, clean};

/// Shows the table, then quantities of one side and the reasons why others are inconclusive.
pub(super) fn show(screen: &mut Screen, report: &CompareReport) {
    if report.quantities.is_empty() {
        return;
    }
    screen.blank();
    let (both, one_side) = by_sides(report);
    let rows = both.iter();
    let rows = rows.map(|quantity| Row::new(Name::Quantity(clean(&quantity.name)), quantity));
    if !both.is_empty() {
        Table::new(rows.collect(), screen.terminal.width).show(screen, "");
    }
    let starred = both.iter().filter_map(|quantity| starred(quantity));
    let stars = correction(starred, report.tests());
    let only = only_in(&one_side);
    let only = only.iter().map(|text| sentence(text));
    for text in only.chain(stars).chain(reasons(&both)) {
        screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Dim, &text);
    }
}
