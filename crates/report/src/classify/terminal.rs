//! Renders classified times for the terminal.
//!
//! Top to bottom: the number of benchmarks in each class; full details of a few benchmarks,
//! or one line for each of many; notes; and, just above the prompt, what to discard.

use preheat_model::classify::{Benchmark, ClassifyReport, Measures, Start};
use preheat_model::stats::{Class, Consistency, Estimate};

use crate::classify;
use crate::compare::interval;
use crate::terminal::table::{Cell, Table, left, right};
use crate::terminal::{Screen, Style, Terminal, clean, joined};
use crate::units::{
    ABSENT, TOO_WIDE, Unit, counted, duration, duration_parts, duration_span, minus, ratio,
    ratio_span, span, too_wide,
};

/// The maximum number of benchmarks to show in detail.
const MAX_DETAILED: usize = 3;
/// The maximum number of notes to show for many benchmarks.
const MAX_NOTES: usize = 8;

/// The width that names get before the intervals are shown.
const NAME: usize = 20;
/// The smallest ratio that is shown in bold.
const STRIKING: f64 = 10.0;

/// The maximum number of starts to list.
const STARTS: usize = 20;

/// Renders the report; no line is wider than the terminal.
pub fn classify_terminal(report: &ClassifyReport, terminal: &Terminal) -> String {
    let mut screen = Screen::new(terminal);
    let headline = format!("{}.", classify::headline(report));
    screen.paragraph(&[], 0, Style::Bold, &headline);
    let few = report.benchmarks.len() <= MAX_DETAILED;
    if few {
        for benchmark in &report.benchmarks {
            show_details(&mut screen, benchmark, report.benchmarks.len() > 1);
        }
    } else {
        show_rows(&mut screen, report);
    }
    screen.blank();
    if !few {
        let notes = classify::notes(report);
        for (count, note) in notes.iter().take(MAX_NOTES) {
            let of = match report.benchmarks.len() {
                all if all == *count => "all".to_owned(),
                _ => count.to_string(),
            };
            let lead = format!("· {of}: ");
            screen.paragraph(&[(Style::Dim, &lead)], 2, Style::Dim, note);
        }
        if notes.len() > MAX_NOTES {
            let more = format!("· {} more in --json", notes.len() - MAX_NOTES);
            screen.paragraph(&[], 2, Style::Dim, &more);
        }
    }
    for note in &report.notes {
        screen.paragraph(&[(Style::Dim, "· ")], 2, Style::Dim, note);
    }
    screen.blank();
    for sentence in classify::discard(report) {
        screen.paragraph(&[], 0, Style::Bold, &sentence);
    }
    screen.finish()
}

/// A time for a column: always three digits and a padded unit, so that numbers align.
fn time(seconds: f64) -> String {
    match duration_parts(seconds) {
        Some((number, unit)) => format!("{} {unit:<2}", minus(&number)),
        None => format!("{ABSENT}   "),
    }
}

/// Shows many benchmarks, one line each.
fn show_rows(screen: &mut Screen, report: &ClassifyReport) {
    if report.benchmarks.is_empty() {
        return;
    }
    screen.blank();
    let names = classify::names(report);
    let mut table = Table::new(&[
        left("benchmark"),
        right("first"),
        right("steady"),
        right("ratio"),
        left("95 %").drop_below(NAME),
        left("class"),
        right("discard"),
    ]);
    for (name, benchmark) in names.iter().zip(&report.benchmarks) {
        table.row(benchmark_row(name, benchmark));
    }
    table.show(screen);
    let mixed = |b: &Benchmark| b.consistency != Consistency::Consistent;
    if report.benchmarks.iter().any(mixed) {
        screen.blank();
        screen.paragraph(&[], 2, Style::Dim, "* not every start is in this class");
    }
}

fn benchmark_row(name: &str, benchmark: &Benchmark) -> Vec<Cell> {
    let absent = || ABSENT.to_owned();
    let star = match benchmark.consistency {
        Consistency::Consistent => "",
        Consistency::GoodInconsistent | Consistency::BadInconsistent => "*",
    };
    let striking = benchmark.ratio.is_some_and(|r| r.value >= STRIKING);
    let interval = benchmark.ratio.and_then(|r| span(r.low, r.high));
    vec![
        (Style::Plain, clean(name)),
        (Style::Plain, time(benchmark.first.value)),
        (
            Style::Plain,
            benchmark.steady.map_or_else(absent, |s| time(s.value)),
        ),
        (
            if striking { Style::Bold } else { Style::Plain },
            benchmark.ratio.map_or_else(absent, |r| ratio(r.value)),
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
fn of_class(class: Class) -> Style {
    match class {
        Class::Flat => Style::Green,
        Class::ColdFirst | Class::Warmup => Style::Plain,
        Class::Slowdown => Style::Yellow,
        Class::NoSteadyState => Style::Red,
    }
}

/// Shows one benchmark in full detail: its totals, then each start.
fn show_details(screen: &mut Screen, benchmark: &Benchmark, named: bool) {
    if named {
        screen.title(&clean(&benchmark.name));
    } else {
        screen.blank();
    }
    let facts = [
        classify::extent(benchmark),
        benchmark.format.to_string(),
        benchmark.file.clone(),
    ];
    screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Dim, &joined(&facts));
    let agreement = classify::agreement(benchmark);
    let mut line = vec![
        (Style::Dim, "  class    ".to_owned()),
        (of_class(benchmark.class), benchmark.class.to_string()),
    ];
    if !agreement.is_empty() {
        line.push((Style::Dim, format!("  {agreement}")));
    }
    screen.line(line);
    show_numbers(screen, benchmark);
    let discard = match (benchmark.discard, benchmark.measures) {
        (None, _) => ABSENT.to_owned(),
        (Some(0), _) => "nothing".to_owned(),
        (Some(n), Measures::Iterations) => {
            format!("{} of each start", counted(n, "iteration"))
        }
        (Some(n), Measures::Starts) => counted(n, "start"),
    };
    screen.line(vec![
        (Style::Dim, "  discard  ".to_owned()),
        (Style::Plain, discard),
    ]);
    if benchmark.starts.len() > 1 {
        show_starts(screen, &benchmark.starts);
    }
    if !benchmark.notes.is_empty() {
        screen.blank();
    }
    for note in &benchmark.notes {
        screen.paragraph(&[(Style::Dim, "  · ")], 4, Style::Dim, note);
    }
}

/// The bounds of an interval, with words if it is too wide to show anything.
fn with_words(bounds: String, interval: &Estimate) -> String {
    match too_wide(interval.low, interval.high) {
        true => format!("{bounds}; {TOO_WIDE}"),
        false => bounds,
    }
}

fn show_numbers(screen: &mut Screen, benchmark: &Benchmark) {
    let with = |number: String, bounds: Option<String>, of: &Estimate| {
        (number, bounds.map(|bounds| with_words(bounds, of)))
    };
    let time = |of: &Estimate| {
        let bounds = duration_span(of.value, of.low, of.high);
        with(duration(of.value), bounds, of)
    };
    let times = |of: &Estimate| with(ratio(of.value), ratio_span(of.low, of.high), of);
    let excess = |of: &Estimate| {
        let bounds = interval(of, Unit::Seconds);
        with(classify::time(of.value), bounds, of)
    };
    let rows = [
        ("first", Some(time(&benchmark.first))),
        ("steady", benchmark.steady.as_ref().map(time)),
        ("ratio", benchmark.ratio.as_ref().map(times)),
        ("excess", benchmark.excess.as_ref().map(excess)),
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

fn show_starts(screen: &mut Screen, starts: &[Start]) {
    screen.blank();
    let mut table = Table::new(&[
        right("start"),
        right("first"),
        right("steady"),
        right("ratio"),
        right("excess"),
        right("steady after"),
        left("class"),
    ]);
    for (at, start) in starts.iter().take(STARTS).enumerate() {
        table.row(start_row(at, start));
    }
    table.show(screen);
    if starts.len() > STARTS {
        let more = format!("  {} more in --json", starts.len() - STARTS);
        screen.line(vec![(Style::Dim, more)]);
    }
}

fn start_row(at: usize, start: &Start) -> Vec<(Style, String)> {
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
