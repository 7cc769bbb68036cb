//! Renders a lab report for the terminal.
//!
//! Top to bottom: the headline, the table, the claims, notable observations, and what is
//! missing.

mod table;

use preheat_model::lab::LabReport;

use super::gaps::{Gap, failures, first_starts, skipped};
use super::headline::headline;
use super::overview::{Subject, overview, starts_of_each};
use crate::terminal::{Screen, Style, Terminal, joined};
use crate::units::bytes;

/// The maximum number of differing first starts to list; the others are counted.
const MAX_NAMES: usize = 5;

/// Renders the report; no line is wider than the terminal.
pub fn lab_terminal(report: &LabReport, terminal: &Terminal) -> String {
    let mut screen = Screen::new(terminal);
    head(&mut screen, report);
    let subjects = overview(report);
    table::show(&mut screen, &subjects);
    table::show_claims(&mut screen, report);
    show_notes(&mut screen, report, &subjects);
    screen.finish()
}

fn head(screen: &mut Screen, report: &LabReport) {
    let headline = headline(report);
    if let Some(why) = &report.settings.ended_early {
        screen.paragraph(&[(Style::Yellow, "! ")], 2, Style::Plain, why);
    }
    screen.paragraph(&[], 0, Style::Bold, &format!("{}.", headline.text));
    if !headline.detail.is_empty() {
        screen.paragraph(&[], 0, Style::Plain, &format!("{}.", headline.detail));
    }
    screen.blank();

    let device = &report.device;
    let machine = &report.machine;
    let mut facts = vec![
        device.name.clone(),
        bytes(device.memory),
        device.driver.clone(),
    ];
    screen.paragraph(
        &[(Style::Dim, "device   ")],
        9,
        Style::Plain,
        &joined(&facts),
    );
    facts = vec![
        machine.cpu.clone(),
        format!("{} cores", machine.cores),
        bytes(machine.memory),
        machine.os.clone(),
        format!("kernel {}", machine.kernel),
    ];
    screen.paragraph(
        &[(Style::Dim, "machine  ")],
        9,
        Style::Plain,
        &joined(&facts),
    );
    let settings = &report.settings;
    facts = vec![
        format!("{}, seed {}", starts_of_each(report), settings.seed),
        format!("preheat {}", report.preheat),
        report.created.clone(),
    ];
    if settings.quick {
        facts.insert(0, "quick".to_owned());
    }
    screen.paragraph(
        &[(Style::Dim, "run      ")],
        9,
        Style::Plain,
        &joined(&facts),
    );
}

/// Shows notable observations, differences in the first start, failures, and what is missing.
fn show_notes(screen: &mut Screen, report: &LabReport, subjects: &[Subject]) {
    if !report.notable.is_empty() {
        screen.title("Notable on this machine");
        for notable in &report.notable {
            bullet(screen, "", Style::Plain, notable);
        }
    }

    let starts = first_starts(subjects);
    if !starts.is_empty() {
        screen.title("The first start, reported separately");
        for (what, sentence) in starts.iter().take(MAX_NAMES) {
            bullet(screen, "", Style::Plain, &format!("{what}: {sentence}"));
        }
        if starts.len() > MAX_NAMES {
            bullet(
                screen,
                "",
                Style::Dim,
                &format!("and {} more", starts.len() - MAX_NAMES),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::fixture::rendering::{assert_fits_from, without_color};

    fn all_reports() -> Vec<LabReport> {
        let mut early = fixture::report();
        early.settings.ended_early = Some("interrupted after 3 of 5 starts".to_owned());
        vec![
            fixture::report(),
            fixture::empty(),
            fixture::hostile(),
            fixture::broken(),
            early,
        ]
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for report in all_reports() {
            assert_fits_from(24, |width, color, unicode| {
                let terminal = Terminal {
                    width,
                    color,
                    unicode,
                };
                lab_terminal(&report, &terminal)
            });
        }
    }

    #[test]
    fn color_does_not_change_the_text() {
        let report = fixture::report();
        let with = |color| {
            lab_terminal(
                &report,
                &Terminal {
                    width: 80,
                    color,
                    unicode: true,
                },
            )
        };
        assert!(with(true).contains('\u{1b}'));
        assert_eq!(without_color(&with(true)), with(false));
        assert!(!with(false).contains('\u{1b}'));
    }

    #[test]
    fn without_unicode_everything_is_ascii() {
        for report in all_reports() {
            let terminal = Terminal {
                width: 100,
                color: false,
                unicode: false,
            };
            let text = lab_terminal(&report, &terminal);
            assert!(text.chars().all(|c| c == '\n' || (' '..='~').contains(&c)));
        }
    }

    #[test]
    fn control_characters_in_names_are_removed() {
        let terminal = Terminal {
            width: 100,
            color: false,
            unicode: true,
        };
        let text = lab_terminal(&fixture::hostile(), &terminal);
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn missing_values_are_shown_as_dashes_or_omitted() {
        for report in [fixture::broken(), fixture::empty()] {
            for width in [60, 120] {
                let text = lab_terminal(
                    &report,
                    &Terminal {
                        width,
                        color: false,
                        unicode: true,
                    },
                );
                for word in ["NaN", "inf ", "None", "Some("] {
                    assert!(!text.contains(word), "{word} in\n{text}");
                }
            }
        }
    }

    #[test]
    fn an_empty_report_shows_that_nothing_was_measured() {
        let terminal = Terminal {
            width: 80,
            color: false,
            unicode: true,
        };
        let text = lab_terminal(&fixture::empty(), &terminal);
        assert!(text.starts_with("Nothing was measured.\n"));
        assert!(!text.contains("Claims"));
    }

    #[test]
    fn an_early_end_is_shown_at_the_top() {
        let mut report = fixture::report();
        report.settings.ended_early = Some("interrupted after 3 of 5 starts".to_owned());
        let terminal = Terminal {
            width: 80,
            color: false,
            unicode: true,
        };
        let text = lab_terminal(&report, &terminal);
        assert!(text.starts_with("! interrupted after 3 of 5 starts\n"));
    }
}
