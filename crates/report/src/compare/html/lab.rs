//! Two lab results: changed quantities, then inconclusive ones; unchanged quantities are
//! folded away.

use maud::{Markup, html};
use preheat_model::compare::{Level, QuantityChange};

use super::ComparePage;
use super::quantities::table;
use crate::compare::order::{series, sorted};
use crate::compare::words::{change, margin, value};
use crate::html::figure::{Table, folded};
use crate::html::page::note;
use crate::units::ABSENT;

/// The maximum number of changed and of inconclusive quantities.
const DRAWN: usize = 200;
/// The maximum number of unchanged quantities.
const LISTED: usize = 600;

/// Adds the sections.
pub(super) fn add(page: &mut ComparePage) {
    let report = page.report;
    let sorted = sorted(report);
    let lead = format!(
        "Each dot is a change, the line through it its 95 % interval, and the band ± {} the margin \
         of a regression. Regressions come first, then the largest changes.",
        margin(report.max_regression)
    );
    let drawn = |quantities: &[&QuantityChange]| {
        let most = quantities.len().min(DRAWN);
        let left = match quantities.len() - most {
            0 => String::new(),
            left => {
                format!("{left} smaller ones are not shown; the JSON document has all of them.")
            }
        };
        html! { (table(report, &quantities[..most], name)) (note(&left)) }
    };
    let changed = match sorted.changed.is_empty() {
        true => html! { p { "No quantity that both sides measured changed significantly." } },
        false => drawn(&sorted.changed),
    };
    page.section("changed", "Changed", &lead, changed);
    page.section(
        "inconclusive",
        "Inconclusive",
        "The intervals are too wide to tell whether these changed. More starts make them narrower.",
        drawn(&sorted.inconclusive),
    );
    let text = match sorted.same.len() {
        1 => "1 quantity is the same".to_owned(),
        same => format!("{same} quantities are the same"),
    };
    let list = match sorted.same.is_empty() {
        true => Markup::default(),
        false => same(&sorted.same),
    };
    page.section("same", "Unchanged", "", folded(&text, &list));
}

fn same(quantities: &[&QuantityChange]) -> Markup {
    let mut data = Table::new(&["series", "on", "quantity", "base", "new", "change"]);
    data.words = vec![1, 2];
    for quantity in quantities.iter().take(LISTED) {
        let level = |level: &Option<Level>| {
            let level = level.as_ref();
            level.map_or(ABSENT.to_owned(), |level| {
                value(level.mean.value, quantity.unit)
            })
        };
        let of = quantity.of.as_ref();
        data.rows.push(vec![
            of.map_or(String::new(), series),
            of.map_or(String::new(), |of| of.subject.clone()),
            quantity.name.clone(),
            level(&quantity.base),
            level(&quantity.new),
            change(quantity),
        ]);
    }
    data.html()
}

/// The name, `train · mlp, iteration: first`, and the subject.
fn name(quantity: &QuantityChange) -> (String, String) {
    match &quantity.of {
        None => (quantity.name.clone(), String::new()),
        Some(of) => (
            format!("{}: {}", series(of), quantity.name),
            format!("on {}", of.subject),
        ),
    }
}
