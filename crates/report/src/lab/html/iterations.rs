//! Every iteration of every start, grouped by family, and the memory in
//! use before and after them.

use maud::{Markup, html};
use preheat_model::lab::{Experiment, SampleKind, Series, names};
use preheat_model::stats::median;

use crate::html::figure::{Figure, Table, folded, grid};
use crate::html::plot::{self, Curve, POINTS_OF_LINE, Plot, STARTS, starts_key};
use crate::html::scale::{Axis, round_step_bytes};
use crate::html::svg::{Mark, Point};
use crate::lab;
use crate::lab::html::Page;
use crate::lab::overview::{Row, Subject, by_subject};
use crate::units::{bytes_f64, duration, ratio};

/// The families by interest.
const FAMILIES: [(&str, &str); 5] = [
    ("train", "Training"),
    ("infer", "Inference"),
    ("launch", "Kernel launch"),
    ("alloc", "Allocation"),
    ("prealloc", "Allocation after a large block"),
];
/// The number of charts per family that are not folded away.
const UNFOLDED_CHARTS: usize = 4;
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
        let rest = figures.split_off(figures.len().min(UNFOLDED_CHARTS));
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
    let series = plot::Series {
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
    parts.extend(series.ratio.map(|interval| ratio(interval.value)));
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

// Memory in use before the first iteration and after each iteration.

/// The number of charts that are not folded away.
const OPEN_MEMORY: usize = 6;

/// Adds the section.
pub(super) fn add_memory(page: &mut Page) {
    let report = page.report;
    let mut figures = Vec::new();
    for experiment in by_subject(report).into_iter().flatten() {
        let memory = experiment
            .series
            .iter()
            .filter(|series| series.kind == SampleKind::Memory);
        let mut variants: Vec<&str> = memory.map(|series| series.variant.as_str()).collect();
        variants.dedup();
        figures.extend(
            variants
                .into_iter()
                .filter_map(|variant| memory_figure(page, experiment, variant)),
        );
    }
    let rest = figures.split_off(figures.len().min(OPEN_MEMORY));
    let more = folded(&format!("{} more", rest.len()), &grid(&rest));
    page.section(
        "memory",
        "Memory",
        "Memory in use before the first iteration (0) and after each iteration, median over the \
         starts. Device memory includes the memory of other processes.",
        html! { (grid(&figures)) (more) },
    );
}

fn memory_figure(page: &mut Page, experiment: &Experiment, variant: &str) -> Option<Markup> {
    let of = |name: &str| {
        experiment
            .series
            .iter()
            .find(|s| s.kind == SampleKind::Memory && s.name == name && s.variant == variant)
            .map(over_starts)
            .filter(|points| points.len() > 1)
    };
    let curves: Vec<(&str, &str, Mark, &'static str, Vec<Point>)> = [
        (
            names::DEVICE_MEMORY,
            "device",
            Mark::Circle,
            "device-memory",
        ),
        (
            names::ARRAY_MEMORY,
            "device, arrays",
            Mark::Diamond,
            "array-memory",
        ),
        (names::HOST_MEMORY, "host", Mark::Square, "host-memory"),
    ]
    .into_iter()
    .filter_map(|(name, short, mark, class)| Some((name, short, mark, class, of(name)?)))
    .collect();
    let all = || curves.iter().flat_map(|(.., points)| points);
    let longest = all().map(|(at, _)| *at).fold(0.0, f64::max);
    let most = all().map(|(_, bytes)| *bytes).fold(0.0, f64::max) * 1.08;
    if curves.is_empty() || most <= 0.0 {
        return None;
    }
    let x = Axis::after_iterations(longest);
    let y = Axis::from_zero(most, round_step_bytes(most, 5), bytes_f64);
    let mut plot = Plot::new(x.clone(), y, "after iteration", "bytes in use");
    let mut legend = Vec::new();
    let mut data = Table::new(&[
        "memory",
        "before",
        "after the first",
        "at the end",
        "growth at the first",
        "growth after it",
    ]);
    let mut notes = Vec::new();
    for (name, short, mark, class, points) in &curves {
        plot.bundle(class, std::slice::from_ref(points));
        let named = |(at, _): &&Point| x.ticks.iter().any(|(tick, _)| tick == at);
        let marked: Vec<Point> = points.iter().filter(named).copied().collect();
        let class_of_marks = format!("{class} marks-only");
        plot.curve(
            &Curve {
                class: &class_of_marks,
                mark: Some(*mark),
                points: &marked,
            },
            |(at, value)| format!("{name}, {}: {}", place(at), bytes_f64(value)),
        );
        legend.push((Some(*mark), *class, (*name).to_owned()));
        let (before, first, end) = (points[0].1, points[1].1, points[points.len() - 1].1);
        notes.push(format!(
            "{short} {} → {}",
            bytes_f64(before),
            bytes_f64(first)
        ));
        data.rows.push(
            std::iter::once((*name).to_owned())
                .chain([before, first, end, first - before, end - first].map(bytes_f64))
                .collect(),
        );
    }
    let mut title = format!("{} · {}", experiment.subject(), lab::family(experiment.id));
    if !variant.is_empty() {
        title.push_str(&format!(", {variant}"));
    }
    let name = format!("Memory in use, {title}");
    let note = format!("at the first: {}", notes.join(" · "));
    let drawing = plot.finish(&page.id(), &name, &note);
    let figure = Figure {
        title,
        note,
        legend,
        drawings: vec![drawing],
        data,
        ..Figure::default()
    };
    Some(figure.html())
}

fn place(at: f64) -> String {
    if at == 0.0 {
        "before the first iteration".to_owned()
    } else {
        format!("after iteration {at:.0}")
    }
}

/// The median over the starts for each iteration.
fn over_starts(series: &Series) -> Vec<Point> {
    let longest = series.iterations.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest)
        .filter_map(|at| {
            let values: Vec<f64> = series
                .iterations
                .iter()
                .filter_map(|start| start.get(at).copied().filter(|value| value.is_finite()))
                .collect();
            Some((at as f64, median(&values)?))
        })
        .collect()
}
