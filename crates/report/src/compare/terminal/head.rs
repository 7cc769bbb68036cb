//! The headline and the two sides of the comparison.

use preheat_model::compare::{CompareReport, Side};

use super::super::words::{changed, sentence};
use super::style_of;
use crate::html::escape::command_line;
use crate::run::words::counted;
use crate::terminal::{Screen, Style, clean, joined};

/// Shows the headline, then a line for each side.
pub(super) fn show(screen: &mut Screen, report: &CompareReport) {
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
