//! Renders a comparison for the terminal.
//!
//! Top to bottom: a headline with the change and its cause; the two sides; every quantity
//! (for the lab, those that changed); the causes that changed and the items that explain
//! them; notes; the decision. Unchanged quantities get little space. No line is wider than
//! the terminal, and color and Unicode carry no information that the text does not.

mod causes;
mod table;

use preheat_model::compare::{CompareKind, CompareReport, QuantityChange, Side, Verdict};

use super::gate::{Decision, gate};
use super::order::{by_sides, only_in, reasons, sorted};
use super::{changed, correction, sentence, starred};
use crate::html::command_line;
use crate::terminal::{Screen, Style, Terminal, clean, joined, width};
use crate::units::counted;

/// The maximum number of changed quantities to show.
const MAX_CHANGED: usize = 24;
/// The maximum number of inconclusive quantities to show.
const MAX_INCONCLUSIVE: usize = 6;

/// Renders the comparison; no line is wider than the terminal.
pub fn compare_terminal(report: &CompareReport, terminal: &Terminal) -> String {
    let mut screen = Screen::new(terminal);
    show_head(&mut screen, report);
    match report.kind {
        CompareKind::Runs => show_quantities(&mut screen, report),
        CompareKind::Lab => show_lab(&mut screen, report),
    }
    causes::show(&mut screen, report);
    show_decision(&mut screen, report);
    screen.finish()
}

/// Shows the headline, then a line for each side.
fn show_head(screen: &mut Screen, report: &CompareReport) {
    let style = match report.verdict {
        verdict if changed(verdict) => style_of(verdict),
        _ => Style::Bold,
    };
    screen.paragraph(&[], 0, style, &sentence(&report.headline.text));
    screen.blank();
    let same = report.base.command == report.new.command;
    for (name, side) in [("base  ", &report.base), ("new   ", &report.new)] {
        let command = match (same, name) {
            (true, "new   ") => String::new(),
            _ => clean(&command_line(&side.command)),
        };
        let facts = [
            clean(&side.source),
            command,
            starts(side),
            side.created.clone(),
        ];
        screen.paragraph(&[(Style::Dim, name)], 6, Style::Plain, &joined(&facts));
    }
}

/// The number of counted starts, and the total if it differs.
fn starts(side: &Side) -> String {
    match side.starts == side.counted_starts {
        true => counted(side.starts, "start"),
        false => format!(
            "{} of {}",
            side.counted_starts,
            counted(side.starts, "start")
        ),
    }
}

/// Shows the table, then quantities of one side and the reasons why others are inconclusive.
fn show_quantities(screen: &mut Screen, report: &CompareReport) {
    if report.quantities.is_empty() {
        return;
    }
    screen.blank();
    let (both, one_side) = by_sides(report);
    table::of_quantities(&both).show(screen);
    let starred = both.iter().filter_map(|quantity| starred(quantity));
    let stars = correction(starred, report.tests());
    let only = only_in(&one_side);
    let only = only.iter().map(|text| sentence(text));
    for text in only.chain(stars).chain(reasons(&both)) {
        screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Dim, &text);
    }
}

/// Shows the notes, then the decision.
fn show_decision(screen: &mut Screen, report: &CompareReport) {
    if !report.notes.is_empty() {
        screen.title("Notes");
        for note in &report.notes {
            screen.paragraph(&[(Style::Dim, "  • ")], 4, Style::Plain, &sentence(note));
        }
    }
    screen.blank();
    let (decision, text) = gate(report);
    let (sign, style) = match decision {
        Decision::Regressed => ("✗ ", Style::Red),
        Decision::Inconclusive => ("? ", Style::Yellow),
        Decision::Passed => ("✓ ", Style::Green),
    };
    // On a very narrow terminal, indent less so that the last line is not empty.
    let indent = 2.min(screen.terminal.width / 5);
    screen.paragraph(&[(style, sign)], indent, Style::Plain, &text);
}

/// The style of a verdict.
fn style_of(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Faster => Style::Green,
        Verdict::Slower => Style::Red,
        Verdict::Same => Style::Dim,
        Verdict::Inconclusive => Style::Yellow,
    }
}

/// Shows two lab results: the changed and the inconclusive quantities, then the number of the
/// others.
fn show_lab(screen: &mut Screen, report: &CompareReport) {
    let sorted = sorted(report);
    show_subjects(screen, "Changed", &sorted.changed, MAX_CHANGED, true);
    show_subjects(
        screen,
        "Inconclusive",
        &sorted.inconclusive,
        MAX_INCONCLUSIVE,
        false,
    );
    let text = match sorted.same.len() {
        0 => return,
        1 => "1 other quantity is the same".to_owned(),
        same => format!("{same} other quantities are the same"),
    };
    screen.blank();
    screen.paragraph(&[], 0, Style::Dim, &text);
}

/// Shows one table per subject, the subject with the largest change first.
fn show_subjects(
    screen: &mut Screen,
    title: &str,
    quantities: &[&QuantityChange],
    most: usize,
    with_verdict: bool,
) {
    let shown = &quantities[..quantities.len().min(most)];
    let mut subjects: Vec<&str> = Vec::new();
    for quantity in shown {
        if !subjects.contains(&subject(quantity)) {
            subjects.push(subject(quantity));
        }
    }
    let names = shown.iter().map(|quantity| width(&quantity.name));
    let names = names.max().unwrap_or(0);
    for of in subjects {
        let rows = shown.iter().copied();
        let rows: Vec<&QuantityChange> = rows.filter(|quantity| subject(quantity) == of).collect();
        let title = format!("{title} · {}", clean(of));
        table::of_series(title, &rows, names, with_verdict).show(screen);
    }
    if quantities.len() > most {
        let text = format!("  and {} more", quantities.len() - most);
        screen.line(vec![(Style::Dim, text)]);
    }
}

fn subject(quantity: &QuantityChange) -> &str {
    quantity.of.as_ref().map_or("", |of| &of.subject)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::compare;
    use crate::fixture::rendering::{assert_fits, without_color};

    fn all_reports() -> Vec<CompareReport> {
        vec![
            compare::regression(),
            compare::unchanged(),
            compare::few(),
            compare::memory(),
            compare::faster(),
            compare::lab(),
            compare::hostile(),
            compare::hostile_lab(),
            compare::broken(),
            compare::nothing(),
        ]
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for report in all_reports() {
            assert_fits(|width, color, unicode| {
                let terminal = Terminal {
                    width,
                    color,
                    unicode,
                };
                compare_terminal(&report, &terminal)
            });
        }
    }

    #[test]
    fn color_does_not_change_the_text() {
        for report in all_reports() {
            let [with, without] = [true, false].map(|color| {
                let terminal = Terminal {
                    width: 80,
                    color,
                    unicode: true,
                };
                compare_terminal(&report, &terminal)
            });
            assert!(with.contains('\u{1b}'));
            assert_eq!(without_color(&with), without);
        }
    }

    #[test]
    fn invalid_numbers_are_shown_as_dashes_or_omitted() {
        for width in [60, 80, 120] {
            let terminal = Terminal {
                width,
                color: false,
                unicode: true,
            };
            let text = compare_terminal(&compare::broken(), &terminal);
            for word in ["NaN", "inf ", "None", "Some(", "e308"] {
                assert!(!text.contains(word), "{word} in\n{text}");
            }
        }
    }
}
