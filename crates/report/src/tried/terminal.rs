//! Renders a measurement of remedies as two tables: the times of each configuration, and
//! the result for each remedy.

use preheat_model::compare::Estimate;
use preheat_model::tried::{Kept, TriedReport, TriedVariant};

use super::words::{self, saved, short, time};
use crate::html::markup::command_line;
use crate::terminal::cells::bar;
use crate::terminal::{Screen, Style, Terminal, clean, fit, width};
use crate::units::{ABSENT, duration, ratio};

/// The maximum width of the bar that shows a time.
const BAR: usize = 20;
/// The minimum width of the bar; it is omitted if there is less space.
const LEAST_BAR: usize = 6;

/// Renders the report; no line is wider than the terminal.
pub fn tried_terminal(report: &TriedReport, terminal: &Terminal) -> String {
    let mut screen = Screen::new(terminal);
    screen.paragraph(&[], 0, Style::Bold, &clean(&command_line(&report.command)));
    screen.paragraph(&[], 0, Style::Dim, &words::about(report));
    screen.blank();
    variants(&mut screen, report);
    remedies(&mut screen, report);
    screen.blank();
    for (why, remedies) in words::not_tried(report) {
        let lead = format!("{} not measured: ", remedies.join(", "));
        screen.paragraph(&[(Style::Dim, &*lead)], 2, Style::Dim, why);
    }
    screen.blank();
    for note in &report.notes {
        screen.paragraph(&[(Style::Yellow, "! ")], 2, Style::Plain, note);
    }
    screen.blank();
    let style = match report.kept.is_empty() {
        true => Style::Yellow,
        false => Style::Green,
    };
    screen.paragraph(&[], 0, style, &words::decision(report));
    screen.finish()
}

fn variants(screen: &mut Screen, report: &TriedReport) {
    let room = screen.terminal.width;
    let rows = |save: fn(Estimate) -> String| -> Vec<[String; 4]> {
        let row = |variant: &TriedVariant| {
            [
                words::variant(variant, report),
                time(variant.time_to_first),
                variant
                    .times
                    .map_or_else(String::new, |times| ratio(times.value)),
                variant.saved.map_or_else(String::new, save),
            ]
        };
        report.variants.iter().map(row).collect()
    };
    let heads = ["", "time to first", "faster", "change"];
    let widths = |rows: &[[String; 4]]| {
        [0, 1, 2, 3].map(|at| {
            let cells = rows.iter().map(|row| width(&row[at]));
            cells.chain([width(heads[at])]).max().unwrap_or(0)
        })
    };
    let total = |widths: [usize; 4]| widths.iter().map(|width| 2 + width).sum::<usize>();
    // A narrow terminal drops the bars, then the intervals of the savings.
    let mut rows_shown = rows(saved);
    if total(widths(&rows_shown)) > room {
        rows_shown = rows(short);
    }
    let [name, first, faster, save] = widths(&rows_shown);
    let bars = room.saturating_sub(total(widths(&rows_shown)) + 2).min(BAR);
    let value = |variant: &TriedVariant| variant.time_to_first.map_or(0.0, |time| time.value);
    let slowest = report.variants.iter().map(value).fold(0.0, f64::max);
    let line = |[of, value, factor, less]: [&str; 4], bar: &str| {
        let text = format!("  {of:<name$}  {value:<first$}  {factor:>faster$}  {less:<save$}");
        let text = match bars >= LEAST_BAR {
            true => format!("{text}  {bar}"),
            false => text,
        };
        fit(text.trim_end(), room)
    };
    screen.line(vec![(Style::Dim, line(heads, ""))]);
    for (row, variant) in rows_shown.iter().zip(&report.variants) {
        let text = line(
            row.each_ref().map(String::as_str),
            &bar(value(variant), slowest, bars.max(1)),
        );
        let clear = variant.saved.is_some_and(|of| of.low > Some(0.0));
        let style = if clear { Style::Green } else { Style::Plain };
        screen.line(vec![(style, text)]);
    }
    for text in words::colder_bases(report) {
        screen.paragraph(&[(Style::Dim, "  ")], 2, Style::Dim, &text);
    }
}

fn remedies(screen: &mut Screen, report: &TriedReport) {
    if report.remedies.is_empty() {
        return;
    }
    screen.title("Predicted and measured");
    let beside = report.remedies.iter().any(|of| of.with_others.is_some());
    let heads = ["", "predicted", "alone", "added", ""];
    let rows: Vec<(Kept, [String; 5])> = (report.remedies.iter())
        .map(|tried| {
            let row = [
                words::remedy(&tried.id),
                tried.predicted.map_or_else(
                    || ABSENT.to_owned(),
                    |seconds| format!("−{}", duration(seconds)),
                ),
                tried.alone.map_or_else(|| ABSENT.to_owned(), short),
                tried.with_others.map_or_else(|| ABSENT.to_owned(), short),
                words::kept(tried.kept).to_owned(),
            ];
            (tried.kept, row)
        })
        .collect();
    let longest = |at: usize| {
        let cells = rows.iter().map(|(_, row)| width(&row[at]));
        cells.chain([width(heads[at])]).max().unwrap_or(0)
    };
    let [name, predicted, alone, others] = [0, 1, 2, 3].map(longest);
    let line = |[of, before, single, with, kept]: [&str; 5]| {
        let mut text = format!("  {of:<name$}  {before:>predicted$}  {single:>alone$}");
        if beside {
            text.push_str(&format!("  {with:>others$}"));
        }
        format!("{text}  {kept}")
    };
    screen.line(vec![(Style::Dim, line(heads).trim_end().to_owned())]);
    for (kept, row) in &rows {
        let text = line(row.each_ref().map(String::as_str));
        let style = match kept {
            kept if kept.is_kept() => Style::Green,
            Kept::Costs | Kept::Slows => Style::Red,
            _ => Style::Plain,
        };
        screen.line(vec![(style, fit(&text, screen.terminal.width))]);
    }
    for text in words::held(report)
        .into_iter()
        .chain(words::variables(report))
    {
        screen.paragraph(&[(Style::Dim, "  ")], 2, Style::Plain, &clean(&text));
    }
}
