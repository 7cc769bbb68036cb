//! What every rendering of a check says in the same words.

use preheat_analyze::check::{CheckReport, Line, LineKind, Part, Unit, Value, Verdict};
use preheat_analyze::run::Temperature;
use preheat_analyze::stats::Interval;

use crate::terminal::cells::middle;
use crate::terminal::clean;
use crate::units::ABSENT;

/// Names of what is behind a number are cut to this.
const LONGEST_NAME: usize = 60;

/// How it stands, in a sentence without its full stop.
pub(super) fn headline(report: &CheckReport) -> String {
    let count = |verdict| report.lines.iter().filter(|l| l.verdict == verdict).count();
    let all = report.lines.len();
    let (failed, unsure) = (count(Verdict::Fail), count(Verdict::Inconclusive));
    let mut text = match (failed, unsure) {
        (0, 0) if all == 1 => "The one limit is kept".to_owned(),
        (0, 0) if count(Verdict::NotMeasured) == 0 => format!("All {all} limits are kept"),
        (0, _) => "No limit is certainly exceeded".to_owned(),
        (1, _) => format!("1 of {} is not kept", limits(all)),
        _ => format!("{failed} of {} are not kept", limits(all)),
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

fn limits(count: usize) -> String {
    match count {
        1 => "1 limit".to_owned(),
        _ => format!("{count} limits"),
    }
}

/// What a line is called, with its temperature if it names one.
pub(super) fn title(line: &Line) -> String {
    match line.temperature {
        None => line.title.clone(),
        Some(temperature) => format!("{} ({})", line.title, temperature.as_str()),
    }
}

/// What a value is called in exports: the program, the quantity, and the temperature
/// unless it is that of a fresh process.
pub(super) fn export_name(report: &CheckReport, value: &Value) -> String {
    let name = format!("{}: {}", report.name, value.title);
    match value.temperature {
        Temperature::Process => name,
        colder => format!("{name} ({})", colder.as_str()),
    }
}

/// What was measured: `8.94 s (8.71–9.20)`.
pub(super) fn measured(line: &Line) -> String {
    match &line.measured {
        None => ABSENT.to_owned(),
        Some(found) => with_ends(line.unit, found),
    }
}

/// An estimate and its interval, if it has one.
pub(super) fn with_ends(unit: Unit, found: &Interval) -> String {
    let text = unit.write(found.median);
    match unit.ends(found) {
        Some(ends) => format!("{text} ({ends})"),
        None => text,
    }
}

/// The part of the limit that was used: `45 %`.
pub(super) fn used(line: &Line) -> String {
    match line.used.map(|used| used * 100.0) {
        Some(percent) if percent.is_finite() && percent < 1e5 => match percent {
            // A limit that is exceeded is never shown as just used up.
            over if over > 100.0 => format!("{:.0} %", over.max(101.0)),
            small if small > 0.0 && small < 1.0 => "< 1 %".to_owned(),
            usual => format!("{usual:.0} %"),
        },
        Some(_) => "> 99999 %".to_owned(),
        None => ABSENT.to_owned(),
    }
}

/// What is behind it: `Python imports 6.96 s, idle 110 ms`; nothing if that is not known.
pub(super) fn parts(line: &Line) -> String {
    let part = |part: &Part| {
        let name = middle(&clean(&part.name), LONGEST_NAME);
        format!("{name} {}", part.unit.write(part.value))
    };
    line.parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// Why a line does not pass, in full.
pub(super) fn why(line: &Line) -> String {
    match parts(line) {
        none if none.is_empty() => format!("{}.", line.reason),
        parts => {
            let of = match line.limit {
                LineKind::First | LineKind::FirstRatio | LineKind::Excess => {
                    "What the first takes beyond a steady one"
                }
                _ => "Most of it",
            };
            format!("{}. {of}: {parts}.", line.reason)
        }
    }
}

/// Whether a line fails the check, as the settings have it.
pub(super) fn fails(report: &CheckReport, line: &Line) -> bool {
    match line.verdict {
        Verdict::Fail => true,
        Verdict::Inconclusive => report.settings.fail_on_inconclusive,
        Verdict::Pass | Verdict::NotMeasured => false,
    }
}

/// The lines of which something has to be said.
pub(super) fn told(report: &CheckReport) -> impl Iterator<Item = &Line> {
    (report.lines.iter()).filter(|line| line.verdict != Verdict::Pass)
}

/// `1 start`, `5 starts`.
pub(super) fn starts(count: usize) -> String {
    match count {
        1 => "1 start".to_owned(),
        _ => format!("{count} starts"),
    }
}
