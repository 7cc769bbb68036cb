//! The quantities: base, new, the change, and its plot around zero: a dot for the difference, a
//! whisker for its interval, and a band for the margin of a regression.
//!
//! Small differences need as much space as large ones, so the scale is linear within the
//! margin and logarithmic beyond it (the inverse hyperbolic sine).

use maud::{Markup, html};
use preheat_model::compare::{CompareReport, Level, QuantityChange, Verdict};
use preheat_model::stats::Estimate;

use super::{ComparePage, class, sign};
use crate::compare::order::{by_sides, only_in, reasons, series, sorted};
use crate::compare::{
    change, correction, ends, interval, margin, sentence, signed, starred, value, verdict,
};
use crate::html::figure::{Table, folded};
use crate::html::page::note;
use crate::units::{ABSENT, tie};

/// Adds the section.
pub(super) fn add(page: &mut ComparePage) {
    let report = page.report;
    let (both, one_side) = by_sides(report);
    let table = table(report, &both, |quantity| {
        let gated = match quantity.gated {
            true => String::new(),
            false => "not gated".to_owned(),
        };
        (quantity.name.clone(), gated)
    });
    let content = html! {
        (table)
        @for text in only_in(&one_side) { (note(&tie(&sentence(&text)))) }
    };
    let lead = format!(
        "Each dot is a change, the line through it its 95 % interval, and the band ± {} the margin \
         of a regression. Decreases are to the left of zero, increases to the right. The scale is \
         linear near zero and logarithmic further out.",
        margin(report.max_regression)
    );
    page.section("quantities", "Quantities", &lead, content);
}

/// Renders the table of quantities of a report. `name` returns the name of a row and a
/// subtitle, which may be empty.
pub(super) fn table(
    report: &CompareReport,
    quantities: &[&QuantityChange],
    name: impl Fn(&QuantityChange) -> (String, String),
) -> Markup {
    if quantities.is_empty() {
        return Markup::default();
    }
    let parts = quantities.iter().filter_map(|q| q.relative.as_ref());
    let field = Field::new(parts, report.max_regression);
    let rows: Vec<Markup> = quantities
        .iter()
        .map(|quantity| row(quantity, &field, name(quantity)))
        .collect();
    let starred = quantities.iter().filter_map(|of| starred(of));
    let notes: Vec<String> = correction(starred, report.tests())
        .into_iter()
        .chain(reasons(quantities))
        .map(|text| tie(&sentence(&text)))
        .collect();
    rows_and_notes(&field, &rows, &notes)
}

fn rows_and_notes(field: &Field, rows: &[Markup], notes: &[String]) -> Markup {
    html! {
        table class="quantities" {
            thead {
                tr {
                    th scope="col" { "quantity" }
                    th scope="col" class="n" { "base" }
                    th scope="col" class="n" { "new" }
                    th scope="col" class="n" { "change" }
                    th scope="col" { (field.axis()) }
                    th scope="col" { "relative, 95\u{a0}% interval" }
                    th scope="col" { "verdict" }
                }
            }
            tbody { @for row in rows { (row) "\n" } }
        }
        @for text in notes { (note(text)) }
    }
}

fn row(quantity: &QuantityChange, field: &Field, (name, below): (String, String)) -> Markup {
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
    let cells = [
        ("base", level(&quantity.base)),
        ("new", level(&quantity.new)),
        ("change", by),
    ];
    html! {
        tr {
            th scope="row" {
                (name)
                @if !below.is_empty() { small { (below) } }
            }
            @for (label, text) in &cells { td class="n" data-label=(label) { (tie(text)) } }
            td class="drawn" {
                (field.draw(quantity.relative.as_ref(), quantity.verdict, &tooltip))
            }
            td class="part" { (tie(&change(quantity))) }
            td class="verdict" {
                (badge(quantity.verdict, &verdict(quantity)))
                @if quantity.regressed { small class="fails" { "regressed" } }
            }
        }
    }
}

/// The point where the scale becomes logarithmic if there is no margin.
const USUAL_MARGIN: f64 = 0.05;
/// The largest end of an interval that extends the scale.
const MAX_SCALE: f64 = 10.0;
/// The largest change that extends the scale.
const FURTHEST: f64 = 1000.0;
/// The approximate width of a character on the axis, in percent of the plot.
const SIGN: f64 = 2.4;

/// The scale shared by all differences in a table.
pub(super) struct Field {
    margin: Option<f64>,
    bend: f64,
    /// The difference at both ends.
    most: f64,
}

impl Field {
    /// Creates a scale that fits all `parts`.
    pub fn new<'a>(parts: impl Iterator<Item = &'a Estimate>, margin: f64) -> Field {
        let margin = Some(margin).filter(|margin| *margin > 0.0 && margin.is_finite());
        let bend = margin.unwrap_or(USUAL_MARGIN);
        // Clip distant ends of intervals, so that they do not compress everything else;
        // changes themselves are shown up to a much larger value.
        let far = |part: f64, most: f64| match part.abs() {
            part if part.is_finite() => part.min(most),
            _ => 0.0,
        };
        let most = parts.fold(2.0 * bend, |most, part| {
            let ends = [part.low, part.high].into_iter().flatten();
            let ends = ends.map(|end| far(end, MAX_SCALE)).fold(0.0, f64::max);
            most.max(ends).max(far(part.value, FURTHEST))
        });
        Field {
            margin,
            bend,
            most: most * 1.08,
        }
    }

    /// The position of a difference in percent of the width.
    fn at(&self, part: f64) -> f64 {
        let share = (part / self.bend).asinh() / (self.most / self.bend).asinh();
        let share = if share.is_finite() { share } else { 0.0 };
        50.0 + share.clamp(-1.0, 1.0) * 50.0
    }

    fn band(&self) -> Markup {
        html! {
            @if let Some(margin) = self.margin {
                (line_between("band", (self.at(-margin), self.at(margin))))
            }
        }
    }

    /// The axis labels.
    pub fn axis(&self) -> Markup {
        let steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0];
        let steps = steps.into_iter().chain((1..6).map(|p| 10f64.powi(p)));
        let steps = steps.filter(|step| *step > self.bend && *step < self.most);
        let mut named: Vec<(f64, String)> = Vec::new();
        let mut end = self.at(0.0) + SIGN;
        for step in std::iter::once(self.bend).chain(steps) {
            let text = margin(step);
            let half = (text.chars().count() + 2) as f64 * SIGN / 2.0;
            let at = self.at(step);
            if at - half >= end && at + half <= 102.0 {
                end = at + half;
                named.push((step, text));
            }
        }
        let label = |part: f64, text: &str| {
            html! {
                span class="at" style=(format_args!("left:{:.1}%", self.at(part))) { (text) }
            }
        };
        html! {
            span class="field axis" aria-hidden="true" {
                span class="at" style="left:50%" { "0" }
                @for (part, text) in &named {
                    (label(-part, &format!("−{text}")))
                    (label(*part, text))
                }
            }
        }
    }

    /// Draws one difference with a tooltip.
    pub fn draw(&self, part: Option<&Estimate>, verdict: Verdict, tooltip: &str) -> Markup {
        let whisker = part.and_then(ends);
        let dot = part
            .map(|part| part.value)
            .filter(|value| value.is_finite());
        html! {
            span class={ "field " (class(verdict)) } title=(tooltip) aria-hidden="true" {
                (self.band())
                span class="zero" {}
                @if let Some((low, high)) = whisker {
                    (line_between("whisker", (self.at(low), self.at(high))))
                }
                @if let Some(value) = dot {
                    span class="dot" style=(format_args!("left:{:.1}%", self.at(value))) {}
                }
            }
        }
    }
}

/// A line between two positions in percent of the width, in any order.
pub(super) fn line_between(class: &str, (a, b): (f64, f64)) -> Markup {
    let (from, width) = (a.min(b), (a - b).abs());
    html! { span class=(class) style=(format_args!("left:{from:.1}%;width:{width:.1}%")) {} }
}

/// A verdict with its symbol and color.
pub(super) fn badge(verdict: Verdict, text: &str) -> Markup {
    html! { span class={ "badge " (class(verdict)) } { span { (sign(verdict)) } " " (text) } }
}

// Two lab results: changed quantities, then inconclusive ones; unchanged quantities are
// folded away.

/// The maximum number of changed and of inconclusive quantities.
const MAX_DRAWN: usize = 200;
/// The maximum number of unchanged quantities.
const MAX_LISTED: usize = 600;

/// Adds the sections.
pub(super) fn add_lab(page: &mut ComparePage) {
    let report = page.report;
    let sorted = sorted(report);
    let lead = format!(
        "Each dot is a change, the line through it its 95 % interval, and the band ± {} the margin \
         of a regression. Regressions come first, then the largest changes.",
        margin(report.max_regression)
    );
    let drawn = |quantities: &[&QuantityChange]| {
        let most = quantities.len().min(MAX_DRAWN);
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
    for quantity in quantities.iter().take(MAX_LISTED) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn part(value: f64, low: f64, high: f64) -> Estimate {
        Estimate {
            value,
            low: Some(low),
            high: Some(high),
        }
    }

    #[test]
    fn zero_is_centered_and_everything_fits() {
        let parts = [part(0.27, 0.26, 0.28), part(-0.02, -0.03, -0.01)];
        let field = Field::new(parts.iter(), 0.05);
        assert_eq!(field.at(0.0), 50.0);
        assert!(field.at(0.28) > 90.0 && field.at(0.28) < 100.0);
        assert!((field.at(0.1) + field.at(-0.1) - 100.0).abs() < 1e-9);
        // Small differences are distinguishable next to large ones.
        assert!(field.at(0.05) - 50.0 > 12.0);
        assert!(field.axis().0.contains(">5 %<") && field.axis().0.contains(">−20 %<"));
    }

    #[test]
    fn invalid_numbers_are_not_drawn() {
        let bad = part(f64::NAN, f64::NAN, f64::INFINITY);
        let field = Field::new([&bad].into_iter(), f64::NAN);
        let html = field
            .draw(Some(&bad), Verdict::Inconclusive, "\"x\"")
            .into_string();
        assert!(!html.contains("dot") && !html.contains("whisker") && !html.contains("band"));
        assert!(html.contains("title=\"&quot;x&quot;\""));
        assert!(!field.axis().0.contains("NaN"));
    }

    #[test]
    fn distant_values_are_at_the_edge() {
        let far = part(1e300, -1e300, 1e300);
        let field = Field::new([&far].into_iter(), 0.05);
        assert_eq!(field.at(1e300), 100.0);
        assert_eq!(field.at(-1e300), 0.0);
        // The ends of an interval do not compress everything else.
        let unsure = part(0.2, -0.9, 1e5);
        let field = Field::new([&unsure].into_iter(), 0.05);
        assert!(field.at(0.2) > 65.0, "{}", field.at(0.2));
    }
}
