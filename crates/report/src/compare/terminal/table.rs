//! The table of quantities: name, base, new, change, relative change, verdict.
//!
//! Long names of timed regions get a separate line above their numbers on a narrow terminal:
//! both ends matter. Names of series are cut, since they start with the quantity.

use preheat_model::compare::{Level, QuantityChange, Unit, Verdict};

use super::super::order::series;
use super::super::{change, changed, interval, percents, signed, value, verdict};
use super::style_of;
use crate::terminal::table::{Column, Overflow, Table, WHOLE, left, right};
use crate::terminal::{Style, clean, pad, width};
use crate::units::ABSENT;

/// The length to which names are cut before the relative change is dropped.
const USUAL_NAME: usize = 20;
/// The length to which names are cut before both levels are dropped.
const SHORT_NAME: usize = 16;

/// The table of quantities of a run.
pub(super) fn of_quantities(quantities: &[&QuantityChange]) -> Table {
    let names = quantities.iter().map(|quantity| clean(&quantity.name));
    let mut table = Table::new(&columns());
    table.overflow(Overflow::Above { usual: USUAL_NAME });
    add_rows(&mut table, quantities, names, verdict);
    table
}

/// The table of quantities of lab series, `first   train · mlp, iteration`, with the series
/// aligned; without verdicts if the title states them.
pub(super) fn of_series(
    title: String,
    quantities: &[&QuantityChange],
    names: usize,
    with_verdict: bool,
) -> Table {
    let name = |quantity: &&QuantityChange| {
        let series = quantity.of.as_ref().map_or_else(String::new, series);
        format!("{}  {}", pad(&clean(&quantity.name), names), clean(&series))
    };
    let mut table = Table::new(&columns());
    table.heading(title);
    table.overflow(Overflow::CutAfter(names + 2));
    let verdict = |quantity: &QuantityChange| match with_verdict {
        true => verdict(quantity),
        false => String::new(),
    };
    add_rows(&mut table, quantities, quantities.iter().map(name), verdict);
    table
}

fn columns() -> [Column; 6] {
    [
        left(""),
        right("base").drop_below(SHORT_NAME),
        right("new").drop_below(SHORT_NAME),
        right("change").drop_below(WHOLE),
        left("relative (95 %)").drop_below(USUAL_NAME).ragged(),
        left(""),
    ]
}

fn add_rows(
    table: &mut Table,
    quantities: &[&QuantityChange],
    names: impl Iterator<Item = String>,
    verdict: impl Fn(&QuantityChange) -> String,
) {
    let base = levels(quantities, |quantity| &quantity.base);
    let new = levels(quantities, |quantity| &quantity.new);
    for (((quantity, name), base), new) in quantities.iter().zip(names).zip(base).zip(new) {
        let of_verdict = style_of(quantity.verdict);
        let style = match quantity.verdict {
            Verdict::Same => Style::Dim,
            _ => Style::Plain,
        };
        let of_change = match changed(quantity.verdict) {
            true => of_verdict,
            false => style,
        };
        let mark = if quantity.regressed { "✗" } else { "" };
        let cells = vec![
            (style, name),
            (style, base),
            (style, new),
            (of_change, difference(quantity)),
            (style, relative(quantity)),
            (of_verdict, verdict(quantity)),
        ];
        table.marked((of_verdict, mark), cells);
    }
}

/// The change of a quantity that is not the same.
fn difference(quantity: &QuantityChange) -> String {
    match (quantity.verdict, quantity.difference) {
        (Verdict::Same, _) | (_, None) => String::new(),
        (_, Some(by)) => signed(by.value, quantity.unit),
    }
}

/// The relative change with its interval; the interval alone if there is no clear change,
/// which is in the previous column.
fn relative(quantity: &QuantityChange) -> String {
    let within = match (&quantity.relative, &quantity.difference) {
        (Some(part), _) => percents(part).map(|ends| format!("{ends} %")),
        (None, by) => by.and_then(|by| interval(&by, quantity.unit)),
    };
    match (quantity.verdict, within) {
        (Verdict::Same | Verdict::Inconclusive, Some(within)) => within,
        _ => change(quantity),
    }
}

/// Formats the levels of one side, padded on the right so that their units align.
fn levels(
    quantities: &[&QuantityChange],
    side: impl Fn(&QuantityChange) -> &Option<Level>,
) -> Vec<String> {
    let levels = quantities.iter();
    let levels = levels.map(|quantity| level(side(quantity), quantity.unit));
    let levels: Vec<(String, usize)> = levels.collect();
    let longest = levels.iter().map(|(_, unit)| *unit).max().unwrap_or(0);
    let aligned = levels.into_iter();
    let aligned = aligned.map(|(text, unit)| text + &" ".repeat(longest - unit));
    aligned.collect()
}

/// A level, and the width of its unit with the space before it.
fn level(level: &Option<Level>, unit: Unit) -> (String, usize) {
    let Some(level) = level else {
        return (ABSENT.to_owned(), 0);
    };
    let text = value(level.mean.value, unit);
    let unit = match unit {
        _ if text == ABSENT => 0,
        Unit::Seconds | Unit::Bytes => 1 + width(unit.shown_in(level.mean.value).1),
        Unit::Ratio | Unit::Iterations | Unit::Count | Unit::ExitCode => 0,
    };
    (text, unit)
}
