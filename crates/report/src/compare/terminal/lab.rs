//! Two lab results: the changed and the inconclusive quantities, and the number of the others.

use preheat_model::compare::{CompareReport, QuantityChange};

use super::super::order::{series, sorted};
use super::table::{Name, Row, Table};
use crate::terminal::{Screen, Style, clean, width};

/// The maximum number of changed quantities to show.
const CHANGED: usize = 24;
/// The maximum number of inconclusive quantities to show.
const OPEN: usize = 6;

/// Shows the tables, then the number of unchanged quantities.
pub(super) fn show(screen: &mut Screen, report: &CompareReport) {
    let sorted = sorted(report);
    list(screen, "Changed", &sorted.changed, CHANGED, false);
    list(screen, "Inconclusive", &sorted.inconclusive, OPEN, true);
    let text = match sorted.same.len() {
        0 => return,
        1 => "1 other quantity is the same".to_owned(),
        same => format!("{same} other quantities are the same"),
    };
    screen.blank();
    screen.paragraph(&[], 0, Style::Dim, &text);
}

/// Shows one table per subject, the subject with the largest change first.
fn list(
    screen: &mut Screen,
    title: &str,
    quantities: &[&QuantityChange],
    most: usize,
    quiet: bool,
) {
    let shown = &quantities[..quantities.len().min(most)];
    let mut subjects: Vec<&str> = Vec::new();
    for quantity in shown {
        if !subjects.contains(&subject(quantity)) {
            subjects.push(subject(quantity));
        }
    }
    let names = shown.iter().map(|quantity| width(&quantity.name));
    let names = names.max().unwrap_or(0);
    for of in subjects {
        let rows = shown.iter().filter(|quantity| subject(quantity) == of);
        let rows = rows.map(|quantity| {
            let row = Row::new(name(quantity, names), quantity);
            if quiet { row.without_verdict() } else { row }
        });
        screen.blank();
        let table = Table::new(rows.collect(), screen.terminal.width);
        table.show(screen, &format!("{title} · {}", clean(of)));
    }
    if quantities.len() > most {
        let text = format!("  and {} more", quantities.len() - most);
        screen.line(vec![(Style::Dim, text)]);
    }
}

fn subject(quantity: &QuantityChange) -> &str {
    quantity.of.as_ref().map_or("", |of| &of.subject)
}

/// The name of a row: `first   train · mlp, iteration`, with the series aligned.
fn name(quantity: &QuantityChange, names: usize) -> Name {
    let series = quantity.of.as_ref().map_or(String::new(), series);
    Name::Series(format!("{:<names$}", clean(&quantity.name)), clean(&series))
}
