//! The causes of every start, and the temperatures against each other, slowest first, if
//! there are several.

use maud::{Markup, html};
use preheat_model::run::{StartReport, TemperatureReport};

use super::{RunPage, parts};
use crate::html::bands::{Bar, bars, in_order, key};
use crate::html::figure::Table;
use crate::run::text::{slowest_first, temperature, time_span};
use crate::units::{ABSENT, bytes, counted, duration};

/// The number of starts to draw.
const MAX_DRAWN: usize = 24;

/// Adds the section.
pub(super) fn add(page: &mut RunPage) {
    let report = page.report;
    let several = report.ladder.len() > 1;
    let ladder = several.then(|| ladder(page, &slowest_first(report)));
    let starts = starts(page, &report.starts);
    let lead = match report.starts.len() {
        0 => return,
        1 => "There was one start, a fresh process.",
        _ => {
            "Each start is a fresh process. The first start may have found cold disks and caches; it \
             is shown, but not counted if there are others."
        }
    };
    let content = html! { @if let Some(ladder) = ladder { (ladder) } (starts) };
    page.section("starts", "Starts", lead, content);
}

fn ladder(page: &mut RunPage, levels: &[&TemperatureReport]) -> Markup {
    let all: Vec<Bar> = levels
        .iter()
        .map(|level| Bar {
            name: level.temperature.as_str().to_owned(),
            parts: in_order(level.causes.iter().map(|part| (part.cause, part.seconds))),
            total: level.time_to_first.value,
            sure: time_span(&level.time_to_first).unwrap_or(counted(level.starts, "start")),
            new: false,
        })
        .collect();
    let mut data = Table::new(&[
        "temperature",
        "starts",
        "time to first",
        "95 % interval",
        "first",
        "description",
    ]);
    data.words = vec![5];
    for level in levels {
        data.rows.push(vec![
            level.temperature.as_str().to_owned(),
            level.starts.to_string(),
            duration(level.time_to_first.value),
            time_span(&level.time_to_first).unwrap_or(ABSENT.to_owned()),
            level.first.map_or(ABSENT.to_owned(), duration),
            temperature(level.temperature).to_owned(),
        ]);
    }
    let what: Vec<String> = levels
        .iter()
        .map(|level| {
            let of = level.temperature;
            format!("{}: {}", of.as_str(), temperature(of))
        })
        .collect();
    let caption = ("By temperature", &*what.join("; "));
    bars(page, caption, key(&all), &all, data)
}

fn starts(page: &mut RunPage, starts: &[StartReport]) -> Markup {
    let several = starts
        .iter()
        .any(|start| start.temperature != starts[0].temperature);
    let mut order: Vec<(usize, &StartReport)> = starts.iter().enumerate().collect();
    // In the order of the temperatures above; those without a time come last.
    let levels = slowest_first(page.report);
    let place = |start: &StartReport| {
        let place = levels
            .iter()
            .position(|level| level.temperature == start.temperature);
        place.unwrap_or(levels.len())
    };
    order.sort_by_key(|(index, start)| (place(start), start.temperature, *index));
    let mut last = None;
    let all: Vec<Bar> = order
        .iter()
        .take(MAX_DRAWN)
        .map(|(index, start)| {
            let new = last.replace(start.temperature) != Some(start.temperature);
            Bar {
                name: name(*index, start, several),
                parts: parts(start),
                total: start.time_to_first.unwrap_or(f64::NAN),
                sure: String::new(),
                new,
            }
        })
        .collect();
    let title = match starts.len() > MAX_DRAWN {
        true => format!("{MAX_DRAWN} of {} starts", starts.len()),
        false => "Every start".to_owned(),
    };
    // The chart of temperatures above already has a legend.
    let key = match page.report.ladder.len() > 1 {
        true => Markup::default(),
        false => key(&all),
    };
    let evicted = starts.iter().any(|start| start.evicted.is_some());
    let mut head = vec![
        "start",
        "temperature",
        "time to first",
        "to the end",
        "exit code",
        "iterations",
        "peak host memory",
    ];
    head.extend(evicted.then_some("evicted"));
    let mut data = Table::new(&head);
    data.words = vec![1];
    for (index, start) in order.iter().take(200) {
        let mut row = vec![
            format!(
                "{}{}",
                index + 1,
                if start.first_start { " (first)" } else { "" }
            ),
            start.temperature.as_str().to_owned(),
            start.time_to_first.map_or(ABSENT.to_owned(), duration),
            duration(start.wall),
            start.exit_code.to_string(),
            start.iterations.len().to_string(),
            bytes(start.peak_resident),
        ];
        row.extend(evicted.then(|| match start.evicted {
            None => ABSENT.to_owned(),
            Some(evicted) => format!(
                "{} of {}",
                bytes(evicted.cached.saturating_sub(evicted.left)),
                bytes(evicted.cached)
            ),
        }));
        data.rows.push(row);
    }
    // A single bar would repeat the causes.
    if starts.len() == 1 {
        return data.html();
    }
    bars(page, (&title, ""), key, &all, data)
}

fn name(index: usize, start: &StartReport, several: bool) -> String {
    let mut name = format!("start {}", index + 1);
    if several {
        name.push_str(&format!(", {}", start.temperature.as_str()));
    }
    if start.first_start {
        name.push_str(" (the first)");
    }
    if start.exit_code != 0 {
        name.push_str(&format!(", exit {}", start.exit_code));
    }
    name
}
