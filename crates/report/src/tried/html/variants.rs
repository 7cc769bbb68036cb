//! The configurations: a bar by cause for each, and a mark for every start.

use preheat_model::run::Cause;
use preheat_model::tried::{TriedReport, TriedVariant};

use super::TriedPage;
use crate::html::bands::{Bands, Layout, NARROW, WIDE};
use crate::html::figure::{Figure, Table};
use crate::html::look;
use crate::html::scale::{Axis, round_step};
use crate::html::stack::{Stack, in_order};
use crate::html::svg::{Mark, Svg};
use crate::tried::words;
use crate::units::{ABSENT, duration, ratio};

/// Half the height of a bar.
const HALF: f64 = 10.0;
/// The distance from the middle of a bar to the marks below it.
const BELOW: f64 = 17.0;

/// Layouts with space for marks below the bars.
const LAYOUTS: [Layout; 2] = [
    Layout {
        row: 46.0,
        middle: 16.0,
        label: 20.5,
        ..WIDE
    },
    Layout {
        row: 64.0,
        ..NARROW
    },
];

/// The section.
pub(super) fn add(page: &mut TriedPage) {
    let report = page.report;
    let measured = |of: &TriedVariant| of.values.iter().copied().fold(0.0, f64::max);
    let longest = report.variants.iter().map(measured).fold(0.0, f64::max);
    if !(longest.is_finite() && longest > 0.0) {
        return;
    }
    let title = match report.iteration.is_empty() {
        true => "Time to the end of the program",
        false => "Time to first",
    };
    let description = (report.variants.iter())
        .map(|of| {
            format!(
                "{}: {}.",
                words::variant(of, report),
                words::time(of.time_to_first)
            )
        })
        .collect::<Vec<_>>()
        .join(" ");
    let drawings = LAYOUTS.map(|layout| {
        let svg = draw(layout, report, longest);
        svg.finish(&page.id(), layout.class, title, &description)
    });
    let causes: Vec<Cause> = (report.variants.iter())
        .flat_map(|of| of.causes.iter())
        .filter(|of| of.seconds > 0.0)
        .map(|of| of.cause)
        .collect();
    let figure = Figure {
        title: title.to_owned(),
        note: "each bar shows the causes of a median start, each mark below it one start"
            .to_owned(),
        key: look::key(&causes),
        drawings: drawings.to_vec(),
        data: table(report),
        ..Figure::default()
    };
    let lead = "The starts of all configurations were interleaved, each in a fresh process. The \
                first start of each is left out: it may have found cold disks and caches.";
    page.section("configurations", "Configurations", lead, figure.html());
}

fn draw(layout: Layout, report: &TriedReport, longest: f64) -> Svg {
    let step = round_step(longest, layout.ticks.min(6));
    let mut last = None;
    let news: Vec<bool> = (report.variants.iter())
        .map(|of| last.replace(of.against) != Some(of.against))
        .collect();
    let mut bands = Bands::new(layout, &news, Axis::from_zero(longest, step, duration));
    for (row, of) in report.variants.iter().enumerate() {
        let name = words::variant(of, report);
        bands.name(row, &name);
        let value = of.time_to_first.map(|time| time.value);
        let faster = of
            .times
            .map_or_else(String::new, |times| ratio(times.value));
        let time = value.map_or(ABSENT.to_owned(), duration);
        bands.end(row, &time, &faster);
        let middle = bands.middle(row);
        let parts = in_order(of.causes.iter().map(|of| (of.cause, of.seconds)));
        if parts.is_empty() {
            let from = bands.axis.at(0.0);
            let to = bands.axis.at(value.unwrap_or(0.0));
            let size = ((to - from).max(0.6), 2.0 * HALF);
            bands
                .svg
                .rect("bar whole", (from, middle - HALF), size, &name);
        }
        let stack = Stack {
            axis: &bands.axis,
            top: middle - HALF,
            height: 2.0 * HALF,
            name: &name,
        };
        stack.draw(&mut bands.svg, &parts);
        for value in of.values.iter().filter(|value| value.is_finite()) {
            let at = (bands.axis.at(*value), middle + BELOW);
            let tooltip = format!("{name}: {}", duration(*value));
            bands.svg.mark(Mark::Circle, "mark start", at, &tooltip);
        }
    }
    bands.svg
}

fn table(report: &TriedReport) -> Table {
    let mut table = Table::new(&[
        "configuration",
        "time to first",
        "saved",
        "faster",
        "starts",
        "recording",
    ]);
    table.words = vec![5];
    for of in &report.variants {
        table.rows.push(vec![
            words::variant(of, report),
            words::time(of.time_to_first),
            of.saved.map_or(ABSENT.to_owned(), words::saved),
            of.times
                .map_or(ABSENT.to_owned(), |times| ratio(times.value)),
            of.values.len().to_string(),
            of.recording.clone(),
        ]);
    }
    table
}
