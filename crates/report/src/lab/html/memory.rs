//! Memory in use before the first iteration and after each iteration.

use maud::{Markup, html};
use preheat_model::lab::{Experiment, SampleKind, Series, names};
use preheat_model::stats::median;

use crate::html::figure::{Figure, Table, folded, grid};
use crate::html::plot::{Curve, Plot};
use crate::html::scale::{Axis, round_step_bytes};
use crate::html::svg::{Mark, Point};
use crate::lab::html::Page;
use crate::lab::labels;
use crate::lab::overview::by_subject;
use crate::units::bytes_f64;

/// The number of charts that are not folded away.
const OPEN: usize = 6;

/// Adds the section.
pub(super) fn add(page: &mut Page) {
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
                .filter_map(|variant| figure(page, experiment, variant)),
        );
    }
    let rest = figures.split_off(figures.len().min(OPEN));
    let more = folded(&format!("{} more", rest.len()), &grid(&rest));
    page.section(
        "memory",
        "Memory",
        "Memory in use before the first iteration (0) and after each iteration, median over the \
         starts. Device memory includes the memory of other processes.",
        html! { (grid(&figures)) (more) },
    );
}

fn figure(page: &mut Page, experiment: &Experiment, variant: &str) -> Option<Markup> {
    let of = |name: &str| {
        experiment
            .series
            .iter()
            .find(|s| s.kind == SampleKind::Memory && s.name == name && s.variant == variant)
            .map(over_starts)
            .filter(|points| points.len() > 1)
    };
    let curves: Vec<(&str, Mark, &'static str, Vec<Point>)> = [
        (names::DEVICE_MEMORY, Mark::Circle, "device-memory"),
        (names::ARRAY_MEMORY, Mark::Diamond, "array-memory"),
        (names::HOST_MEMORY, Mark::Square, "host-memory"),
    ]
    .into_iter()
    .filter_map(|(name, mark, class)| Some((name, mark, class, of(name)?)))
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
    for (name, mark, class, points) in &curves {
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
        notes.push(
            format!("{name} {} → {}", bytes_f64(before), bytes_f64(first)).replace(" memory", ""),
        );
        data.rows.push(
            std::iter::once((*name).to_owned())
                .chain([before, first, end, first - before, end - first].map(bytes_f64))
                .collect(),
        );
    }
    let mut title = format!(
        "{} · {}",
        experiment.subject(),
        labels::family(experiment.id)
    );
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
