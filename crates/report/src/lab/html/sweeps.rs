//! Allocations and copies by size: their times and speed, and the break-even point of
//! page-locked memory.

use maud::Markup;
use preheat_model::lab::{Experiment, ExperimentId, names};

use crate::html::figure::{Figure, Table, grid};
use crate::html::plot::{Curve, Plot};
use crate::html::scale::Axis;
use crate::html::svg::{Mark, Point};
use crate::lab;
use crate::lab::html::Page;
use crate::lab::overview::by_subject;
use crate::units::{ABSENT, bandwidth, bytes, bytes_f64, duration, ratio};

/// Adds the section on allocations.
pub(super) fn allocation(page: &mut Page) {
    let report = page.report;
    let figures: Vec<Markup> = by_subject(report)
        .into_iter()
        .flatten()
        .filter(|experiment| experiment.id == ExperimentId::Alloc)
        .filter_map(|experiment| allocations(page, experiment))
        .collect();
    page.section(
        "allocation",
        "Allocation by size",
        "The first and the steady allocation of each size, in a process that already has a context.",
        grid(&figures),
    );
}

fn allocations(page: &mut Page, experiment: &Experiment) -> Option<Markup> {
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
    let title = lab::subject_title(page.report, experiment);
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
        data: allocation_table(experiment),
        ..Figure::default()
    };
    Some(figure.html())
}

/// The first and steady times of a sweep by size, without values that cannot be drawn.
fn times(experiment: &Experiment, name: &str) -> (Vec<Point>, Vec<Point>) {
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

fn allocation_table(experiment: &Experiment) -> Table {
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
                    .map_or(ABSENT.to_owned(), |interval| ratio(interval.value)),
            ]
        })
        .collect();
    table
}

/// The directions of a copy: name, class, mark and legend.
const COPIES: [(&str, &str, Mark, &str); 5] = [
    (names::D2D, "d2d", Mark::Circle, "within the device"),
    (
        names::H2D_PINNED,
        "h2d",
        Mark::Circle,
        "to the device, pinned",
    ),
    (
        names::H2D_PAGEABLE,
        "h2d pageable",
        Mark::Square,
        "to the device, pageable",
    ),
    (
        names::D2H_PINNED,
        "d2h",
        Mark::Diamond,
        "to the host, pinned",
    ),
    (
        names::D2H_PAGEABLE,
        "d2h pageable",
        Mark::Triangle,
        "to the host, pageable",
    ),
];

/// Adds the section on copies.
pub(super) fn transfer(page: &mut Page) {
    let report = page.report;
    let mut figures = Vec::new();
    for experiment in by_subject(report).into_iter().flatten() {
        if experiment.id == ExperimentId::Transfer {
            figures.extend(speed(page, experiment));
            figures.extend(pinning(page, experiment));
        }
    }
    page.section(
        "transfer",
        "Transfer by size",
        "Steady copies between host and device and within the device, and the number of copies \
         after which page-locking (pinning) the host memory saves time.",
        grid(&figures),
    );
}

fn speed(page: &mut Page, experiment: &Experiment) -> Option<Markup> {
    let curves: Vec<(Vec<Point>, usize)> = COPIES
        .iter()
        .enumerate()
        .map(|(kind, (name, ..))| {
            let (_, steady) = times(experiment, name);
            (
                steady
                    .into_iter()
                    .map(|(size, time)| (size, size / time))
                    .collect(),
                kind,
            )
        })
        .filter(|(points, _): &(Vec<Point>, usize)| points.len() > 1)
        .collect();
    let all = || curves.iter().flat_map(|(points, _)| points);
    let x = Axis::sizes(all().map(|(size, _)| *size), 6)?;
    let y = Axis::log_of(all().map(|(_, speed)| *speed), 6, bandwidth)?;
    let mut plot = Plot::new(x, y, "size", "bytes per second");
    let mut legend = Vec::new();
    for (points, kind) in curves.iter().rev() {
        let (_, class, mark, words) = COPIES[*kind];
        plot.curve(
            &Curve {
                class,
                mark: Some(mark),
                points,
            },
            |(size, speed)| format!("{words}, {}: {}", bytes_f64(size), bandwidth(speed)),
        );
        legend.insert(0, (Some(mark), class, words.to_owned()));
    }
    let fastest = all().map(|(_, speed)| *speed).fold(0.0, f64::max);
    let name = format!("Copy speed by size, {}", experiment.subject());
    let drawing = plot.finish(
        &page.id(),
        &name,
        &format!("The fastest reaches {}.", bandwidth(fastest)),
    );
    let figure = Figure {
        title: lab::subject_title(page.report, experiment),
        note: "speed of a steady copy".to_owned(),
        legend,
        drawings: vec![drawing],
        data: speed_table(experiment),
        ..Figure::default()
    };
    Some(figure.html())
}

fn speed_table(experiment: &Experiment) -> Table {
    let mut table = Table::new(&["size", "copy", "first", "steady", "speed, steady"]);
    table.words = vec![1];
    for (name, _, _, words) in COPIES {
        let (first, steady) = times(experiment, name);
        for (size, time) in first {
            let steady = steady
                .iter()
                .find(|(at, _)| *at == size)
                .map(|(_, time)| *time);
            table.rows.push(vec![
                bytes_f64(size),
                words.to_owned(),
                duration(time),
                steady.map_or(ABSENT.to_owned(), duration),
                steady.map_or(ABSENT.to_owned(), |steady| bandwidth(size / steady)),
            ]);
        }
    }
    table
}

/// For each size: the cost of pinning, the saving per pinned copy to the device, and the
/// number of copies until it breaks even. `None` if a pinned copy saves nothing.
fn paybacks(experiment: &Experiment) -> Vec<(f64, f64, f64, Option<f64>)> {
    let at = |points: &[Point], size: f64| points.iter().find(|(s, _)| *s == size).map(|p| p.1);
    let (pin_first, pin_steady) = times(experiment, names::PIN);
    let (_, pageable) = times(experiment, names::H2D_PAGEABLE);
    let (_, pinned) = times(experiment, names::H2D_PINNED);
    pin_first
        .iter()
        .filter_map(|(size, first)| {
            let cost = at(&pin_steady, *size).unwrap_or(*first);
            let saved = at(&pageable, *size)? - at(&pinned, *size)?;
            Some((
                *size,
                cost,
                saved,
                (saved > 0.0).then(|| (cost / saved).ceil().max(1.0)),
            ))
        })
        .collect()
}

fn pinning(page: &mut Page, experiment: &Experiment) -> Option<Markup> {
    let paybacks = paybacks(experiment);
    let points: Vec<Point> = paybacks
        .iter()
        .filter_map(|(size, _, _, copies)| Some((*size, (*copies)?)))
        .collect();
    let x = Axis::sizes(paybacks.iter().map(|(size, ..)| *size), 6)?;
    let high = points
        .iter()
        .map(|(_, copies)| *copies)
        .fold(10.0, f64::max);
    let y = Axis::log_of([1.0, high * 1.3].into_iter(), 6, |value| {
        format!("{value:.0}")
    })?;
    let mut plot = Plot::new(x, y, "size", "copies until pinning saves time");
    plot.curve(
        &Curve {
            class: "pin",
            mark: Some(Mark::Square),
            points: &points,
        },
        |(size, n)| format!("{}: {n:.0} copies", bytes_f64(size)),
    );
    let name = format!(
        "Copies until pinning saves time, by size, {}",
        experiment.subject()
    );
    let usual = paybacks
        .iter()
        .find(|(size, ..)| *size == lab::overview::USUAL_SIZE as f64);
    let note = match usual {
        Some((_, cost, _, Some(copies))) => {
            format!(
                "pinning 4 MiB costs {} and saves time after {copies:.0} copies to the device",
                duration(*cost)
            )
        }
        Some((_, cost, _, None)) => {
            format!("pinning 4 MiB costs {} and saves nothing", duration(*cost))
        }
        None => String::new(),
    };
    let mut data = Table::new(&["size", "cost of pinning", "saved per copy", "copies"]);
    data.rows = paybacks
        .iter()
        .map(|(size, cost, saved, copies)| {
            vec![
                bytes_f64(*size),
                duration(*cost),
                duration(*saved),
                copies.map_or("never".to_owned(), |copies| format!("{copies:.0}")),
            ]
        })
        .collect();
    let drawing = plot.finish(&page.id(), &name, &note);
    let title = format!("When pinning saves time, {}", experiment.subject());
    let figure = Figure {
        title,
        note,
        drawings: vec![drawing],
        data,
        ..Figure::default()
    };
    Some(figure.html())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn pinning_breaks_even_after_cost_over_saving_copies() {
        let report = fixture::report();
        let transfer = |device: &str| {
            let found = report.experiments.iter().find(|experiment| {
                experiment.id == ExperimentId::Transfer && experiment.device == device
            });
            paybacks(found.unwrap())
        };
        let cuda = transfer("cuda");
        assert_eq!(cuda.len(), 9);
        for (_, cost, saved, copies) in &cuda {
            assert_eq!(*copies, Some((cost / saved).ceil()));
        }
        assert!(transfer("cpu").is_empty(), "nothing can be pinned there");
    }
}
