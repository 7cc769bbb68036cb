//! The top of the page: where most of the time went, as a sentence and three numbers, and
//! the command.

use maud::{Markup, html};
use preheat_model::run::{IterationsBy, RunReport};
use preheat_model::stats::Interval;

use super::first_of;
use super::headline::headline;
use crate::html::markup::{command_line, cut};
use crate::html::page::{command, header, paragraph, tile};
use crate::run::words::{
    counted, in_order, other_clock, peak_name, ratio_span, shape, time_span, too_few, unknown_begin,
};
use crate::units::{TOO_WIDE, bytes, duration, ratio, tie, too_wide};

/// Renders the header.
pub(super) fn top(report: &RunReport) -> Markup {
    let (text, detail) = headline(report);
    let ended_early = report.settings.ended_early.as_deref();
    let content = html! {
        (paragraph("detail", &tie(&cut(&detail, 300))))
        div class="tiles" { (time(report)) (against_steady(report)) (memory(report)) }
        (command(&command_line(&report.command)))
        p class="run" { (run(report).join(" · ")) }
        (paragraph("warning", ended_early.unwrap_or_default()))
    };
    let headline = format!("{}.", tie(&text));
    header(Some("run-header"), "preheat run", &headline, &content)
}

fn time(report: &RunReport) -> Markup {
    let mut more = match time_span(&report.time_to_first) {
        Some(span) => format!(
            "95 % interval {span}, {}",
            counted(report.counted_starts, "start")
        ),
        None if report.counted_starts < 3 => format!(
            "{}: too few for an interval",
            counted(report.counted_starts, "start")
        ),
        None => counted(report.counted_starts, "start"),
    };
    // The number is that of the warmest starts, so a colder first start is not comparable.
    let warmest = report.starts.iter().map(|start| start.temperature).min();
    let first = report
        .starts
        .iter()
        .find(|start| start.first_start && Some(start.temperature) == warmest);
    if let Some(seconds) = first
        .and_then(|start| start.time_to_first)
        .filter(|_| report.starts.len() > 1)
    {
        more.push_str(&format!("; the first start {}", duration(seconds)));
    }
    let name = match report.iterations_by {
        IterationsBy::None => "from start to end",
        _ => "time to first",
    };
    tile(name, &duration(report.time_to_first.estimate), None, &more)
}

fn against_steady(report: &RunReport) -> Markup {
    if let Some(why) = unknown_begin(report) {
        let second = report.second.map(|second| second.estimate);
        let (name, later) = match report.steady {
            Some(steady) => ("steady iteration", Some(steady)),
            None => ("second iteration", second),
        };
        let number = later.map_or("–".to_owned(), duration);
        return tile(name, &number, None, why);
    }
    let (Some(first), Some(steady)) = (report.first, report.steady) else {
        return against_second(report);
    };
    let mut more = format!("{} against {}", duration(first), duration(steady));
    let number = match report.ratio {
        None => "–".to_owned(),
        Some(interval) => {
            more.push_str(&interval_words(&interval));
            ratio(interval.estimate)
        }
    };
    match shape(report) {
        shape if shape.is_empty() => {}
        shape => more.push_str(&format!("; {shape}")),
    }
    tile("first ÷ steady iteration", &number, None, &more)
}

/// `; 95 % interval 172–260×`; empty if there is none.
fn interval_words(times: &Interval) -> String {
    match ratio_span(times) {
        None => String::new(),
        Some(bounds) if too_wide(times.low, times.high) => {
            format!("; 95 % interval {bounds}, {TOO_WIDE}")
        }
        Some(bounds) => format!("; 95 % interval {bounds}"),
    }
}

/// The first iteration against the second, if there is no steady state.
fn against_second(report: &RunReport) -> Markup {
    let why = match report.iterations_by {
        IterationsBy::None => "Nothing repeats, so there is no first iteration.".to_owned(),
        _ => (in_order(report).or_else(|| too_few(report)))
            .unwrap_or("The iterations do not reach a steady state.".to_owned()),
    } + other_clock(report);
    let (Some(first), Some(second), Some(times)) =
        (report.first, report.second, report.first_to_second)
    else {
        let number = report.first.map_or("–".to_owned(), duration);
        return tile("first iteration", &number, None, &why);
    };
    let mut more = format!("{} against {}", duration(first), duration(second.estimate));
    more.push_str(&interval_words(&times));
    let more = format!("{more}; {why}");
    tile(
        "first ÷ second iteration",
        &ratio(times.estimate),
        None,
        &more,
    )
}

fn memory(report: &RunReport) -> Markup {
    let memory = &report.memory;
    match &memory.device {
        Some(device) => {
            let mut more = format!("at {}", first_of(report));
            more.push_str(&format!(", peak {}", bytes(device.first_peak)));
            if let Some(steady) = device.steady_peak {
                more.push_str(&format!("; peak {} in the steady state", bytes(steady)));
            }
            tile("device memory", &bytes(device.total), None, &more)
        }
        None => host(report),
    }
}

/// Host memory as the terminal shows it.
/// Recordings without its use have resident memory alone.
fn host(report: &RunReport) -> Markup {
    let memory = &report.memory;
    let (total, words) = match (&memory.host, memory.resident_first) {
        (Some(host), _) => {
            let peak = peak_name(host);
            let words = format!(
                "at {}, {peak} {}",
                first_of(report),
                bytes(memory.resident_peak)
            );
            (host.first.total, words)
        }
        (None, Some(first)) => {
            let words = format!("peak; {} at {}", bytes(first), first_of(report));
            (memory.resident_peak, words)
        }
        (None, None) => (memory.resident_peak, "peak".to_owned()),
    };
    let more = format!("{words}. No device was used.");
    tile("host memory", &bytes(total), None, &more)
}

fn run(report: &RunReport) -> Vec<String> {
    let mut parts = vec![counted(report.starts.len(), "start")];
    if !report.iteration.is_empty() {
        parts.push(format!("iterations: {}", cut(&report.iteration, 120)));
    }
    parts.push(report.machine.cpu.clone());
    parts.push(report.created.clone());
    parts.push(format!("preheat {}", report.preheat));
    parts
}
