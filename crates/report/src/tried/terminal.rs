//! Remedies that were tried, as two tables: how long starts of each kind took, and what
//! follows for each remedy.

use preheat_analyze::compare::Estimate;
use preheat_analyze::tried::{Kept, TriedReport, TriedVariant};

use super::words;
use crate::html::command::command_line;
use crate::terminal::cells::bar;
use crate::terminal::{Screen, Style, Terminal, clean, fit, width};
use crate::units::{ABSENT, duration, ratio};

/// The bar of a time is at most this long.
const BAR: usize = 20;

/// The report as lines of text, none wider than the terminal.
pub fn tried_terminal(report: &TriedReport, terminal: &Terminal) -> String {
    let mut screen = Screen::new(terminal);
    screen.paragraph(&[], 0, Style::Bold, &clean(&command_line(&report.command)));
    let starts = report.variants.iter().map(|variant| variant.values.len());
    let fewest = starts.clone().min().unwrap_or(0);
    let most = starts.max().unwrap_or(0);
    let starts = match fewest == most {
        true => format!("{most} starts of each kind"),
        false => format!("{fewest} to {most} starts of each kind"),
    };
    let what = match report.iteration.is_empty() {
        true => "time to the end".to_owned(),
        false => format!("time to first · iterations: {}", report.iteration),
    };
    let about = format!("{starts} that count, in turn · {what}");
    screen.paragraph(&[], 0, Style::Dim, &about);
    screen.blank();
    variants(&mut screen, report);
    remedies(&mut screen, report);
    for (id, why) in &report.not_tried {
        let lead = format!("{} was not tried: ", words::remedy(id));
        screen.paragraph(&[(Style::Dim, &*lead)], 2, Style::Dim, why);
    }
    screen.blank();
    for note in &report.notes {
        screen.paragraph(&[(Style::Yellow, "! ")], 2, Style::Plain, note);
    }
    screen.blank();
    let (style, sentence) = headline(report);
    screen.paragraph(&[], 0, style, &sentence);
    screen.finish()
}

/// What is done from now on.
fn headline(report: &TriedReport) -> (Style, String) {
    if report.kept.is_empty() {
        return (
            Style::Yellow,
            "Nothing was shown to pay here: `preheat start` starts this program plainly."
                .to_owned(),
        );
    }
    let names: Vec<String> = report.kept.iter().map(|id| words::remedy(id)).collect();
    let names = match &names[..] {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    };
    (
        Style::Green,
        format!("From now on `preheat start` starts this program with {names}."),
    )
}

fn variants(screen: &mut Screen, report: &TriedReport) {
    let heads = ["", "time to first", "saved", ""];
    let rows: Vec<[String; 4]> = (report.variants.iter())
        .map(|variant| {
            [
                words::variant(variant, report),
                estimate(variant.time_to_first, duration),
                variant.saved.map_or_else(String::new, saved),
                variant.times.map_or_else(String::new, |times| {
                    format!("{}×", ratio(times.value).trim_end_matches('×'))
                }),
            ]
        })
        .collect();
    let longest = |at: usize| {
        let cells = rows.iter().map(|row| width(&row[at]));
        cells.chain([width(heads[at])]).max().unwrap_or(0)
    };
    let [name, time, save, times] = [0, 1, 2, 3].map(longest);
    let taken = 2 + name + 2 + time + 2 + save + 2 + times;
    let bars = screen.terminal.width.saturating_sub(taken + 2).min(BAR);
    let slowest = |variant: &TriedVariant| variant.time_to_first.map_or(0.0, |time| time.value);
    let slowest = report.variants.iter().map(slowest).fold(0.0, f64::max);
    let line = |[of, value, less, factor]: &[String; 4], bar: &str| {
        let text = format!("  {of:<name$}  {value:<time$}  {less:<save$}  {factor:>times$}");
        if bars >= 6 {
            format!("{text}  {bar}")
        } else {
            text
        }
    };
    let head = line(&heads.map(str::to_owned), "");
    screen.line(vec![(Style::Dim, head.trim_end().to_owned())]);
    for (row, variant) in rows.iter().zip(&report.variants) {
        let value = variant.time_to_first.map_or(0.0, |time| time.value);
        let text = line(row, &bar(value, slowest, bars.max(1)));
        let style = match variant.remedies.is_empty() {
            true => Style::Plain,
            false if variant.saved.is_some_and(|of| of.low > Some(0.0)) => Style::Green,
            false => Style::Plain,
        };
        screen.line(vec![(style, fit(text.trim_end(), screen.terminal.width))]);
    }
}

fn remedies(screen: &mut Screen, report: &TriedReport) {
    if report.remedies.is_empty() {
        return;
    }
    screen.title("Predicted and measured");
    let beside = report.remedies.iter().any(|of| of.with_others.is_some());
    let heads = ["", "predicted", "alone", "beside the others", ""];
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
            Kept::Costs => Style::Red,
            _ => Style::Plain,
        };
        screen.line(vec![(style, fit(&text, screen.terminal.width))]);
    }
}

/// What is saved is a time less: 7.3 s → −7.3 s (−7.6 to −7.0).
fn saved(of: Estimate) -> String {
    let value = signed(of.value);
    match (of.low, of.high) {
        (Some(low), Some(high)) => format!("{value} ({} to {})", signed(high), signed(low)),
        _ => value,
    }
}

fn short(of: Estimate) -> String {
    signed(of.value)
}

fn signed(saved: f64) -> String {
    let sign = if saved < 0.0 { "+" } else { "−" };
    format!("{sign}{}", duration(saved.abs()))
}

fn estimate(of: Option<Estimate>, write: fn(f64) -> String) -> String {
    let Some(of) = of else {
        return ABSENT.to_owned();
    };
    match (of.low, of.high) {
        (Some(low), Some(high)) => {
            format!("{} ({}–{})", write(of.value), write(low), write(high))
        }
        _ => write(of.value),
    }
}
