//! Every iteration of every start, grouped by family.

use maud::{Markup, html};

use crate::html::figure::{folded, grid};
use crate::html::plot::{POINTS_OF_LINE, STARTS, Series, starts_key};
use crate::lab::html::Page;
use crate::lab::overview::{Row, Subject};
use crate::units::{duration, ratio};

/// The families by interest.
const FAMILIES: [(&str, &str); 5] = [
    ("train", "Training"),
    ("infer", "Inference"),
    ("launch", "Kernel launch"),
    ("alloc", "Allocation"),
    ("prealloc", "Allocation after a large block"),
];
/// The number of charts per family that are not folded away.
const OPEN: usize = 4;
/// The maximum number of points on the page, so that it stays small.
const POINTS: usize = 60_000;

/// Adds the section.
pub(super) fn add(page: &mut Page, subjects: &[Subject]) {
    let rows: Vec<(&Subject, &str, &Row)> = subjects
        .iter()
        .flat_map(|subject| subject.groups.iter().map(move |group| (subject, group)))
        .flat_map(|(subject, group)| group.rows.iter().map(move |row| (subject, group.name, row)))
        .filter(|(_, _, row)| !row.once() && row.series.size.is_none())
        .filter(|(_, _, row)| row.series.iterations.iter().any(|start| start.len() > 2))
        .collect();
    let lines: usize = rows
        .iter()
        .map(|(_, _, row)| row.series.iterations.len().min(STARTS + 1))
        .sum();
    let limit = (POINTS / lines.max(1)).clamp(16, POINTS_OF_LINE);
    let mut parts: Vec<Markup> = Vec::new();
    for (family, title) in FAMILIES {
        let mut own: Vec<(bool, Markup)> = Vec::new();
        let mut last = "";
        for (subject, _, row) in rows.iter().filter(|(_, name, _)| *name == family) {
            // The first chart of each subject comes before the others.
            let leads = subject.label != last;
            last = &subject.label;
            if let Some(figure) = figure(page, subject, row, limit) {
                own.push((leads, figure));
            }
        }
        own.sort_by_key(|(leads, _)| !leads);
        let mut figures: Vec<Markup> = own.into_iter().map(|(_, figure)| figure).collect();
        if figures.is_empty() {
            continue;
        }
        let rest = figures.split_off(figures.len().min(OPEN));
        let more = folded(&format!("{} more", rest.len()), &grid(&rest));
        parts.push(html! { h3 { (title) } (grid(&figures)) (more) });
    }
    let content = html! {
        @if !parts.is_empty() { (starts_key(true)) }
        @for part in &parts { (part) }
    };
    page.section(
        "iterations",
        "Iterations",
        "Every iteration of every start; each start is a fresh process. Both scales are \
         logarithmic, which spreads out the first iterations.",
        content,
    );
}

fn figure(page: &mut Page, subject: &Subject, row: &Row, limit: usize) -> Option<Markup> {
    let title = format!("{} · {}", subject.label, full_label(row));
    let series = Series {
        iterations: &row.series.iterations,
        steady: row.series.steady,
        limit,
    };
    series.figure(&page.id(), &title, &numbers(row))
}

/// The numbers in the caption: `first 258 ms, steady 82 µs, 3150×, warmup`.
fn numbers(row: &Row) -> String {
    let series = row.series;
    let mut parts = vec![format!("first {}", duration(series.first))];
    parts.extend(
        series
            .steady
            .map(|steady| format!("steady {}", duration(steady))),
    );
    parts.extend(series.ratio.map(|interval| ratio(interval.estimate)));
    parts.extend(series.class.map(|class| class.as_str().to_owned()));
    parts.join(", ")
}

/// The label, with the variant if it is a separate group elsewhere.
fn full_label(row: &Row) -> String {
    if row.experiment.id == preheat_model::lab::ExperimentId::Launch {
        format!("{}, {}", row.label, row.series.variant)
    } else {
        row.label.clone()
    }
}
