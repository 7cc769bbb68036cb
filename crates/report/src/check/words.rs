//! Texts shared by the renderings of a check.

use preheat_model::check::{CheckReport, Line, LineKind, Part, Unit, Value, Verdict};
use preheat_model::run::Temperature;
use preheat_model::stats::Estimate;

use crate::terminal::cells::middle;
use crate::terminal::clean;
use crate::units::ABSENT;

/// The maximum length of the names that explain a value.
const MAX_NAME: usize = 60;

/// The overall result as one sentence, without a full stop.
pub(super) fn headline(report: &CheckReport) -> String {
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
pub(super) fn title(line: &Line) -> String {
    match line.temperature {
        None => line.title.clone(),
        Some(temperature) => format!("{} ({})", line.title, temperature.as_str()),
    }
}

/// The name of a value in exports: the program, the quantity, and the temperature unless it
/// is `process`.
pub(super) fn export_name(report: &CheckReport, value: &Value) -> String {
    let name = format!("{}: {}", report.name, value.title);
    match value.temperature {
        Temperature::Process => name,
        colder => format!("{name} ({})", colder.as_str()),
    }
}

/// The measured value and its interval: `8.94 s (8.71–9.20)`.
pub(super) fn measured(line: &Line) -> String {
    match &line.measured {
        None => ABSENT.to_owned(),
        Some(found) => with_ends(line.unit, found),
    }
}

/// An estimate and its interval, if it has one.
pub(super) fn with_ends(unit: Unit, found: &Estimate) -> String {
    let text = unit.write(found.value);
    match unit.ends(found) {
        Some(ends) => format!("{text} ({ends})"),
        None => text,
    }
}

/// The used share of the limit: `45 %`.
pub(super) fn used(line: &Line) -> String {
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
pub(super) fn parts(line: &Line) -> String {
    let part = |part: &Part| {
        let name = middle(&clean(&part.name), MAX_NAME);
        format!("{name} {}", part.unit.write(part.value))
    };
    line.parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// The full explanation of why a line does not pass.
pub(super) fn why(line: &Line) -> String {
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
pub(super) fn fails(report: &CheckReport, line: &Line) -> bool {
    match line.verdict {
        Verdict::Fail => true,
        Verdict::Inconclusive => report.settings.fail_on_inconclusive,
        Verdict::Pass | Verdict::NotMeasured => false,
    }
}

/// The lines that do not pass.
pub(super) fn not_passing(report: &CheckReport) -> impl Iterator<Item = &Line> {
    (report.lines.iter()).filter(|line| line.verdict != Verdict::Pass)
}

/// `1 start`, `5 starts`.
pub(super) fn starts(count: usize) -> String {
    match count {
        1 => "1 start".to_owned(),
        _ => format!("{count} starts"),
    }
}
