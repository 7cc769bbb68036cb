//! Checks a recorded program against its budget.
//!
//! - [`Budget`] contains upper limits on [`Limited`] quantities, from a small TOML text
//!   ([`Budget::read`]) and from flags ([`limit`]).
//! - [`measured`] computes the quantities of a [`RunReport`], with intervals.
//! - [`check`] compares the two: [`CheckReport`], with a verdict on every line.
//! - [`draft`] creates a budget that a recording meets, with headroom.
//!
//! A line fails only if that is certain: the measured value and its whole 95 % interval are
//! above the limit. Where the interval reaches down to the limit, or there are too few
//! starts for an interval, nothing is certain, and failing would break builds at random.
//!
//! Acting on a verdict (exit codes, files, annotations) is the caller's job.

mod budget;
mod draft;
mod error;
mod measure;
mod read;

use crate::run::{RunReport, Temperature, warmest};
use crate::stats::Estimate;
use measure::Samples;

pub use budget::{Budget, Limit, limit};
pub use draft::{DEFAULT_HEADROOM, InvalidHeadroom, draft, headroom};
pub use error::{DraftError, NotMeasured, TooFewStarts};
pub use measure::measured;
pub(crate) use preheat_model::check::{
    CHECK_SCHEMA, CheckReport, CheckSettings, Draft, DraftLine, InvalidValue, Limited, Line,
    LineKind, Measured, Misplaced, Part, Position, Unit, Value, Verdict, did_you_mean, nearest,
    value,
};

/// Checks a recording. The caller fills in `recording`, `budget` and `name` of the result.
pub fn check(
    report: &RunReport,
    budget: &Budget,
    settings: CheckSettings,
) -> Result<CheckReport, TooFewStarts> {
    enough_starts(report, budget)?;
    let mut samples = Samples::of(report);
    let mut lines: Vec<Line> = exit_codes(report, budget).into_iter().collect();
    for limit in &budget.limits {
        lines.push(line(&mut samples, limit, settings));
    }
    let verdict = lines.iter().map(|line| line.verdict).max();
    Ok(CheckReport {
        schema: CHECK_SCHEMA.to_owned(),
        preheat: String::new(),
        name: String::new(),
        recording: String::new(),
        budget: None,
        created: report.created.clone(),
        command: report.command.clone(),
        machine: report.machine.clone(),
        settings,
        starts: report.starts.len(),
        verdict: match verdict {
            None | Some(Verdict::NotMeasured) => Verdict::Pass,
            Some(worst) => worst,
        },
        lines,
        measured: samples.all().into_iter().map(value).collect(),
        notes: report.settings.ended_early.iter().cloned().collect(),
    })
}

fn enough_starts(report: &RunReport, budget: &Budget) -> Result<(), TooFewStarts> {
    let Some(least) = budget.starts else {
        return Ok(());
    };
    let mut temperatures: Vec<Option<Temperature>> = (budget.limits.iter())
        .map(|limit| limit.temperature)
        .collect();
    temperatures.push(None);
    for temperature in temperatures {
        let at = temperature.or_else(|| warmest(&report.starts));
        let starts = report.starts.iter();
        let made = starts.filter(|start| Some(start.temperature) == at).count();
        // A missing temperature is reported by its line.
        if (made > 0 || temperature.is_none()) && made < least {
            return Err(TooFewStarts { least, made, at });
        }
    }
    Ok(())
}

/// The line on exit codes, if the budget requires one or a start had a different one.
fn exit_codes(report: &RunReport, budget: &Budget) -> Option<Line> {
    let wanted = budget.exit_code.unwrap_or(0);
    let other: Vec<i32> = (report.starts.iter())
        .map(|start| start.exit_code)
        .filter(|code| *code != wanted)
        .collect();
    if other.is_empty() && budget.exit_code.is_none() {
        return None;
    }
    let starts = report.starts.len();
    let shown = other.first().copied().unwrap_or(wanted);
    let alike = other.iter().all(|code| *code == shown);
    let reason = match other.len() {
        0 => String::new(),
        failed => format!(
            "{failed} of {starts} starts ended with {}{shown} instead of {wanted}",
            if alike {
                "exit code "
            } else {
                "different exit codes, the first with "
            }
        ),
    };
    Some(Line {
        limit: LineKind::ExitCode,
        cause: None,
        temperature: None,
        title: "exit code".to_owned(),
        unit: Unit::ExitCode,
        most: f64::from(wanted),
        place: None,
        measured: Some(Estimate {
            value: f64::from(shown),
            low: None,
            high: None,
        }),
        starts,
        used: None,
        verdict: if other.is_empty() {
            Verdict::Pass
        } else {
            Verdict::Fail
        },
        reason,
        parts: Vec::new(),
    })
}

fn line(samples: &mut Samples, limit: &Limit, settings: CheckSettings) -> Line {
    let report = samples.report();
    let Limit { of, most, .. } = *limit;
    let found = samples.measure(of, limit.temperature);
    let warm = limit.temperature.is_none() || limit.temperature == warmest(&report.starts);
    let (verdict, reason) = match &found {
        Ok(found) => match verdict(&found.value, most) {
            Verdict::Pass => (Verdict::Pass, String::new()),
            other => (
                other,
                error::above(of.unit(), most, &found.value, found.starts),
            ),
        },
        Err(why) if settings.allow_missing => (Verdict::NotMeasured, why.to_string()),
        Err(why) => (Verdict::Fail, format!("not measured: {why}")),
    };
    let found = found.ok();
    let measured = found.map(|found| found.value);
    let used = measured.and_then(|value| match (value.value, most) {
        (0.0, _) => Some(0.0),
        // Above a limit of zero, a share is undefined.
        (_, 0.0) => None,
        (median, most) => Some(median / most),
    });
    let explained = warm && measured.is_some() && verdict > Verdict::NotMeasured;
    Line {
        limit: of.into(),
        cause: of.cause(),
        temperature: limit.temperature,
        title: of.title().to_owned(),
        unit: of.unit(),
        most,
        place: limit.place,
        measured,
        starts: found.map_or(0, |found| found.starts),
        used,
        verdict,
        reason,
        parts: if explained {
            error::parts(report, of)
        } else {
            Vec::new()
        },
    }
}

fn verdict(value: &Estimate, most: f64) -> Verdict {
    if value.value <= most {
        Verdict::Pass
    } else if value.is_above(most) {
        Verdict::Fail
    } else {
        Verdict::Inconclusive
    }
}

fn value(found: Measured) -> Value {
    Value {
        quantity: found.of.into(),
        cause: found.of.cause(),
        temperature: found.temperature,
        title: found.of.title().to_owned(),
        unit: found.of.unit(),
        measured: found.value,
        starts: found.starts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fails_only_if_that_is_certain() {
        let estimate = |value, low, high| Estimate { value, low, high };
        for (found, expected) in [
            (estimate(1.9, Some(1.5), Some(2.5)), Verdict::Pass),
            (estimate(2.0, None, None), Verdict::Pass),
            (estimate(2.1, Some(1.9), Some(2.3)), Verdict::Inconclusive),
            (estimate(2.1, Some(2.0), Some(2.3)), Verdict::Inconclusive),
            (estimate(2.2, Some(2.1), Some(2.3)), Verdict::Fail),
            (estimate(2.1, None, None), Verdict::Inconclusive),
        ] {
            assert_eq!(verdict(&found, 2.0), expected, "{found:?}");
        }
    }
}
