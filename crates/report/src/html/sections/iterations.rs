//! Every iteration of every start, family by family.

use preheat_analyze::stats::median;

use crate::html::downsample::downsample;
use crate::html::escape::escape;
use crate::html::figure::{Figure, Table, folded, grid, legend};
use crate::html::page::Page;
use crate::html::plot::Plot;
use crate::html::scale::{Axis, extent};
use crate::html::svg::{Mark, Point};
use crate::overview::{Row, Subject};
use crate::units::{duration, ratio};

/// Families in the order of interest.
const FAMILIES: [(&str, &str); 5] = [
    ("train", "Training"),
    ("infer", "Inference"),
    ("launch", "Kernel launch"),
    ("alloc", "Allocation"),
    ("prealloc", "Allocation after a big block"),
];
/// So many charts of a family are shown at once.
const OPEN: usize = 4;
/// So many starts are drawn beside the first.
const STARTS: usize = 12;
/// Points on the whole page, so that it stays small; and for one line.
const POINTS: usize = 60_000;
const POINTS_OF_LINE: usize = 240;

/// The section.
pub(in crate::html) fn add(page: &mut Page, subjects: &[Subject]) {
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
    let mut html = String::new();
    for (family, title) in FAMILIES {
        let mut own: Vec<(bool, String)> = Vec::new();
        let mut last = "";
        for (subject, _, row) in rows.iter().filter(|(_, name, _)| *name == family) {
            // The first of each subject is shown before the others.
            let leads = subject.label != last;
            last = &subject.label;
            if let Some(figure) = figure(page, subject, row, limit) {
                own.push((leads, figure));
            }
        }
        own.sort_by_key(|(leads, _)| !leads);
        let mut figures: Vec<String> = own.into_iter().map(|(_, figure)| figure).collect();
        if figures.is_empty() {
            continue;
        }
        let rest = figures.split_off(figures.len().min(OPEN));
        html.push_str(&format!("<h3>{}</h3>{}", escape(title), grid(&figures)));
        html.push_str(&folded(&format!("{} more", rest.len()), &grid(&rest)));
    }
    if !html.is_empty() {
        let key = legend(&[
            (
                Some(Mark::Diamond),
                "first-start",
                "the first start, which may have found cold disks and caches".to_owned(),
            ),
            (Some(Mark::Circle), "start", "later starts".to_owned()),
            (None, "level", "steady".to_owned()),
        ]);
        html.insert_str(0, &key);
    }
    page.section(
        "iterations",
        "Iterations",
        "Every iteration of every start, each start a fresh process. Both scales are logarithmic, \
         so that the first iterations can be told apart.",
        &html,
    );
}

fn figure(page: &mut Page, subject: &Subject, row: &Row, limit: usize) -> Option<String> {
    let series = row.series;
    let starts: Vec<&[f64]> = series
        .iterations
        .iter()
        .take(STARTS + 1)
        .map(Vec::as_slice)
        .collect();
    let lines: Vec<Vec<Point>> = starts.iter().map(|start| line(start, limit)).collect();
    let drawn: usize = lines.iter().map(Vec::len).sum();
    let all: usize = series.iterations.iter().map(Vec::len).sum();
    let longest = starts.iter().map(|start| start.len()).max()?;
    let steady = series
        .steady
        .filter(|steady| steady.is_finite() && *steady > 0.0);
    let times = || lines.iter().flatten().map(|(_, time)| *time).chain(steady);
    extent(times())?;
    let x = Axis::log_of([1.0, longest as f64].into_iter(), 8, |value| {
        format!("{value:.0}")
    })?;
    let mut plot = Plot::new(x, Axis::times(times(), 6)?, "iteration", "time");
    if let Some(steady) = steady {
        plot.level("level", steady);
    }
    plot.bundle("start", lines.get(1..).unwrap_or_default());
    plot.bundle("first-start", lines.get(..1).unwrap_or_default());
    for (index, line) in lines.iter().enumerate().rev() {
        let (mark, class, name) = match index {
            0 => (Mark::Diamond, "first-start", "the first start".to_owned()),
            _ => (Mark::Circle, "start", format!("start {}", index + 1)),
        };
        if let Some(point) = line.first().filter(|(at, _)| *at == 1.0) {
            plot.mark(
                mark,
                class,
                *point,
                &format!("{name}: first iteration {}", duration(point.1)),
            );
        }
    }
    let title = format!("{} · {}", subject.label, full_label(row));
    let count = series.iterations.len();
    let mut note = numbers(row);
    let starts = if count == 1 { "start" } else { "starts" };
    note.push_str(&format!(" · {count} {starts} of {longest} iterations"));
    if drawn < all {
        note.push_str(&format!(", {drawn} of {all} points drawn"));
    }
    let drawing = plot.finish(&page.id(), &title, &note);
    let figure = Figure {
        title,
        note,
        drawings: vec![drawing],
        data: table(row),
        ..Figure::default()
    };
    Some(figure.html())
}

/// `first 258 ms, steady 82 µs, 3150×, warmup`
fn numbers(row: &Row) -> String {
    let series = row.series;
    let mut parts = vec![format!("first {}", duration(series.first))];
    parts.extend(
        series
            .steady
            .map(|steady| format!("steady {}", duration(steady))),
    );
    parts.extend(series.ratio.map(|interval| ratio(interval.median)));
    parts.extend(series.class.map(|class| class.as_str().to_owned()));
    parts.join(", ")
}

/// The label, with the variant that is a group of its own elsewhere.
fn full_label(row: &Row) -> String {
    if row.experiment.id == preheat_analyze::lab::ExperimentId::Launch {
        format!("{}, {}", row.label, row.series.variant)
    } else {
        row.label.clone()
    }
}

/// The points of a start that a logarithmic plot can show, counted from 1.
fn line(start: &[f64], limit: usize) -> Vec<Point> {
    let points = downsample(start, limit).into_iter();
    points
        .filter(|(_, time)| *time > 0.0)
        .map(|(at, time)| ((at + 1) as f64, time))
        .collect()
}

fn table(row: &Row) -> Table {
    let mut table = Table::new(&[
        "start",
        "first",
        "second",
        "median of the rest",
        "fastest",
        "slowest",
        "iterations",
    ]);
    for (index, start) in row.series.iterations.iter().enumerate().take(40) {
        let rest: Vec<f64> = start
            .iter()
            .skip(1)
            .copied()
            .filter(|time| time.is_finite())
            .collect();
        let (fastest, slowest) = extent(start.iter().copied()).unwrap_or((f64::NAN, f64::NAN));
        table.rows.push(vec![
            if index == 0 {
                "first".to_owned()
            } else {
                (index + 1).to_string()
            },
            duration(start.first().copied().unwrap_or(f64::NAN)),
            duration(start.get(1).copied().unwrap_or(f64::NAN)),
            duration(median(&rest).unwrap_or(f64::NAN)),
            duration(fastest),
            duration(slowest),
            start.len().to_string(),
        ]);
    }
    table
}
