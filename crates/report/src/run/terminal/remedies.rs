//! The remedies: their predicted savings, instructions and assumptions. Those that help
//! only later, and those that would not help, are separate lists.
//!
//! The lists are paragraphs after a number and a saving, not tables: their text wraps.

use preheat_model::run::{Remedy, RemedyGroup};

use crate::terminal::cells::durations;
use crate::terminal::{Screen, Style, width};
use crate::units::bytes;

/// The minimum width for text next to the saving; narrower text starts further left.
const MIN_TEXT: usize = 40;

/// Shows the lists, in the order of the report.
pub(super) fn show(screen: &mut Screen, remedies: &[Remedy]) {
    let of = |group| -> Vec<&Remedy> {
        let all = remedies.iter().filter(|remedy| remedy.group() == group);
        all.collect()
    };
    let start = of(RemedyGroup::Start);
    let about = match overlap(&start) {
        true => "predicted savings; they overlap and do not add up",
        false => "predicted savings",
    };
    let savings = durations(start.iter().map(|remedy| remedy.saving));
    list(screen, ("What would help", about), &start, &savings);
    let later = of(RemedyGroup::Later);
    let about = "predicted savings; the time to first does not change";
    let savings = durations(later.iter().map(|remedy| saved_later(remedy)));
    list(screen, ("What would help later", about), &later, &savings);
    not(screen, &of(RemedyGroup::None));
}

fn saved_later(remedy: &Remedy) -> f64 {
    remedy.later.as_ref().map_or(0.0, |later| later.seconds)
}

/// Shows remedies with their savings under a title.
fn list(
    screen: &mut Screen,
    (title, about): (&str, &str),
    remedies: &[&Remedy],
    savings: &[String],
) {
    if remedies.is_empty() {
        return;
    }
    screen.blank();
    let title = [(Style::Bold, title), (Style::Plain, "  ")];
    screen.paragraph(&title, 2, Style::Dim, about);
    let number = remedies.len().to_string().len();
    let saving = savings.first().map_or(0, |text| width(text)) + 1;
    let indent = match 2 + number + 2 + saving + 2 {
        wide if wide + MIN_TEXT > screen.terminal.width => 2 + number + 2,
        fitting => fitting,
    };
    for (at, (remedy, seconds)) in remedies.iter().zip(savings).enumerate() {
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
        let title = match &remedy.later {
            Some(later) if remedy.saving <= 0.0 => format!("{}: {}", remedy.title, later.of),
            _ => remedy.title.clone(),
        };
        screen.paragraph(&lead, indent, Style::Bold, &title);
        text(screen, indent, remedy);
    }
}

/// Shows the instructions and the assumptions.
fn text(screen: &mut Screen, indent: usize, remedy: &Remedy) {
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

/// Shows remedies that would not help, with the reason.
fn not(screen: &mut Screen, remedies: &[&Remedy]) {
    if remedies.is_empty() {
        return;
    }
    screen.title("What would not help");
    for remedy in remedies {
        screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Bold, &remedy.title);
        text(screen, 4, remedy);
    }
}

/// A padded number with its sign directly before it.
fn minus(padded: &str) -> String {
    let number = padded.trim_start();
    let spaces = width(padded) - width(number);
    format!("{}−{number}", " ".repeat(spaces))
}

/// Returns true if two of them concern the same cause.
fn overlap(remedies: &[&Remedy]) -> bool {
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
        let report = run::report();
        let remedies: Vec<&Remedy> = report.remedies.iter().collect();
        assert!(overlap(&remedies));
        assert!(!overlap(&remedies[1..]));
    }
}
