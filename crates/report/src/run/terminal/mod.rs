//! Renders the report of a run for the terminal.
//!
//! Top to bottom: three headlines, the regions that the program times itself, the causes as
//! bars, the largest items, the first iteration, the remedies, the temperatures, notes. The
//! most important parts come first, and each fits on a screen. No line is wider than the
//! terminal, and color and Unicode carry no information that the text does not.

mod causes;
mod excess;
mod head;
mod items;
mod regions;
mod remedies;
mod temperatures;

use preheat_model::run::RunReport;

use crate::terminal::{Screen, Style, Terminal, joined};
use crate::units::bytes;

/// Renders the report; no line is wider than the terminal.
pub fn run_terminal(report: &RunReport, terminal: &Terminal) -> String {
    let mut screen = Screen::new(terminal);
    head::show(&mut screen, report);
    regions::show(&mut screen, report);
    causes::show(&mut screen, report);
    items::show(&mut screen, report);
    excess::show(&mut screen, report);
    remedies::show(&mut screen, &report.remedies);
    temperatures::show(&mut screen, report);
    show_notes(&mut screen, report);
    screen.finish()
}

/// The maximum length of an environment variable to show, in bytes.
const MAX_VALUE_BYTES: usize = 40;

/// Shows the notes, then the machine.
fn show_notes(screen: &mut Screen, report: &RunReport) {
    if !report.notes.is_empty() {
        screen.title("Notes");
        for note in &report.notes {
            screen.paragraph(&[(Style::Dim, "  • ")], 4, Style::Plain, note);
        }
    }
    let machine = &report.machine;
    let mut facts = vec![
        machine.cpu.clone(),
        format!("{} cores", machine.cores),
        bytes(machine.memory),
        machine.os.clone(),
        format!("kernel {}", machine.kernel),
        format!("preheat {}", report.preheat),
        report.created.clone(),
    ];
    // The page and the document have the longer ones.
    let short = report
        .environment
        .iter()
        .filter(|(_, value)| value.len() <= MAX_VALUE_BYTES);
    facts.extend(short.map(|(name, value)| format!("{name}={value}")));
    screen.blank();
    screen.paragraph(&[], 0, Style::Dim, &joined(&facts));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::rendering::{assert_fits, without_color};
    use crate::fixture::run;

    fn all_reports() -> Vec<RunReport> {
        let early = {
            let mut report = run::report();
            report.settings.ended_early = Some("interrupted after 3 of 5 starts".to_owned());
            report
        };
        vec![
            run::report(),
            run::ladder(),
            run::twice(),
            run::bare(),
            run::hostile(),
            run::broken(),
            early,
        ]
    }

    fn at(report: &RunReport, width: usize) -> String {
        let terminal = Terminal {
            width,
            color: false,
            unicode: true,
        };
        run_terminal(report, &terminal)
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
                run_terminal(&report, &terminal)
            });
        }
    }

    #[test]
    fn color_does_not_change_the_text() {
        let report = run::ladder();
        let colored = Terminal {
            width: 80,
            color: true,
            unicode: true,
        };
        let with = run_terminal(&report, &colored);
        assert!(with.contains('\u{1b}'));
        assert_eq!(without_color(&with), at(&report, 80));
    }

    #[test]
    fn missing_values_are_dashes_or_omitted() {
        for report in [run::broken(), run::bare()] {
            for width in [60, 120] {
                let text = at(&report, width);
                for word in ["NaN", "inf", "None", "Some("] {
                    assert!(!text.contains(word), "{word} in\n{text}");
                }
            }
        }
    }
}
