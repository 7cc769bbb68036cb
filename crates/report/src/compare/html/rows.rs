//! The table of quantities: base, new, the change, and its plot around zero.

use preheat_model::compare::{CompareReport, Level, QuantityChange};

use super::field::Field;
use super::{class, sign};
use crate::compare::order::reasons;
use crate::compare::words::{
    change, correction, interval, sentence, signed, starred, value, verdict,
};
use crate::html::escape::escape;
use crate::units::{ABSENT, tie};

/// Renders the table of quantities of a report. `name` returns the name of a row and a
/// subtitle, which may be empty.
pub(super) fn table(
    report: &CompareReport,
    quantities: &[&QuantityChange],
    name: impl Fn(&QuantityChange) -> (String, String),
) -> String {
    if quantities.is_empty() {
        return String::new();
    }
    let parts = quantities.iter().filter_map(|q| q.relative.as_ref());
    let field = Field::new(parts, report.max_regression);
    let rows: String = quantities
        .iter()
        .map(|quantity| row(quantity, &field, name(quantity)))
        .collect();
    let starred = quantities.iter().filter_map(|of| starred(of));
    let whys: String = correction(starred, report.tests())
        .into_iter()
        .chain(reasons(quantities))
        .map(|why| format!("<p class=\"note\">{}</p>", escape(&tie(&sentence(&why)))))
        .collect();
    format!(
        "<table class=\"quantities\"><thead><tr><th scope=\"col\">quantity</th>\
         <th scope=\"col\" class=\"n\">base</th><th scope=\"col\" class=\"n\">new</th>\
         <th scope=\"col\" class=\"n\">change</th><th scope=\"col\">{}</th>\
         <th scope=\"col\">relative, 95&nbsp;% interval</th><th scope=\"col\">verdict</th></tr></thead>\
         <tbody>{rows}</tbody></table>{whys}",
        field.axis()
    )
}

fn row(quantity: &QuantityChange, field: &Field, (name, below): (String, String)) -> String {
    let level = |level: &Option<Level>| match level {
        Some(level) => value(level.mean.value, quantity.unit),
        None => ABSENT.to_owned(),
    };
    let by = quantity
        .difference
        .map_or(String::new(), |by| signed(by.value, quantity.unit));
    let within = quantity
        .difference
        .and_then(|by| interval(&by, quantity.unit));
    let tooltip = match within {
        Some(within) => format!("{name}: {by}, 95 % interval {within}"),
        None => format!("{name}: {by}"),
    };
    let below = match below.as_str() {
        "" => String::new(),
        text => format!("<small>{}</small>", escape(text)),
    };
    let regressed = match quantity.regressed {
        true => "<small class=\"fails\">regressed</small>",
        false => "",
    };
    let cell = |label: &str, text: &str| {
        format!(
            "<td class=\"n\" data-label=\"{label}\">{}</td>",
            escape(&tie(text))
        )
    };
    format!(
        "<tr><th scope=\"row\">{}{below}</th>{}{}{}<td class=\"drawn\">{}</td>\
         <td class=\"part\">{}</td><td class=\"verdict\"><span class=\"badge {}\"><span>{}</span> {}</span>{regressed}</td></tr>\n",
        escape(&name),
        cell("base", &level(&quantity.base)),
        cell("new", &level(&quantity.new)),
        cell("change", &by),
        field.draw(quantity.relative.as_ref(), quantity.verdict, &tooltip),
        escape(&tie(&change(quantity))),
        class(quantity.verdict),
        sign(quantity.verdict),
        verdict(quantity),
    )
}
