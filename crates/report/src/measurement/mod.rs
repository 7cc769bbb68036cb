//! Renders a measurement of remedies: terminal, HTML and JSON, with the names of remedies and
//! configurations, and the format of their numbers.

mod html;
mod terminal;

use preheat_model::measurement::{ConfigurationResult, Decision, MeasurementReport};
use preheat_model::run::Temperature;
use preheat_model::stats::Estimate;

use crate::compare::interval;
use crate::json::document;
use crate::units::{ABSENT, Unit, bytes, duration, duration_span, signed_duration, with_interval};
use preheat_model::RemedyId;

pub use html::measurement_html;
pub use terminal::measurement_terminal;

/// Renders a measurement of remedies as a JSON document, ending with a newline.
pub fn measurement_json(report: &MeasurementReport) -> String {
    document(report)
}

/// The display name of a remedy.
fn remedy(id: RemedyId) -> String {
    id.as_str().replace('-', " ")
}

/// The name of a configuration: the remedies it applies.
fn configuration(configuration: &ConfigurationResult, report: &MeasurementReport) -> String {
    let cold = match configuration.against {
        Temperature::Process => "",
        Temperature::Disk => ", cold disk",
        Temperature::Caches => ", empty caches",
        Temperature::Bytecode => ", no bytecode",
    };
    let alike = report
        .configurations
        .iter()
        .filter(|other| other.against == configuration.against);
    let all = alike.clone().max_by_key(|other| other.remedies.len());
    let all = all.map_or(&[][..], |all| &all.remedies);
    match &configuration.remedies[..] {
        [] => format!("plain{cold}"),
        [one] => remedy(*one),
        several if several.len() == all.len() => "all together".to_owned(),
        several => {
            let missing = all.iter().find(|id| !several.contains(id));
            missing.map_or_else(
                || {
                    several
                        .iter()
                        .map(|id| id.as_str())
                        .collect::<Vec<_>>()
                        .join(" + ")
                },
                |id| format!("all but {}", remedy(*id)),
            )
        }
    }
}

/// The plain starts that remedies for colder starts are compared with, in sentences.
fn colder_bases(report: &MeasurementReport) -> Vec<String> {
    let colder = [
        Temperature::Disk,
        Temperature::Caches,
        Temperature::Bytecode,
    ];
    let sentence = |against: &Temperature| {
        let mut alike = (report.configurations.iter())
            .filter(|configuration| configuration.against == *against);
        let base = alike
            .clone()
            .find(|configuration| configuration.remedies.is_empty())?;
        let others: Vec<String> = alike
            .by_ref()
            .filter(|configuration| !configuration.remedies.is_empty())
            .map(|other| configuration(other, report))
            .collect();
        let base = configuration(base, report);
        (!others.is_empty()).then(|| format!("{}: compared with {base}", others.join(", ")))
    };
    colder.iter().filter_map(sentence).collect()
}

/// The remedies that were not measured, by reason.
fn skipped(report: &MeasurementReport) -> Vec<(&str, Vec<String>)> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for other in &report.skipped {
        let name = remedy(other.id);
        match reasons.iter_mut().find(|(why, _)| *why == other.why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((&other.why, vec![name])),
        }
    }
    reasons
}

/// The memory that remedies hold between starts, as a sentence.
fn memory_held(report: &MeasurementReport) -> Option<String> {
    let held = report.remedies.iter().filter_map(|of| {
        let holds = of.holds?;
        Some(format!(
            "{} {} on the GPU and {} on the host",
            remedy(of.id),
            bytes(holds.device),
            bytes(holds.host)
        ))
    });
    let held: Vec<String> = held.collect();
    (!held.is_empty()).then(|| format!("Held while waiting for a start: {}.", held.join("; ")))
}

/// The environment variables that remedies set, as a sentence.
fn variables(report: &MeasurementReport) -> Option<String> {
    let each = report.remedies.iter().filter(|of| !of.variables.is_empty());
    let each: Vec<String> = each
        .map(|of| {
            let set: Vec<String> = (of.variables.iter())
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            format!("{} sets {}", remedy(of.id), set.join(" and "))
        })
        .collect();
    (!each.is_empty()).then(|| format!("Settings: {}.", each.join("; ")))
}

/// The decision on a remedy.
fn kept(kept: Decision) -> &'static str {
    match kept {
        Decision::Alone => "kept",
        Decision::WithOthers => "kept: adds to the others",
        Decision::Unclear => "no: not significant",
        Decision::Costs => "no: slower",
        Decision::Slows => "no: later iterations are slower",
        Decision::OtherForm => "no: the other form is kept",
        Decision::NotMeasured => "no: not measured",
    }
}

/// The number of starts and what was measured.
fn about(report: &MeasurementReport) -> String {
    let starts = report
        .configurations
        .iter()
        .map(|configuration| configuration.values.len());
    let fewest = starts.clone().min().unwrap_or(0);
    let most = starts.max().unwrap_or(0);
    let starts = match fewest == most {
        true if most == 1 => "1 measured start".to_owned(),
        true => format!("{most} measured starts"),
        false => format!("{fewest} to {most} measured starts"),
    };
    let what = match report.iteration.is_empty() {
        true => "time to the end".to_owned(),
        false => format!("time to first · iterations: {}", report.iteration),
    };
    format!("{starts} per configuration, interleaved · {what}")
}

/// The decision for later starts.
fn decision(report: &MeasurementReport) -> String {
    if report.interrupted {
        return "Interrupted: nothing was decided.".to_owned();
    }
    if !report.decides() {
        return "Too few starts were measured to decide anything: `preheat start` starts this \
                program as before. More --starts or a larger --budget helps."
            .to_owned();
    }
    if report.kept.is_empty() {
        return "No remedy helps here: `preheat start` starts this program unchanged.".to_owned();
    }
    let names: Vec<String> = report.kept.iter().map(|id| remedy(*id)).collect();
    let names = match &names[..] {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    };
    format!("From now on, `preheat start` starts this program with: {names}.")
}

/// A saving as a change in time: 7.3 s → −7.3 s (−7.6 to −7.0 s).
fn saved(of: Estimate) -> String {
    let change = Estimate {
        value: -of.value,
        low: of.high.map(|high| -high),
        high: of.low.map(|low| -low),
    };
    let value = signed_duration(change.value);
    match interval(&change, Unit::Seconds) {
        Some(within) => format!("{value} ({within})"),
        None => value,
    }
}

/// A saving without its interval.
fn short(of: Estimate) -> String {
    signed_duration(-of.value)
}

/// A time with its interval: 931 ms (908–954 ms).
fn time(of: Option<Estimate>) -> String {
    let Some(of) = of else {
        return ABSENT.to_owned();
    };
    let bounds = duration_span(of.value, of.low, of.high);
    with_interval(&duration(of.value), bounds.as_deref(), false)
}
