//! Renders the check of a recording against its budget.
//!
//! - `terminal`, `markdown` – human-readable reports; `words` – the texts they share
//! - `github`, `junit` – annotations and test results for CI
//! - `history` – measured values, for tools that track their history

mod github;
mod history;
mod junit;
mod markdown;
mod terminal;
mod words;

pub use github::check_github;
pub use history::{check_benchmark_action, check_bmf};
pub use junit::check_junit;
pub use markdown::check_markdown;
pub use terminal::check_terminal;

use preheat_model::check::{CheckReport, Draft, DraftLine, Unit};
use preheat_model::run::{RunReport, Temperature};

use self::words::{starts, with_ends};
use crate::html::markup::command_line;
use crate::terminal::{clean, width};
use crate::units::bytes;

/// Renders the report as a JSON document (`preheat.check/2`), ending with a newline.
pub fn check_json(report: &CheckReport) -> String {
    crate::json::document(report)
}

/// Writes a new budget as TOML: limits with headroom, and the measured values in comments.
pub fn check_draft(draft: &Draft, report: &RunReport) -> String {
    let machine = &report.machine;
    let mut text = format!(
        "# Upper limits for {}; `preheat check` fails if one is exceeded.\n\
         # Measured {}, preheat {}, {}:\n\
         #   {}, {} cores, {}, {}\n\
         # Each limit is {:.0} % above the measured value, rounded up.\n\n",
        clean(&command_line(&report.command)),
        clean(&report.created),
        clean(&report.preheat),
        starts(report.starts.len()),
        clean(&machine.cpu),
        machine.cores,
        bytes(machine.memory),
        clean(&machine.os),
        draft.headroom * 100.0,
    );
    if let Some(count) = draft.starts {
        text.push_str(&format!("starts = {count}  # require at least this many\n"));
    }
    if let Some(code) = draft.exit_code {
        text.push_str(&format!("exit_code = {code}  # of every start\n"));
    }
    let (colder, warm): (Vec<_>, Vec<_>) = draft.lines.iter().partition(|line| line.colder);
    write(&mut text, &warm);
    for measured in &draft.uncertain {
        let found = with_ends(measured.of.unit(), &measured.value);
        text.push_str(&format!(
            "# No limit of {}: its starts differ too much, measured {found}\n",
            measured.of.key()
        ));
    }
    for temperature in Temperature::ALL.into_iter().skip(1) {
        let of = |line: &&&DraftLine| line.measured.temperature == temperature;
        let lines: Vec<&DraftLine> = colder.iter().filter(of).copied().collect();
        if !lines.is_empty() {
            text.push_str(&format!("\n[temperature.{}]\n", temperature.as_str()));
            write(&mut text, &lines);
        }
    }
    text
}

/// Appends the limits, with their comments aligned in one column.
fn write(text: &mut String, lines: &[&DraftLine]) {
    let settings: Vec<String> = lines.iter().map(|line| setting(line)).collect();
    let column = settings.iter().map(|text| width(text)).max().unwrap_or(0);
    for (setting, line) in settings.iter().zip(lines) {
        let found = with_ends(line.measured.of.unit(), &line.measured.value);
        text.push_str(&format!("{setting:<column$}  # measured {found}\n"));
    }
}

fn setting(line: &DraftLine) -> String {
    let of = line.measured.of;
    let key = of.key();
    match of.unit() {
        Unit::Seconds | Unit::Bytes => format!("{key} = \"{}\"", line.most),
        _ => format!("{key} = {}", line.most),
    }
}
