//! Notes on differences besides the program, and on missing data.

use preheat_model::Machine;

use super::RunInput;
use super::counted_starts::Counted;
use super::judge::are_alike;
use super::regions::in_place_of_first;
use super::{CompareReport, Compared, Side, Unit};
use crate::run::RunReport;
use crate::stats::MIN_STARTS;
use crate::units;

/// The notes of a comparison of runs.
pub(super) fn of_runs(
    report: &CompareReport,
    base: &RunInput,
    new: &RunInput,
    counted: [&Counted; 2],
) -> Vec<String> {
    let mut notes = of_sides(&report.base, &report.new);
    notes.extend(iterations(base.report, new.report));
    notes.extend(different(base.report, new.report));
    let [of_base, of_new] = counted.map(|counted| counted.starts.len());
    if of_base.min(of_new) < MIN_STARTS {
        notes.push(format!(
            "too few starts: {} of base and {} of new count, and an interval needs {MIN_STARTS} of each; use --starts {} or more (the first does not count)",
            count(of_base),
            count(of_new),
            MIN_STARTS + 1,
        ));
    }
    for (side, counted) in [("base", counted[0]), ("new", counted[1])] {
        if counted.to_end && !counted.starts.is_empty() {
            notes.push(format!(
                "{side}: nothing was recorded, so its times are those to the end of the program"
            ));
        }
    }
    for (side, input) in [("base", base), ("new", new)] {
        notes.extend(left_out(side, input.report));
        if let Some(why) = &input.report.settings.ended_early {
            notes.push(format!("{side}: {why}"));
        }
        let truncated =
            (input.report.causes.iter()).any(|cause| cause.items_in_all > cause.items.len() as u64);
        if input.all_items.is_none() && truncated {
            notes.push(format!(
                "{side} is a document, which has only the largest items of each cause; its recording would show new and removed items more reliably"
            ));
        }
    }
    notes
}

/// Starts that failed, and those that cannot be read.
fn left_out(side: &str, report: &RunReport) -> Vec<String> {
    let all = report.starts.len();
    let failed: Vec<i32> = (report.starts.iter())
        .map(|start| start.exit_code)
        .filter(|code| *code != 0)
        .collect();
    let damaged = report.starts.iter().filter(|start| start.damaged).count();
    let mut notes = Vec::new();
    if let Some(code) = failed.first() {
        notes.push(format!(
            "{side}: {} of {all} starts failed (exit code {code}); they count only if all starts of both sides failed",
            failed.len()
        ));
    }
    if damaged > 0 {
        notes.push(format!(
            "{side}: {damaged} of {all} starts have unreadable parts in their recording (see `preheat report`); they count only if there are no others"
        ));
    }
    notes
}

/// A note on regions that only one side times, which cannot be compared.
pub(super) fn regions([base, new]: &[Vec<String>; 2]) -> Option<String> {
    let side = |names: &[String], side: &str| {
        let listed = names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let more = match names.len() {
            0..=3 => String::new(),
            all => format!(" and {} more", all - 3),
        };
        (!names.is_empty()).then(|| format!("only {side} times {listed}{more}"))
    };
    let sides: Vec<String> = [side(base, "base"), side(new, "new")]
        .into_iter()
        .flatten()
        .collect();
    (!sides.is_empty()).then(|| sides.join("; "))
}

/// A note on steady work that cannot be compared.
pub(super) fn steady_work(alike: bool) -> String {
    let why = match alike {
        true => "only one side has enough iterations to separate it",
        false => "the iterations are not comparable",
    };
    format!("steady work is counted as the program's own CPU time: {why}")
}

/// A note on gated quantities that were not measured, if any.
pub(super) fn unjudged(of: &[Compared]) -> Option<String> {
    let ids: Vec<&str> = of.iter().map(|of| of.id()).collect();
    let is = if ids.len() == 1 { "is" } else { "are" };
    (!ids.is_empty()).then(|| {
        format!(
            "{} {is} gated, but there are no comparable measurements",
            ids.join(", ")
        )
    })
}

/// The notes common to both kinds of comparison.
pub(super) fn of_sides(base: &Side, new: &Side) -> Vec<String> {
    let mut notes = Vec::new();
    if base.source == new.source && !base.source.is_empty() {
        notes.push("both sides are the same result".to_owned());
    }
    let machines = machines(&base.machine, &new.machine);
    if !machines.is_empty() {
        notes.push(format!(
            "the machines differ, and so may the times: {}",
            machines.join(", ")
        ));
    }
    if let (Some(of_base), Some(of_new)) = (&base.device, &new.device)
        && of_base != of_new
    {
        notes.push(format!("the devices differ: {of_base} against {of_new}"));
    }
    if base.preheat != new.preheat {
        notes.push(format!(
            "base was recorded by preheat {}, new by {}",
            base.preheat, new.preheat
        ));
    }
    if let (Some(of_base), Some(of_new)) = (base.temperature, new.temperature)
        && of_base != of_new
    {
        notes.push(format!(
            "the sides have no temperature in common: base is {}, new is {}",
            of_base.as_str(),
            of_new.as_str()
        ));
    }
    notes
}

/// A note if iterations differ between the sides.
fn iterations(base: &RunReport, new: &RunReport) -> Option<String> {
    let (of_base, of_new) = (&base.iteration, &new.iteration);
    if !are_alike(base, new) {
        let instead = match in_place_of_first(base, new) {
            None => "; define iterations with --iterations",
            Some(_) => {
                ", and the first execution of the timed region that both have is compared in \
                 place of the first iteration"
            }
        };
        return Some(format!(
            "iterations differ between the sides: {of_base} against {of_new}; they are not comparable{instead}"
        ));
    }
    let by_lines = base.first_begin.is_some() && new.first_begin.is_some();
    (of_base != of_new && !by_lines)
        .then(|| format!("iterations of base are {of_base}, those of new are {of_new}"))
}

fn machines(base: &Machine, new: &Machine) -> Vec<String> {
    let mut differ = Vec::new();
    let mut text = |what: &str, base: String, new: String| {
        if base != new {
            differ.push(format!("{what} {base} against {new}"));
        }
    };
    text("processor", base.cpu.clone(), new.cpu.clone());
    text("cores", base.cores.to_string(), new.cores.to_string());
    text("system", base.os.clone(), new.os.clone());
    text("kernel", base.kernel.clone(), new.kernel.clone());
    // The kernel's own memory varies slightly.
    let (of_base, of_new) = (base.memory as f64, new.memory as f64);
    if (of_base - of_new).abs() > 0.02 * of_base.max(of_new) {
        let size = units::bytes;
        text("memory", size(base.memory), size(new.memory));
    }
    differ
}

/// Notes on different settings.
fn different(base: &RunReport, new: &RunReport) -> Vec<String> {
    let mut notes = Vec::new();
    if base.settings.synchronize != new.settings.synchronize {
        notes.push(
            "only one side waited for the device at the end of each iteration (--synchronize)"
                .to_owned(),
        );
    }
    let value = |report: &RunReport, name: &str| {
        let mut all = report.environment.iter();
        all.find(|(known, _)| known == name)
            .map(|(_, value)| value.clone())
    };
    let mut names: Vec<&str> = (base.environment.iter().chain(&new.environment))
        .map(|(name, _)| name.as_str())
        .filter(|name| value(base, name) != value(new, name))
        .collect();
    names.sort_unstable();
    names.dedup();
    if !names.is_empty() {
        notes.push(format!("the environment differs: {}", names.join(", ")));
    }
    notes
}

// Formats changes for sentences.

/// Formats a change with its sign and unit: `+1.9 s`, `−64 MiB`.
pub(super) fn change(by: f64, unit: Unit) -> String {
    format!("{}{}", sign(by), size(by.abs(), unit))
}

/// Formats a number with its unit.
pub(super) fn size(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => units::duration(value),
        Unit::Bytes => units::bytes_f64(value),
        Unit::Ratio => units::ratio(value),
        Unit::Iterations if value == 1.0 => "1 iteration".to_owned(),
        Unit::Iterations => format!("{} iterations", units::number(value)),
        Unit::Count | Unit::ExitCode => units::number(value),
    }
}

/// Formats a small number for a sentence.
pub(super) fn count(count: usize) -> String {
    match count {
        0 => "none".to_owned(),
        some => some.to_string(),
    }
}

fn sign(value: f64) -> &'static str {
    if value < 0.0 { "−" } else { "+" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_carry_their_sign_and_unit() {
        assert_eq!(change(1.9, Unit::Seconds), "+1.9 s");
        assert_eq!(change(-0.0124, Unit::Seconds), "−12.4 ms");
        assert_eq!(change(-67108864.0, Unit::Bytes), "−64 MiB");
        assert_eq!(change(1.0, Unit::Iterations), "+1 iteration");
    }
}
