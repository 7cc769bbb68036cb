//! One benchmark in full detail.

use preheat_model::classify::{Benchmark, Measures, Start};
use preheat_model::stats::Interval;

use super::grid::{Column, Grid};
use super::rows::of_class;
use super::time;
use crate::classify::words;
use crate::terminal::{Screen, Style, clean, joined};
use crate::units::{ABSENT, TOO_WIDE, ratio, span, too_wide};

/// The maximum number of starts to list.
const STARTS: usize = 20;

/// Shows the totals of the benchmark, then each start.
pub(super) fn show(screen: &mut Screen, benchmark: &Benchmark, named: bool) {
    if named {
        screen.title(&clean(&benchmark.name));
    } else {
        screen.blank();
    }
    let facts = [
        words::extent(benchmark),
        benchmark.format.to_string(),
        benchmark.file.clone(),
    ];
    screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Dim, &joined(&facts));
    let agreement = words::agreement(benchmark);
    let mut line = vec![
        (Style::Dim, "  class    ".to_owned()),
        (of_class(benchmark.class), benchmark.class.to_string()),
    ];
    if !agreement.is_empty() {
        line.push((Style::Dim, format!("  {agreement}")));
    }
    screen.line(line);
    numbers(screen, benchmark);
    let discard = match (benchmark.discard, benchmark.measures) {
        (None, _) => ABSENT.to_owned(),
        (Some(0), _) => "nothing".to_owned(),
        (Some(n), Measures::Iterations) => {
            format!(
                "{} of each start",
                words::count(n, "iteration", "iterations")
            )
        }
        (Some(n), Measures::Starts) => words::count(n, "start", "starts"),
    };
    screen.line(vec![
        (Style::Dim, "  discard  ".to_owned()),
        (Style::Plain, discard),
    ]);
    if benchmark.starts.len() > 1 {
        starts(screen, &benchmark.starts);
    }
    if !benchmark.notes.is_empty() {
        screen.blank();
    }
    for note in &benchmark.notes {
        screen.paragraph(&[(Style::Dim, "  · ")], 4, Style::Dim, note);
    }
}

/// The bounds of an interval, with words if it is too wide to show anything.
fn with_words(bounds: String, interval: &Interval) -> String {
    match too_wide(interval.low, interval.high) {
        true => format!("{bounds}; {TOO_WIDE}"),
        false => bounds,
    }
}

fn numbers(screen: &mut Screen, benchmark: &Benchmark) {
    let time = |interval: &Interval| {
        let bounds = words::time_span(interval);
        (
            words::time(interval.estimate),
            bounds.map(|bounds| with_words(bounds, interval)),
        )
    };
    let times = |interval: &Interval| {
        let bounds = span(interval.low, interval.high);
        (
            ratio(interval.estimate),
            bounds.map(|bounds| with_words(bounds, interval)),
        )
    };
    let rows = [
        ("first", Some(time(&benchmark.first))),
        ("steady", benchmark.steady.as_ref().map(time)),
        ("ratio", benchmark.ratio.as_ref().map(times)),
        ("excess", benchmark.excess.as_ref().map(time)),
    ];
    for (name, number) in rows {
        let (number, interval) = number.unwrap_or_else(|| (ABSENT.to_owned(), None));
        let mut line = vec![
            (Style::Dim, format!("  {name:<9}")),
            (Style::Plain, format!("{number:<9}")),
        ];
        if let Some(interval) = interval {
            line.push((Style::Dim, format!("  95 %: {interval}")));
        }
        screen.line(line);
    }
}

fn starts(screen: &mut Screen, starts: &[Start]) {
    screen.blank();
    let column = |name, right| Column { name, right };
    let grid = Grid {
        columns: vec![
            column("start", true),
            column("first", true),
            column("steady", true),
            column("ratio", true),
            column("excess", true),
            column("steady after", true),
            column("class", false),
        ],
        rows: (starts.iter().take(STARTS).enumerate())
            .map(|(at, start)| row(at, start))
            .collect(),
    };
    grid.show(screen);
    if starts.len() > STARTS {
        let more = format!("  {} more in --json", starts.len() - STARTS);
        screen.line(vec![(Style::Dim, more)]);
    }
}

fn row(at: usize, start: &Start) -> Vec<(Style, String)> {
    let plain = |text: String| (Style::Plain, text);
    let absent = || ABSENT.to_owned();
    vec![
        (Style::Dim, (at + 1).to_string()),
        plain(time(start.first)),
        plain(start.steady.map_or_else(absent, time)),
        plain(
            start
                .steady
                .map_or_else(absent, |steady| ratio(start.first / steady)),
        ),
        plain(start.excess.map_or_else(absent, time)),
        plain(start.steady_start.map_or_else(absent, |n| n.to_string())),
        (of_class(start.class), start.class.to_string()),
    ]
}
