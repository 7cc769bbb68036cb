//! Many benchmarks, one line each.

use preheat_model::classify::{Benchmark, ClassifyReport};
use preheat_model::stats::{Class, Consistency};

use super::grid::{Column, Grid};
use crate::classify::words;
use crate::terminal::{Screen, Style, clean, width};
use crate::units::{ABSENT, ratio, span};

use super::time;

/// The width that names get before the intervals are shown.
const NAME: usize = 20;
/// The header of the column of intervals.
const INTERVAL: &str = "95 %";
/// The smallest ratio that is shown in bold.
const STRIKING: f64 = 10.0;

/// Shows the table.
pub(super) fn show(screen: &mut Screen, report: &ClassifyReport) {
    if report.benchmarks.is_empty() {
        return;
    }
    screen.blank();
    let column = |name, right| Column { name, right };
    let names = words::names(report);
    let mut grid = Grid {
        columns: vec![
            column("benchmark", false),
            column("first", true),
            column("steady", true),
            column("ratio", true),
            column(INTERVAL, false),
            column("class", false),
            column("discard", true),
        ],
        rows: (names.iter().zip(&report.benchmarks))
            .map(|(name, benchmark)| row(name, benchmark))
            .collect(),
    };
    let longest = names.iter().map(|name| width(name)).max();
    let wanted = longest.unwrap_or(0).min(NAME);
    if grid.room_of_first(screen.terminal.width) < wanted {
        grid.remove(INTERVAL);
    }
    grid.show(screen);
    let mixed = |b: &Benchmark| b.consistency != Consistency::Consistent;
    if report.benchmarks.iter().any(mixed) {
        screen.blank();
        screen.paragraph(&[], 2, Style::Dim, "* not every start is in this class");
    }
}

fn row(name: &str, benchmark: &Benchmark) -> Vec<(Style, String)> {
    let absent = || ABSENT.to_owned();
    let star = match benchmark.consistency {
        Consistency::Consistent => "",
        _ => "*",
    };
    let striking = benchmark.ratio.is_some_and(|r| r.estimate >= STRIKING);
    let interval = benchmark.ratio.and_then(|r| span(r.low, r.high));
    vec![
        (Style::Plain, clean(name)),
        (Style::Plain, time(benchmark.first.estimate)),
        (
            Style::Plain,
            benchmark.steady.map_or_else(absent, |s| time(s.estimate)),
        ),
        (
            if striking { Style::Bold } else { Style::Plain },
            benchmark.ratio.map_or_else(absent, |r| ratio(r.estimate)),
        ),
        (Style::Dim, interval.unwrap_or_default()),
        (
            of_class(benchmark.class),
            format!("{}{star}", benchmark.class),
        ),
        (
            Style::Plain,
            benchmark.discard.map_or_else(absent, |n| n.to_string()),
        ),
    ]
}

/// The style of a class.
pub(super) fn of_class(class: Class) -> Style {
    match class {
        Class::Flat => Style::Green,
        Class::ColdFirst | Class::Warmup => Style::Plain,
        Class::Slowdown => Style::Yellow,
        Class::NoSteadyState => Style::Red,
    }
}
