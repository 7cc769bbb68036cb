//! Renders the check of a recording against its budget.
//!
//! - `terminal` – a human-readable report
//! - `github`, `junit` – a job summary, annotations and test results for CI
//! - `history` – measured values, for tools that track their history
//!
//! This file has the texts that they share, and the drafted budget.

mod github;
mod history;
mod junit;
mod terminal;

use preheat_model::check::{
    CheckReport, Draft, DraftLine, Line, LineKind, Part, Unit, Value, Verdict,
};
use preheat_model::run::{RunReport, Temperature};
use preheat_model::stats::Estimate;

use crate::html::command_line;
use crate::terminal::cells::middle;
use crate::terminal::{clean, width};
use crate::units::{ABSENT, bytes, counted};

pub use github::{check_github, check_markdown};
pub use history::{check_benchmark_action, check_bmf};
pub use junit::check_junit;
pub use terminal::check_terminal;

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
        counted(report.starts.len(), "start"),
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
        Unit::Ratio | Unit::Iterations | Unit::Count | Unit::ExitCode => {
            format!("{key} = {}", line.most)
        }
    }
}

/// The maximum length of the names that explain a value.
const MAX_NAME: usize = 60;

/// The overall result as one sentence, without a full stop.
fn headline(report: &CheckReport) -> String {
    let count = |verdict| report.lines.iter().filter(|l| l.verdict == verdict).count();
    let all = report.lines.len();
    let (failed, unsure) = (count(Verdict::Fail), count(Verdict::Inconclusive));
    let mut text = match (failed, unsure) {
        (0, 0) if all == 1 => "The limit is met".to_owned(),
        (0, 0) if count(Verdict::NotMeasured) == 0 => format!("All {all} limits are met"),
        (0, _) => "No limit is conclusively exceeded".to_owned(),
        (1, _) if all == 1 => "The limit is not met".to_owned(),
        (1, _) => format!("1 of {all} limits is not met"),
        _ => format!("{failed} of {all} limits are not met"),
    };
    for (number, what) in [
        (unsure, "inconclusive"),
        (count(Verdict::NotMeasured), "not measured"),
    ] {
        match number {
            0 => {}
            1 => text.push_str(&format!(", 1 is {what}")),
            _ => text.push_str(&format!(", {number} are {what}")),
        }
    }
    text
}

/// The title of a line, with its temperature if it has one.
fn title(line: &Line) -> String {
    match line.temperature {
        None => line.title.clone(),
        Some(temperature) => format!("{} ({})", line.title, temperature.as_str()),
    }
}

/// The name of a value in exports: the program, the quantity, and the temperature unless it
/// is `process`.
fn export_name(report: &CheckReport, value: &Value) -> String {
    let name = format!("{}: {}", report.name, value.title);
    match value.temperature {
        Temperature::Process => name,
        colder => format!("{name} ({})", colder.as_str()),
    }
}

/// The measured value and its interval: `8.94 s (8.71–9.20 s)`.
fn measured(line: &Line) -> String {
    match &line.measured {
        None => ABSENT.to_owned(),
        Some(found) => with_ends(line.unit, found),
    }
}

/// An estimate and its interval, if it has one.
fn with_ends(unit: Unit, found: &Estimate) -> String {
    let text = unit.write(found.value);
    match unit.ends(found) {
        Some(ends) => format!("{text} ({ends})"),
        None => text,
    }
}

/// The used share of the limit: `45 %`.
fn used(line: &Line) -> String {
    match line.used.map(|used| used * 100.0) {
        Some(percent) if percent.is_finite() && percent < 1e5 => match percent {
            // An exceeded limit never shows as exactly 100 %.
            over if over > 100.0 => format!("{:.0} %", over.max(101.0)),
            small if small > 0.0 && small < 1.0 => "< 1 %".to_owned(),
            usual => format!("{usual:.0} %"),
        },
        Some(_) => "> 99999 %".to_owned(),
        None => ABSENT.to_owned(),
    }
}

/// The largest parts of the value: `Python imports 6.96 s, idle 110 ms`; empty if unknown.
fn parts(line: &Line) -> String {
    let part = |part: &Part| {
        let name = middle(&clean(&part.name), MAX_NAME);
        format!("{name} {}", part.unit.write(part.value))
    };
    line.parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// The full explanation of why a line does not pass.
fn why(line: &Line) -> String {
    match parts(line) {
        none if none.is_empty() => format!("{}.", line.reason),
        parts => {
            let of = match line.limit {
                LineKind::First | LineKind::FirstRatio | LineKind::Excess => {
                    "Largest parts beyond a steady iteration"
                }
                _ => "Largest parts",
            };
            format!("{}. {of}: {parts}.", line.reason)
        }
    }
}

/// Returns true if a line fails the check under the given settings.
fn fails(report: &CheckReport, line: &Line) -> bool {
    match line.verdict {
        Verdict::Fail => true,
        Verdict::Inconclusive => report.settings.fail_on_inconclusive,
        Verdict::Pass | Verdict::NotMeasured => false,
    }
}

/// The lines that do not pass.
fn not_passing(report: &CheckReport) -> impl Iterator<Item = &Line> {
    (report.lines.iter()).filter(|line| line.verdict != Verdict::Pass)
}
