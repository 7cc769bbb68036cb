//! Renders a comparison for the terminal.
//!
//! Top to bottom: a headline with the change and its cause; the two sides; every quantity
//! (for the lab, those that changed); the causes that changed and the items that explain
//! them; notes; the decision. Unchanged quantities get little space. No line is wider than
//! the terminal, and color and Unicode carry no information of their own.

mod bars;
mod causes;
mod head;
mod lab;
mod notes;
mod quantities;
mod table;

use preheat_model::compare::{CompareKind, CompareReport, Verdict};

use crate::terminal::{Screen, Style, Terminal};

/// Renders the comparison; no line is wider than the terminal.
pub fn compare_terminal(report: &CompareReport, terminal: &Terminal) -> String {
    let mut screen = Screen::new(terminal);
    head::show(&mut screen, report);
    match report.kind {
        CompareKind::Runs => quantities::show(&mut screen, report),
        CompareKind::Lab => lab::show(&mut screen, report),
    }
    causes::show(&mut screen, report);
    notes::show(&mut screen, report);
    screen.finish()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::compare;

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

    /// Removes color escapes.
    fn bare(text: &str) -> String {
        let mut bare = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('\u{1b}') {
            bare.push_str(before);
            rest = after.split_once('m').map_or("", |(_, after)| after);
        }
        bare + rest
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for report in all_reports() {
            for width in [1, 10, 24, 40, 60, 79, 80, 100, 120, 200] {
                for (color, unicode) in [(false, false), (false, true), (true, true)] {
                    let terminal = Terminal {
                        width,
                        color,
                        unicode,
                    };
                    let text = bare(&compare_terminal(&report, &terminal));
                    for line in text.lines() {
                        assert!(line.chars().count() <= width, "{width}: {line:?}");
                        assert_eq!(line, line.trim_end());
                        assert!(!line.chars().any(char::is_control));
                        assert!(unicode || line.is_ascii(), "{line}");
                    }
                    assert!(text.ends_with('\n') && !text.ends_with("\n\n"));
                }
            }
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
            assert_eq!(bare(&with), without);
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
