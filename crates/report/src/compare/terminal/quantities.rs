//! The quantities of a run: what each was, what it is, the difference, how sure that is.

use preheat_analyze::compare::{CompareReport, Verdict};

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
    whys(screen, report);
}

/// Why some are inconclusive: each reason once.
fn whys(screen: &mut Screen, report: &CompareReport) {
    let open: Vec<_> = report
        .quantities
        .iter()
        .filter(|quantity| quantity.verdict == Verdict::Inconclusive)
        .collect();
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for quantity in open.iter().filter(|quantity| !quantity.why.is_empty()) {
        match reasons.iter_mut().find(|(why, _)| *why == quantity.why) {
            Some((_, names)) => names.push(&quantity.name),
            None => reasons.push((&quantity.why, vec![&quantity.name])),
        }
    }
    for (why, names) in reasons {
        // Where it holds for all that are, their names say nothing.
        let text = match names.len() == open.len() {
            true => format!("inconclusive: {why}"),
            false => format!("{} inconclusive: {why}", names.join(", ")),
        };
        screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Dim, &text);
    }
}
