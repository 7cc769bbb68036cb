//! Drafts a budget that a recording meets, with headroom: limits on the important
//! quantities, rounded to friendly numbers.

use super::error::{DraftError, NotMeasured};
use super::measure::Sample;
use preheat_model::Quantity;

use super::{Draft, DraftLine, Limited, Measured, Unit, value};
use crate::run::{Cause, RunReport, Temperature, warmest};
use crate::stats::MIN_STARTS;

/// The default headroom above the measured values.
pub const DEFAULT_HEADROOM: f64 = 0.25;
/// Causes below this share of the time to first get no limit.
const MIN_SHARE: f64 = 0.1;
/// The maximum number of causes with a limit.
const CAUSES: usize = 3;
/// The number of starts to require: the default of `preheat run`.
const STARTS: usize = 5;

/// Drafts a budget.
pub fn draft(report: &RunReport, headroom: f64) -> Result<Draft, DraftError> {
    let codes: Vec<i32> = report.starts.iter().map(|start| start.exit_code).collect();
    let code = codes.first().copied().ok_or(NotMeasured::NoStart)?;
    if codes.iter().any(|other| *other != code) {
        return Err(DraftError::DifferentExitCodes);
    }
    let warmest = warmest(&report.starts).ok_or(NotMeasured::NoStart)?;
    let sample = Sample::of(report, warmest)?;
    let measured: Vec<Measured> = [
        Quantity::TimeToFirst,
        Quantity::First,
        Quantity::Steady,
        Quantity::DeviceMemory,
        Quantity::HostMemory,
    ]
    .map(Limited::Quantity)
    .into_iter()
    .chain(large_causes(&sample))
    .filter_map(|of| sample.measure(of).ok())
    .collect();
    let (uncertain, certain): (Vec<_>, Vec<_>) = measured.into_iter().partition(is_uncertain);
    let mut lines: Vec<DraftLine> = (certain.into_iter())
        .map(|measured| line(measured, false, headroom))
        .collect();
    for colder in Temperature::ALL.into_iter().skip(1) {
        if colder != warmest
            && let Ok(sample) = Sample::of(report, colder)
            && let Ok(measured) = sample.measure(Quantity::TimeToFirst)
            && !is_uncertain(&measured)
        {
            lines.push(line(measured, true, headroom));
        }
    }
    if lines.is_empty() {
        return Err(match uncertain.is_empty() {
            true => DraftError::NothingMeasured,
            false => DraftError::Uncertain,
        });
    }
    let made = report
        .starts
        .iter()
        .filter(|start| start.temperature == warmest);
    let made = made.count();
    Ok(Draft {
        headroom,
        // Only required if there is an interval; the first start does not count.
        starts: (made > MIN_STARTS).then_some(made.min(STARTS)),
        exit_code: (code != 0).then_some(code),
        lines,
        uncertain,
    })
}

/// An interval that extends beyond this many times the estimate cannot justify a limit: the
/// next run would fail or pass by chance.
const MAX_INTERVAL_RATIO: f64 = 5.0;

/// Returns true if the interval of a quantity is too wide for a limit.
fn is_uncertain(measured: &Measured) -> bool {
    let high = measured.value.high;
    high.is_some_and(|high| high > MAX_INTERVAL_RATIO * measured.value.value)
}

/// The causes that deserve a limit, largest first. Steady work is covered by the limit on
/// the steady iteration, and unexplained time carries no information.
fn large_causes(sample: &Sample) -> Vec<Limited> {
    let Ok(time) = sample.measure(Quantity::TimeToFirst) else {
        return Vec::new();
    };
    let mut causes: Vec<(f64, Limited)> = Cause::ALL
        .into_iter()
        .filter(|cause| ![Cause::SteadyWork, Cause::Unexplained].contains(cause))
        .map(Limited::Cause)
        .filter_map(|of| Some((sample.measure(of).ok()?.value.value, of)))
        .filter(|(seconds, _)| *seconds >= MIN_SHARE * time.value.value)
        .collect();
    causes.sort_by(|a, b| b.0.total_cmp(&a.0));
    causes.into_iter().take(CAUSES).map(|(_, of)| of).collect()
}

fn line(measured: Measured, colder: bool, headroom: f64) -> DraftLine {
    let most = friendly(measured.of.unit(), measured.value.value * (1.0 + headroom));
    DraftLine {
        measured,
        colder,
        most,
    }
}

/// The error for a text that is not a headroom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("headroom is a percentage from 0% to 1000%, such as 25%")]
pub struct InvalidHeadroom;

/// Parses a headroom, `25%` or `25`, as a fraction.
pub fn headroom(text: &str) -> Result<f64, InvalidHeadroom> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if (0.0..=1000.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err(InvalidHeadroom),
    }
}

/// Rounds up to two digits, with a unit.
fn friendly(unit: Unit, value: f64) -> String {
    let names: &[&str] = match unit {
        Unit::Seconds => &["ns", "us", "ms", "s"],
        Unit::Bytes => &["B", "KiB", "MiB", "GiB"],
        Unit::Ratio | Unit::Iterations | Unit::Count | Unit::ExitCode => {
            return round_up(value).to_string();
        }
    };
    let scale = |name: &str| value::scale(unit, name).unwrap_or(1.0);
    // 999.5 ms would round up to 1000 ms, which is 1 s.
    let fits = |name: &&&str| {
        round_up(value / scale(name)) < if unit == Unit::Bytes { 1024.0 } else { 1000.0 }
    };
    let name = names.iter().find(fits).unwrap_or(&names[names.len() - 1]);
    format!("{} {name}", round_up(value / scale(name)))
}

/// Rounds up to two digits, tolerating rounding errors just above a round number.
fn round_up(value: f64) -> f64 {
    let digit = value.max(f64::MIN_POSITIVE).log10().floor() - 1.0;
    if digit < 0.0 {
        let scale = 10f64.powf(-digit);
        (value * scale - 1e-9).ceil() / scale
    } else {
        let scale = 10f64.powf(digit);
        (value / scale - 1e-9).ceil() * scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Estimate;

    #[test]
    fn numbers_are_friendly_and_never_below() {
        for (unit, value, text) in [
            (Unit::Seconds, 11.175, "12 s"),
            (Unit::Seconds, 0.000_947_5, "950 us"),
            (Unit::Seconds, 0.6775, "680 ms"),
            (Unit::Seconds, 0.9951, "1 s"),
            (Unit::Seconds, 1.0, "1 s"),
            (Unit::Seconds, 3e-9, "3 ns"),
            (Unit::Seconds, 4321.0, "4400 s"),
            (Unit::Bytes, 1076.0 * 1048576.0, "1.1 GiB"),
            (Unit::Bytes, 15.0 * 1048576.0, "15 MiB"),
            (Unit::Bytes, 700.0, "700 B"),
        ] {
            let written = friendly(unit, value);
            assert_eq!(written, text);
            let read = value::parse(unit, &written).unwrap();
            assert!(read >= value * (1.0 - 1e-9), "{written} for {value}");
        }
        let mut value = 1e-9;
        while value < 1e6 {
            for unit in [Unit::Seconds, Unit::Bytes] {
                let value = if unit == Unit::Bytes {
                    value * 1e9
                } else {
                    value
                };
                let read = value::parse(unit, &friendly(unit, value)).unwrap();
                assert!(
                    read >= value * (1.0 - 1e-9) && read <= value * 1.12,
                    "{value}"
                );
            }
            value *= 1.037;
        }
    }

    #[test]
    fn an_interval_far_beyond_the_estimate_gives_no_limit() {
        let measured = |low: f64, median: f64, high: f64| Measured {
            of: Quantity::First.into(),
            temperature: Temperature::Process,
            value: Estimate {
                value: median,
                low: Some(low),
                high: Some(high),
            },
            starts: 4,
        };
        assert!(is_uncertain(&measured(0.07e-3, 6e-3, 489e-3)));
        assert!(!is_uncertain(&measured(5e-3, 6e-3, 9e-3)));
        assert!(!is_uncertain(&measured(0.0, 6e-3, 20e-3)));
    }

    #[test]
    fn a_headroom_is_a_percentage() {
        assert_eq!(headroom("25%"), Ok(0.25));
        assert_eq!(headroom(" 25 % "), Ok(0.25));
        assert_eq!(headroom("100"), Ok(1.0));
        for bad in ["-1%", "x", "", "NaN", "inf", "1001%"] {
            assert!(headroom(bad).is_err(), "{bad}");
        }
    }
}
