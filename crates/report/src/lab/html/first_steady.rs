//! First against steady: two marks on a logarithmic scale for each series.

use maud::{Markup, html};

use crate::html::bands::{Bands, Layout, NARROW, WIDE};
use crate::html::figure::{Figure, Table, folded, legend};
use crate::html::scale::Axis;
use crate::html::svg::{Anchor, Mark, Svg};
use crate::lab::html::Page;
use crate::lab::overview::{Group, Row, Subject};
use crate::units::{ABSENT, duration, ratio, span};

/// A series that can be drawn.
struct Pair<'a> {
    name: String,
    family: &'a str,
    row: &'a Row<'a>,
    first: f64,
    steady: f64,
}

/// Adds the section.
pub(super) fn add(page: &mut Page, subjects: &[Subject]) {
    let all: Vec<(&Subject, Vec<Pair>)> = subjects
        .iter()
        .map(|subject| (subject, pairs(subject)))
        .collect();
    let values = all
        .iter()
        .flat_map(|(_, pairs)| pairs)
        .flat_map(|pair| [pair.first, pair.steady]);
    // Space for the numbers beside the marks.
    let values: Vec<f64> = values
        .flat_map(|value| [value / 2.5, value * 2.5])
        .collect();
    let mut parts: Vec<Markup> = Vec::new();
    for (subject, pairs) in &all {
        let axes = [WIDE, NARROW].map(|layout| Axis::times(values.iter().copied(), layout.ticks));
        let [Some(wide), Some(narrow)] = axes else {
            continue;
        };
        if pairs.is_empty() {
            continue;
        }
        let title = format!("First and steady times, {}", subject.label);
        let drawings = [(WIDE, wide), (NARROW, narrow)].map(|(layout, axis)| {
            draw(layout, axis, pairs).finish(&page.id(), layout.class, &title, &describe(pairs))
        });
        let figure = Figure {
            drawings: drawings.to_vec(),
            data: table(subject),
            ..Figure::default()
        };
        if pairs
            .iter()
            .any(|pair| pair.row.experiment.device == page.report.device.kind)
        {
            parts.push(html! { h3 { (subject.title) } (figure.html()) });
        } else {
            let summary = format!("{}: {} series", subject.title, pairs.len());
            parts.push(folded(&summary, &figure.html()));
        }
    }
    let key = legend(&[
        (Some(Mark::Diamond), "first", "first iteration".to_owned()),
        (Some(Mark::Circle), "steady", "steady iteration".to_owned()),
    ]);
    let content = html! {
        @if !parts.is_empty() { (key) }
        @for part in &parts { (part) }
    };
    page.section(
        "first-and-steady",
        "First and steady",
        "Each line is one repeated operation: the time of the first, and the time once it is \
         steady. The scale is logarithmic; the ratio with its 95 % interval is on the right.",
        content,
    );
}

fn pairs<'a>(subject: &'a Subject) -> Vec<Pair<'a>> {
    let drawable = |value: f64| (value.is_finite() && value > 0.0).then_some(value);
    let mut pairs: Vec<Pair> = Vec::new();
    for (group, row) in rows(subject) {
        let (Some(first), Some(steady)) = (
            drawable(row.series.first),
            row.series.steady.and_then(drawable),
        ) else {
            continue;
        };
        let mut name = format!("{} · {}", group.name, row.label);
        // Add the variant only if the same series was measured in another variant too.
        if pairs.iter().any(|pair| pair.name == name) {
            name.push_str(&format!(", {}", group.variant));
        }
        pairs.push(Pair {
            name,
            family: group.name,
            row,
            first,
            steady,
        });
    }
    pairs
}

fn rows<'a>(subject: &'a Subject) -> impl Iterator<Item = (&'a Group<'a>, &'a Row<'a>)> {
    subject
        .groups
        .iter()
        .flat_map(|group| group.rows.iter().map(move |row| (group, row)))
}

fn draw(layout: Layout, axis: Axis, pairs: &[Pair]) -> Svg {
    let news: Vec<bool> = (0..pairs.len())
        .map(|index| index > 0 && pairs[index - 1].family != pairs[index].family)
        .collect();
    let mut bands = Bands::new(layout, &news, axis);
    for (index, pair) in pairs.iter().enumerate() {
        bands.name(index, &pair.name);
        let interval = pair.row.series.ratio;
        let strong = interval.map_or(String::new(), |interval| ratio(interval.value));
        let faint = interval.and_then(|interval| span(interval.low, interval.high));
        bands.end(index, &strong, &faint.unwrap_or_default());
        let y = bands.middle(index);
        let (first, steady) = (bands.axis.at(pair.first), bands.axis.at(pair.steady));
        let tooltip =
            |which: &str, value: f64| format!("{}: {which} {}", pair.name, duration(value));
        let svg = &mut bands.svg;
        svg.line("dumbbell", (first, y), (steady, y));
        svg.mark(
            Mark::Circle,
            "mark steady",
            (steady, y),
            &tooltip("steady", pair.steady),
        );
        svg.mark(
            Mark::Diamond,
            "mark first",
            (first, y),
            &tooltip("first", pair.first),
        );
        if layout.roomy {
            let mut ends = [
                (steady, pair.steady, "tick of-steady"),
                (first, pair.first, "tick of-first"),
            ];
            ends.sort_by(|a, b| a.0.total_cmp(&b.0));
            let [left, right] = ends;
            svg.text(
                left.2,
                Anchor::End,
                (left.0 - 10.0, y + 4.0),
                &duration(left.1),
            );
            svg.text(
                right.2,
                Anchor::Start,
                (right.0 + 10.0, y + 4.0),
                &duration(right.1),
            );
        }
    }
    bands.svg
}

fn describe(pairs: &[Pair]) -> String {
    let quotient = |pair: &&Pair| pair.first / pair.steady;
    let most = pairs
        .iter()
        .max_by(|a, b| quotient(a).total_cmp(&quotient(b)));
    let most = most.map_or(String::new(), |pair| {
        format!(
            " {} has the largest ratio: {} against {}.",
            pair.name,
            duration(pair.first),
            duration(pair.steady)
        )
    });
    format!(
        "{} series on a logarithmic time scale.{most} The data follows as a table.",
        pairs.len()
    )
}

fn table(subject: &Subject) -> Table {
    let mut table = Table::new(&[
        "series",
        "first",
        "steady",
        "ratio",
        "95 %",
        "class",
        "consistency",
        "warm-up",
        "excess",
        "first start",
    ]);
    table.words = vec![5, 6];
    for (group, row) in rows(subject) {
        let series = row.series;
        let seconds = |value: Option<f64>| value.map_or(ABSENT.to_owned(), duration);
        table.rows.push(vec![
            format!("{} · {}", group.title(), row.label),
            duration(series.first),
            seconds(series.steady),
            series
                .ratio
                .map_or(ABSENT.to_owned(), |interval| ratio(interval.value)),
            series
                .ratio
                .and_then(|i| span(i.low, i.high))
                .unwrap_or(ABSENT.to_owned()),
            if row.once() {
                "once"
            } else {
                series.class.map_or(ABSENT, |class| class.as_str())
            }
            .to_owned(),
            series
                .consistency
                .map_or(ABSENT, |consistency| consistency.as_str())
                .to_owned(),
            series
                .warmup
                .filter(|w| w.is_finite())
                .map_or(ABSENT.to_owned(), |w| format!("{w:.0}")),
            seconds(series.excess),
            seconds(series.first_start.map(|start| start.first)),
        ]);
    }
    table
}
