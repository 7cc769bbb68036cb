//! Plots the iterations of some benchmarks, the problematic ones first: without a steady
//! state, then slowdowns, then warm-ups. The plotted points are a downsampled copy: the full
//! series are dropped before the page is rendered.

use maud::{Markup, html};
use preheat_model::classify::{Benchmark, ClassifyReport};
use preheat_model::stats::{Consistency, Estimate};

use crate::classify;
use crate::compare::interval;
use crate::html::figure::{Figure, Table, folded, grid, legend};
use crate::html::page::Page;
use crate::html::plot::{Plot, downsample};
use crate::html::scale::{Axis, extent};
use crate::html::svg::Point;
use crate::units::{ABSENT, Unit, duration, duration_span, ratio, ratio_span, with_interval};

/// The maximum number of plots.
const MAX_PLOTS: usize = 48;
/// The number of plots that are not folded away.
const UNFOLDED_PLOTS: usize = 6;
/// The minimum number of iterations for a plot.
const MIN_ITERATIONS: usize = 3;
/// The maximum number of starts in the data table of a plot.
const ROWS: usize = 40;

/// The section.
pub(super) fn add(page: &mut Page<ClassifyReport>, sketches: &[Option<ClassifySketch>]) {
    let report = page.report;
    let names = classify::names(report);
    let mut order: Vec<usize> = (0..report.benchmarks.len())
        .filter(|at| sketches.get(*at).is_some_and(Option::is_some))
        .collect();
    // If all are visible, keep their order.
    if order.len() > UNFOLDED_PLOTS {
        order.sort_by_key(|at| {
            let benchmark = &report.benchmarks[*at];
            let mixed = benchmark.consistency == Consistency::BadInconsistent;
            std::cmp::Reverse((benchmark.class, mixed))
        });
    }
    let mut figures: Vec<Markup> = Vec::new();
    for at in order.iter().take(MAX_PLOTS) {
        let (Some(Some(sketch)), benchmark) = (sketches.get(*at), &report.benchmarks[*at]) else {
            continue;
        };
        let id = page.id();
        figures.extend(figure(&id, &names[*at], benchmark, sketch));
    }
    if figures.is_empty() {
        return;
    }
    let mut lead =
        "Each line is a start. Both scales are logarithmic, which spreads out the first \
                    iterations. Discard everything to the left of the vertical line."
            .to_owned();
    if order.len() > MAX_PLOTS {
        lead.push_str(&format!(
            " {} of {} benchmarks are shown, those that settle worst first.",
            figures.len(),
            report.benchmarks.len()
        ));
    }
    let rest = figures.split_off(figures.len().min(UNFOLDED_PLOTS));
    let key = legend(&[
        (None, "start", "a start".to_owned()),
        (None, "level", "steady".to_owned()),
        (None, "discard", "discard up to here".to_owned()),
    ]);
    let more = folded(&format!("{} more", rest.len()), &grid(&rest));
    let content = html! { (key) (grid(&figures)) (more) };
    page.section("iterations", "Iterations", &lead, content);
}

fn figure(id: &str, name: &str, benchmark: &Benchmark, sketch: &ClassifySketch) -> Option<Markup> {
    let line = |start: &Vec<(usize, f64)>| -> Vec<Point> {
        let points = start.iter().filter(|(_, time)| *time > 0.0);
        points.map(|(at, time)| ((at + 1) as f64, *time)).collect()
    };
    let lines: Vec<Vec<Point>> = sketch.starts.iter().map(line).collect();
    let steady = benchmark.steady.map(|steady| steady.value);
    let times = || lines.iter().flatten().map(|(_, time)| *time).chain(steady);
    extent(times())?;
    let (_, longest) = benchmark.iterations();
    if longest < MIN_ITERATIONS {
        return None;
    }
    let x = Axis::log_of([1.0, longest as f64].into_iter(), 8, |value| {
        format!("{value:.0}")
    })?;
    let mut plot = Plot::new(
        x,
        Axis::times(times(), 6)?,
        benchmark.measures.singular(),
        "time",
    );
    if let Some(steady) = steady {
        plot.level("level", steady);
    }
    plot.bundle("start", &lines);
    if let Some(discard @ 1..) = benchmark.discard {
        // Between the last discarded iteration and the first one that is kept.
        plot.upright(
            "discard-line",
            (discard as f64 * (discard as f64 + 1.0)).sqrt(),
        );
    }
    let mut note = format!(
        "{} · {}",
        classify::behavior(benchmark),
        classify::extent(benchmark)
    );
    let of: usize = benchmark.starts.iter().map(|start| start.iterations).sum();
    if sketch.points() < of {
        note.push_str(&format!(", {} of {of} points shown", sketch.points()));
    }
    let figure = Figure {
        title: name.to_owned(),
        drawings: vec![plot.finish(id, name, &note)],
        note,
        data: table(benchmark),
        ..Figure::default()
    };
    Some(figure.html())
}

/// The data table: all starts together with their intervals, then each start.
fn table(benchmark: &Benchmark) -> Table {
    let mut table = Table::new(&[
        "start",
        "class",
        "steady after",
        "first",
        "steady",
        "ratio",
        "excess",
    ]);
    table.words = vec![1];
    let absent = || ABSENT.to_owned();
    let within =
        |number: String, span: Option<String>| with_interval(&number, span.as_deref(), false);
    let time = |i: Estimate| within(duration(i.value), duration_span(i.value, i.low, i.high));
    let times = |i: Estimate| within(ratio(i.value), ratio_span(i.low, i.high));
    let excess = |i: Estimate| within(classify::time(i.value), interval(&i, Unit::Seconds));
    if benchmark.starts.len() > 1 {
        table.rows.push(vec![
            "all (95 %)".to_owned(),
            benchmark.class.to_string(),
            benchmark.discard.map_or_else(absent, |n| n.to_string()),
            time(benchmark.first),
            benchmark.steady.map_or_else(absent, time),
            benchmark.ratio.map_or_else(absent, times),
            benchmark.excess.map_or_else(absent, excess),
        ]);
    }
    for (at, start) in benchmark.starts.iter().enumerate().take(ROWS) {
        table.rows.push(vec![
            (at + 1).to_string(),
            start.class.to_string(),
            start.steady_start.map_or_else(absent, |n| n.to_string()),
            duration(start.first),
            start.steady.map_or_else(absent, duration),
            start
                .steady
                .map_or_else(absent, |steady| ratio(start.first / steady)),
            start.excess.map_or_else(absent, classify::time),
        ]);
    }
    table
}

/// The maximum number of starts of a sketch.
const STARTS: usize = 12;
/// The maximum number of points per start.
const POINTS: usize = 160;

/// The points of a few starts of one benchmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassifySketch {
    /// The points of each start as (iteration from 0, seconds).
    starts: Vec<Vec<(usize, f64)>>,
}

impl ClassifySketch {
    /// Downsamples the iterations of every start.
    pub fn of(starts: &[Vec<f64>]) -> ClassifySketch {
        let starts = starts.iter().take(STARTS);
        ClassifySketch {
            starts: starts.map(|start| downsample(start, POINTS)).collect(),
        }
    }

    /// The total number of points.
    fn points(&self) -> usize {
        self.starts.iter().map(Vec::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_bounded_and_keeps_the_first_iterations() {
        let starts = vec![(1..=100_000).map(f64::from).collect(); 40];
        let sketch = ClassifySketch::of(&starts);
        assert!(sketch.points() <= STARTS * POINTS);
        assert_eq!(sketch.starts[0][..3], [(0, 1.0), (1, 2.0), (2, 3.0)]);
    }
}
