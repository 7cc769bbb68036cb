//! Two results of the lab: what changed first, then what is inconclusive; the same is
//! folded away.

use preheat_analyze::compare::Quantity;

use super::super::ComparePage;
use super::super::rows::table;
use crate::compare::order::{series, sorted};
use crate::compare::words::{change, margin, value};
use crate::html::figure::{Table, folded};
use crate::units::ABSENT;

/// So many of each are drawn, and so many of the same are listed.
const DRAWN: usize = 200;
const LISTED: usize = 600;

/// The sections.
pub(in crate::compare::html) fn add(page: &mut ComparePage) {
    let report = page.report;
    let sorted = sorted(report);
    let lead = format!(
        "A dot is the change, the line through it its 95 % interval, the band ± {}: the margin of \
         a regression. What fails comes first, then the largest change.",
        margin(report.max_regression)
    );
    let drawn = |quantities: &[&Quantity]| {
        let most = quantities.len().min(DRAWN);
        let mut html = table(&quantities[..most], report.max_regression, name);
        if quantities.len() > most {
            html.push_str(&format!(
                "<p class=\"note\">{} smaller ones are not shown; the JSON document has all.</p>",
                quantities.len() - most
            ));
        }
        html
    };
    let changed = match sorted.changed.is_empty() {
        true => "<p>Nothing that both sides measured surely changed.</p>".to_owned(),
        false => drawn(&sorted.changed),
    };
    page.section("changed", "What changed", &lead, &changed);
    page.section(
        "inconclusive",
        "Inconclusive",
        "The intervals are too wide to call these the same. More starts make them narrower.",
        &drawn(&sorted.inconclusive),
    );
    let text = match sorted.same.len() {
        1 => "1 quantity is the same".to_owned(),
        same => format!("{same} quantities are the same"),
    };
    let list = match sorted.same.is_empty() {
        true => String::new(),
        false => same(&sorted.same),
    };
    page.section("same", "The same", "", &folded(&text, &list));
}

fn same(quantities: &[&Quantity]) -> String {
    let mut data = Table::new(&["series", "on", "quantity", "base", "new", "change"]);
    data.words = vec![1, 2];
    for quantity in quantities.iter().take(LISTED) {
        let level = |level: &Option<preheat_analyze::compare::Level>| {
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

/// `train · mlp, iteration: first`, and on what.
fn name(quantity: &Quantity) -> (String, String) {
    match &quantity.of {
        None => (quantity.name.clone(), String::new()),
        Some(of) => (
            format!("{}: {}", series(of), quantity.name),
            format!("on {}", of.subject),
        ),
    }
}
