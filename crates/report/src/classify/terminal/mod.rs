//! Renders classified times for the terminal.
//!
//! Top to bottom: the number of benchmarks in each class; full details of a few benchmarks,
//! or one line for each of many; notes; and, just above the prompt, what to discard.

mod detail;
mod grid;
mod rows;

use preheat_model::classify::ClassifyReport;

use super::words;
use crate::terminal::{Screen, Style, Terminal};
use crate::units::{ABSENT, duration_parts};

/// The maximum number of benchmarks to show in detail.
const FEW: usize = 3;
/// The maximum number of notes to show for many benchmarks.
const MOST_NOTES: usize = 8;

/// Renders the report; no line is wider than the terminal.
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

/// A time for a column: always three digits and a padded unit, so that numbers align.
fn time(seconds: f64) -> String {
    match duration_parts(seconds) {
        Some((number, unit)) => format!("{} {unit:<2}", words::minus(number)),
        None => format!("{ABSENT}   "),
    }
}
