//! Renders a measurement of remedies as two tables: the times of each configuration, and
//! the result for each remedy.

use preheat_model::measurement::{ConfigurationResult, Decision, MeasurementReport};
use preheat_model::stats::Estimate;

use crate::html::command_line;
use crate::measurement::{self, saved, short, time};
use crate::terminal::cells::bar;
use crate::terminal::table::{Table, left, right};
use crate::terminal::{Screen, Style, Terminal, clean};
use crate::units::{ABSENT, duration, ratio};

/// The maximum width of the bar that shows a time.
const BAR: usize = 20;
/// The minimum width of the bar; it is omitted if there is less space.
const MIN_BAR: usize = 6;

/// The width that the names of remedies keep.
const MIN_NAME: usize = 16;

/// Renders the report; no line is wider than the terminal.
pub fn measurement_terminal(report: &MeasurementReport, terminal: &Terminal) -> String {
    let mut screen = Screen::new(terminal);
    screen.paragraph(&[], 0, Style::Bold, &clean(&command_line(&report.command)));
    screen.paragraph(&[], 0, Style::Dim, &measurement::about(report));
    screen.blank();
    configurations(&mut screen, report);
    remedies(&mut screen, report);
    screen.blank();
    for (why, remedies) in measurement::skipped(report) {
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
    screen.paragraph(&[], 0, style, &measurement::decision(report));
    screen.finish()
}

fn configurations(screen: &mut Screen, report: &MeasurementReport) {
    let room = screen.terminal.width;
    let is_faster = |configuration: &ConfigurationResult| {
        configuration.saved.is_some_and(|of| of.low > Some(0.0))
    };
    let style = |configuration: &ConfigurationResult| match is_faster(configuration) {
        true => Style::Green,
        false => Style::Plain,
    };
    let table = |save: fn(Estimate) -> String| {
        let mut table = Table::new(&[
            left(""),
            left("time to first"),
            right("speedup"),
            left("change"),
        ]);
        for configuration in &report.configurations {
            let cells = [
                measurement::configuration(configuration, report),
                time(configuration.time_to_first),
                (configuration.times).map_or_else(String::new, |times| ratio(times.value)),
                configuration.saved.map_or_else(String::new, save),
            ];
            table.row(cells.map(|text| (style(configuration), text)).to_vec());
        }
        table
    };
    // A narrow terminal drops the bars, then the intervals of the savings.
    let mut shown = table(saved);
    if shown.width() > room {
        shown = table(short);
    }
    let bars = room.saturating_sub(shown.width() + 2).min(BAR);
    if bars >= MIN_BAR {
        let value = |configuration: &ConfigurationResult| {
            configuration.time_to_first.map_or(0.0, |time| time.value)
        };
        let slowest = report.configurations.iter().map(value).fold(0.0, f64::max);
        let cells = (report.configurations.iter()).map(|configuration| {
            (
                style(configuration),
                bar(value(configuration), slowest, bars),
            )
        });
        shown.append(left(""), cells);
    }
    shown.show(screen);
    for text in measurement::colder_bases(report) {
        screen.paragraph(&[(Style::Dim, "  ")], 2, Style::Dim, &text);
    }
}

fn remedies(screen: &mut Screen, report: &MeasurementReport) {
    if report.remedies.is_empty() {
        return;
    }
    screen.title("Predicted and measured");
    let mut table = Table::new(&[
        left(""),
        right("predicted"),
        right("alone"),
        right("added"),
        left(""),
    ]);
    table.min_first_width(MIN_NAME);
    let any_added = report.remedies.iter().any(|of| of.with_others.is_some());
    for result in &report.remedies {
        let style = match result.kept {
            Decision::Alone | Decision::WithOthers => Style::Green,
            Decision::Costs | Decision::Slows => Style::Red,
            Decision::Unclear | Decision::OtherForm | Decision::NotMeasured => Style::Plain,
        };
        let predicted = result.predicted.map(duration);
        let cells = [
            measurement::remedy(result.id),
            predicted.map_or_else(|| ABSENT.to_owned(), |seconds| format!("−{seconds}")),
            result.alone.map_or_else(|| ABSENT.to_owned(), short),
            match result.with_others {
                Some(saved) => short(saved),
                None if any_added => ABSENT.to_owned(),
                None => String::new(),
            },
            measurement::kept(result.kept).to_owned(),
        ];
        table.row(cells.map(|text| (style, text)).to_vec());
    }
    table.show(screen);
    for text in measurement::memory_held(report)
        .into_iter()
        .chain(measurement::variables(report))
    {
        screen.paragraph(&[(Style::Dim, "  ")], 2, Style::Plain, &clean(&text));
    }
}
