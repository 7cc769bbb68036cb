//! What would help: the predicted saving, what to do, and what that assumes.

use preheat_analyze::run::Remedy;

use crate::terminal::cells::durations;
use crate::terminal::{Screen, Style, width};
use crate::units::bytes;

/// Text below a title needs this many columns beside the saving; else it goes to the left.
const LEAST_TEXT: usize = 40;

/// The list, in the report's order.
pub(super) fn show(screen: &mut Screen, remedies: &[Remedy]) {
    if remedies.is_empty() {
        return;
    }
    screen.blank();
    let about = if overlap(remedies) {
        "predicted savings; they overlap and do not add up"
    } else {
        "predicted savings"
    };
    let title = [(Style::Bold, "What would help"), (Style::Plain, "  ")];
    screen.paragraph(&title, 2, Style::Dim, about);
    let savings = durations(remedies.iter().map(|remedy| remedy.saving));
    let number = remedies.len().to_string().len();
    let saving = savings.first().map_or(0, |text| width(text)) + 1;
    let indent = match 2 + number + 2 + saving + 2 {
        wide if wide + LEAST_TEXT > screen.terminal.width => 2 + number + 2,
        fitting => fitting,
    };
    for (at, (remedy, seconds)) in remedies.iter().zip(&savings).enumerate() {
        let place = format!("  {:>number$}  ", at + 1);
        let signed = match remedy.saving_bytes {
            Some(size) if remedy.saving <= 0.0 => {
                format!("{:<saving$}", format!("−{}", bytes(size)))
            }
            _ => minus(seconds),
        };
        let lead = [
            (Style::Dim, &*place),
            (Style::Green, &*signed),
            (Style::Plain, "  "),
        ];
        screen.paragraph(&lead, indent, Style::Bold, &remedy.title);
        let margin = " ".repeat(indent);
        let lead = [(Style::Plain, &*margin)];
        let what = match remedy.saving_bytes {
            Some(size) if remedy.saving > 0.0 => {
                format!("{} Saves {} on the device, too.", remedy.what, bytes(size))
            }
            _ => remedy.what.clone(),
        };
        screen.paragraph(&lead, indent, Style::Plain, &what);
        if !remedy.assumption.trim().is_empty() {
            let text = format!("Assumes: {}", remedy.assumption);
            screen.paragraph(&lead, indent, Style::Dim, &text);
        }
    }
}

/// A padded number with its sign directly before it.
fn minus(padded: &str) -> String {
    let number = padded.trim_start();
    let spaces = width(padded) - width(number);
    format!("{}−{number}", " ".repeat(spaces))
}

/// Whether two of them are about the same cause.
fn overlap(remedies: &[Remedy]) -> bool {
    remedies.iter().enumerate().any(|(at, remedy)| {
        let others = remedies[at + 1..].iter().flat_map(|other| &other.causes);
        others
            .into_iter()
            .any(|cause| remedy.causes.contains(cause))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    #[test]
    fn the_sign_stands_before_the_number() {
        assert_eq!(minus(" 229 ms"), " −229 ms");
        assert_eq!(minus("7.40 s "), "−7.40 s ");
    }

    #[test]
    fn savings_overlap_where_causes_do() {
        let remedies = run::report().remedies;
        assert!(overlap(&remedies));
        assert!(!overlap(&remedies[1..]));
    }
}
