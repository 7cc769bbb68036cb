//! Judged times for a person at a prompt.
//!
//! Top to bottom: how many are of which class; for few benchmarks everything about each,
//! for many a line each; what is worth knowing; and last, where the eye is when the prompt
//! is back, what to discard.

mod detail;
mod grid;
mod rows;

use preheat_analyze::classify::ClassifyReport;

use super::words;
use crate::terminal::{Screen, Style, Terminal};
use crate::units::{ABSENT, duration_parts};

/// So many benchmarks are told in detail.
const FEW: usize = 3;
/// So many notes are told of many benchmarks.
const MOST_NOTES: usize = 8;

/// The report as lines of text, none wider than the terminal.
pub fn classify_terminal(report: &ClassifyReport, terminal: &Terminal) -> String {
    let mut screen = Screen::new(terminal);
    let headline = format!("{}.", words::headline(report));
    screen.paragraph(&[], 0, Style::Bold, &headline);
    let few = report.benchmarks.len() <= FEW;
    if few {
        for benchmark in &report.benchmarks {
            detail::show(&mut screen, benchmark, report.benchmarks.len() > 1);
        }
    } else {
        rows::show(&mut screen, report);
    }
    screen.blank();
    if !few {
        let notes = words::notes(report);
        for (count, note) in notes.iter().take(MOST_NOTES) {
            let of = match report.benchmarks.len() {
                all if all == *count => "all".to_owned(),
                _ => count.to_string(),
            };
            let lead = format!("· {of}: ");
            screen.paragraph(&[(Style::Dim, &lead)], 2, Style::Dim, note);
        }
        if notes.len() > MOST_NOTES {
            let more = format!("· {} more in --json", notes.len() - MOST_NOTES);
            screen.paragraph(&[], 2, Style::Dim, &more);
        }
    }
    for note in &report.notes {
        screen.paragraph(&[(Style::Dim, "· ")], 2, Style::Dim, note);
    }
    screen.blank();
    for sentence in words::discard(report) {
        screen.paragraph(&[], 0, Style::Bold, &sentence);
    }
    screen.finish()
}

/// A time for a column: all three digits, so that numbers stand below each other.
fn time(seconds: f64) -> String {
    match duration_parts(seconds) {
        Some((number, unit)) => format!("{} {unit:<2}", words::minus(number)),
        None => format!("{ABSENT}   "),
    }
}
