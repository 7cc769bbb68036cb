//! Allocation times by size.

use preheat_model::lab::{Experiment, ExperimentId, names};

use crate::html::figure::{Figure, Table, grid};
use crate::html::plot::{Curve, Plot};
use crate::html::scale::Axis;
use crate::html::svg::{Mark, Point};
use crate::lab::html::Page;
use crate::lab::labels;
use crate::lab::overview::by_subject;
use crate::units::{ABSENT, bytes, bytes_f64, duration, ratio};

/// Adds the section.
pub(in crate::lab::html) fn add(page: &mut Page) {
    let report = page.report;
    let figures: Vec<String> = by_subject(report)
        .into_iter()
        .flatten()
        .filter(|experiment| experiment.id == ExperimentId::Alloc)
        .filter_map(|experiment| figure(page, experiment))
        .collect();
    page.section(
        "allocation",
        "Allocation by size",
        "The first and the steady allocation of each size, in a process that already has a context.",
        &grid(&figures),
    );
}

fn figure(page: &mut Page, experiment: &Experiment) -> Option<String> {
    let (first, steady) = times(experiment, names::ALLOCATE);
    if first.len() < 2 {
        return None;
    }
    let all = || first.iter().chain(&steady);
    let x = Axis::sizes(all().map(|(size, _)| *size), 6)?;
    let y = Axis::times(all().map(|(_, time)| *time), 6)?;
    let mut plot = Plot::new(x, y, "size", "time");
    for (class, mark, points) in [
        ("steady", Mark::Circle, &steady),
        ("first", Mark::Diamond, &first),
    ] {
        let curve = Curve {
            class,
            mark: Some(mark),
            points,
        };
        plot.curve(&curve, |(size, time)| {
            format!("{}: {class} {}", bytes_f64(size), duration(time))
        });
    }
    let title = labels::subject_title(page.report, experiment);
    let description = format!(
        "Allocations of {} to {}.",
        bytes_f64(first[0].0),
        bytes_f64(first[first.len() - 1].0)
    );
    let name = format!("Allocation time by size, {}", experiment.subject());
    let drawing = plot.finish(&page.id(), &name, &description);
    let figure = Figure {
        title,
        legend: vec![
            (Some(Mark::Diamond), "first", "first".to_owned()),
            (Some(Mark::Circle), "steady", "steady".to_owned()),
        ],
        drawings: vec![drawing],
        data: table(experiment),
        ..Figure::default()
    };
    Some(figure.html())
}

/// The first and steady times of a sweep by size, without values that cannot be drawn.
pub(super) fn times(experiment: &Experiment, name: &str) -> (Vec<Point>, Vec<Point>) {
    let mut sweep: Vec<(u64, f64, Option<f64>)> = experiment
        .series
        .iter()
        .filter(|series| series.name == name)
        .filter_map(|series| Some((series.size?, series.first, series.steady)))
        .collect();
    sweep.sort_by_key(|(size, _, _)| *size);
    let drawable = |(size, time): Point| {
        (time.is_finite() && time > 0.0 && size > 0.0).then_some((size, time))
    };
    let first = sweep
        .iter()
        .filter_map(|(size, first, _)| drawable((*size as f64, *first)));
    let steady = sweep
        .iter()
        .filter_map(|(size, _, steady)| drawable((*size as f64, (*steady)?)));
    (first.collect(), steady.collect())
}

fn table(experiment: &Experiment) -> Table {
    let mut table = Table::new(&["size", "first", "steady", "ratio"]);
    let mut sweep: Vec<_> = experiment
        .series
        .iter()
        .filter(|series| series.name == names::ALLOCATE && series.size.is_some())
        .collect();
    sweep.sort_by_key(|series| series.size);
    table.rows = sweep
        .into_iter()
        .map(|series| {
            vec![
                series.size.map_or(ABSENT.to_owned(), bytes),
                duration(series.first),
                series.steady.map_or(ABSENT.to_owned(), duration),
                series
                    .ratio
                    .map_or(ABSENT.to_owned(), |interval| ratio(interval.estimate)),
            ]
        })
        .collect();
    table
}
