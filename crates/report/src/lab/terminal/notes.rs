//! Notable observations, differences in the first start, failures, and what is missing.

use preheat_model::lab::LabReport;

use crate::lab::gaps::{Gap, failures, first_starts, skipped};
use crate::lab::overview::Subject;
use crate::terminal::screen::Screen;
use crate::terminal::style::Style;

/// The maximum number of differing first starts to list; the others are counted.
const NAMED: usize = 5;

/// Shows all notes.
pub(super) fn show(screen: &mut Screen, report: &LabReport, subjects: &[Subject]) {
    if !report.notable.is_empty() {
        screen.title("Notable on this machine");
        for notable in &report.notable {
            bullet(screen, "", Style::Plain, notable);
        }
    }

    let starts = first_starts(subjects);
    if !starts.is_empty() {
        screen.title("The first start, reported separately");
        for (what, sentence) in starts.iter().take(NAMED) {
            bullet(screen, "", Style::Plain, &format!("{what}: {sentence}"));
        }
        if starts.len() > NAMED {
            bullet(
                screen,
                "",
                Style::Dim,
                &format!("and {} more", starts.len() - NAMED),
            );
        }
    }

    let failures = failures(report);
    if !failures.is_empty() {
        screen.title("Failed");
        for gap in failures {
            gap_line(screen, &gap);
        }
    }
    let skipped = skipped(report);
    if !skipped.is_empty() {
        screen.title("Not measured");
        for gap in skipped {
            gap_line(screen, &gap);
        }
    }
}

fn gap_line(screen: &mut Screen, gap: &Gap) {
    let text = format!("{} ({}): {}", gap.what, gap.subjects.join(", "), gap.why);
    bullet(screen, "", Style::Plain, &text);
}

fn bullet(screen: &mut Screen, lead: &str, style: Style, text: &str) {
    screen.paragraph(
        &[(Style::Dim, "  • "), (Style::Plain, lead)],
        4,
        style,
        text,
    );
}
