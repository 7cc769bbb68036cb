//! The quantities that a budget can limit, and the notation of their values.

use super::value::quoted;
use crate::Quantity;
use crate::run::Cause;
use crate::stats::Estimate;
use crate::units::{self, Unit};

/// A quantity that can have a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limited {
    /// A quantity of a start.
    Quantity(Quantity),
    /// The time of one cause on the path to the end of the first iteration.
    Cause(Cause),
}

impl From<Quantity> for Limited {
    fn from(quantity: Quantity) -> Limited {
        Limited::Quantity(quantity)
    }
}

impl PartialEq<Quantity> for Limited {
    fn eq(&self, other: &Quantity) -> bool {
        matches!(self, Limited::Quantity(quantity) if quantity == other)
    }
}

impl Limited {
    /// The key in a budget: `first_ratio`, `cause."Python imports"`.
    pub fn key(self) -> String {
        match self {
            Limited::Quantity(quantity) => quantity.key().to_owned(),
            Limited::Cause(cause) => format!("cause.\"{}\"", cause.as_str()),
        }
    }

    /// The human-readable name.
    pub fn title(self) -> &'static str {
        match self {
            Limited::Quantity(quantity) => quantity.title(),
            Limited::Cause(cause) => cause.as_str(),
        }
    }

    /// The unit of its values.
    pub fn unit(self) -> Unit {
        match self {
            Limited::Quantity(quantity) => quantity.unit(),
            Limited::Cause(_) => Unit::Seconds,
        }
    }

    /// The cause, if it is one.
    pub fn cause(self) -> Option<Cause> {
        match self {
            Limited::Quantity(_) => None,
            Limited::Cause(cause) => Some(cause),
        }
    }

    /// Looks up a cause by name, ignoring case.
    pub fn cause_named(name: &str) -> Result<Limited, UnknownCause> {
        let found = Cause::ALL
            .into_iter()
            .find(|cause| cause.as_str().eq_ignore_ascii_case(name.trim()));
        let unknown = || UnknownCause(name.to_owned());
        found.map(Limited::Cause).ok_or_else(unknown)
    }
}

/// The error for a cause that does not exist; its message lists all causes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown cause {}{}; expected one of {}",
    quoted(.0),
    did_you_mean(.0, Cause::ALL.map(Cause::as_str)),
    Cause::ALL.map(Cause::as_str).join(", ")
)]
pub struct UnknownCause(String);

impl Unit {
    /// Formats a value with its unit.
    pub fn write(self, value: f64) -> String {
        match self {
            Unit::Seconds => units::duration(value),
            Unit::Bytes => units::bytes_f64(value),
            Unit::Ratio => format!("{}×", units::number(value)),
            Unit::Iterations | Unit::Count => units::number(value),
            Unit::ExitCode => format!("{value:.0}"),
        }
    }

    /// Formats the bounds of an interval in the unit of its estimate, `8.71–9.20 s`; `None`
    /// unless both exist.
    pub fn ends(self, interval: &Estimate) -> Option<String> {
        let (low, high) = (interval.low?, interval.high?);
        let text = match self {
            Unit::Seconds | Unit::Bytes if units::too_wide(Some(low), Some(high)) => {
                units::join_values(&self.write(low), &self.write(high), "")
            }
            Unit::Seconds | Unit::Bytes => {
                let shown = match interval.value == 0.0 {
                    true => high,
                    false => interval.value,
                };
                let (scale, name) = self.shown_in(shown);
                let digits = |value: f64| match interval.value == 0.0 {
                    true => units::number(value / scale),
                    false => digits_beside(value / scale, interval.value / scale),
                };
                units::join_values(&digits(low), &digits(high), &format!(" {name}"))
            }
            Unit::Ratio => units::ratio_span(Some(low), Some(high))?,
            Unit::Iterations | Unit::Count | Unit::ExitCode => {
                units::join_values(&units::number(low), &units::number(high), "")
            }
        };
        (low.is_finite() && high.is_finite()).then_some(text)
    }
}

/// Formats a bound with as many decimals as three digits of the median have.
fn digits_beside(end: f64, median: f64) -> String {
    let magnitude = median.abs().max(f64::MIN_POSITIVE).log10().floor();
    let decimals = (2.0 - magnitude).clamp(0.0, 3.0) as usize;
    // Avoid a negative zero.
    let scale = 10f64.powi(decimals as i32);
    let text = format!("{:.decimals$}", (end * scale).round() / scale);
    match text.strip_prefix('-') {
        Some(zero) if !zero.contains(|c: char| ('1'..='9').contains(&c)) => zero.to_owned(),
        Some(below) => format!("−{below}"),
        None => text,
    }
}

// "Did you mean …?" suggestions.

/// The name closest to `written`, if it is close enough to be a typo.
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Typos are not much longer than names, and the comparison takes quadratic time.
    if written.len() > 64 {
        return None;
    }
    let written = simple(written);
    let found = names
        .into_iter()
        .map(|name| (strsim::levenshtein(&written, &simple(name)), name))
        .min_by_key(|(distance, _)| *distance);
    let near = |(distance, name): &(usize, &str)| *distance <= name.chars().count().div_ceil(3);
    found.filter(near).map(|(_, name)| name)
}

/// ` (did you mean …?)`, or nothing.
pub fn did_you_mean<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(written, names) {
        Some(name) => format!(" (did you mean {name}?)"),
        None => String::new(),
    }
}

/// Removes variations in case, dashes, underscores and spaces.
fn simple(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, ' ' | '-' | '_'))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(median: f64, low: f64, high: f64) -> Estimate {
        Estimate {
            value: median,
            low: Some(low),
            high: Some(high),
        }
    }

    #[test]
    fn every_value_has_its_unit() {
        assert_eq!(Unit::Seconds.write(0.35), "350 ms");
        assert_eq!(Unit::Bytes.write(1e9), "954 MiB");
        assert_eq!(Unit::Ratio.write(50.0), "50×");
        assert_eq!(Unit::Iterations.write(2.5), "2.5");
        assert_eq!(Unit::ExitCode.write(139.0), "139");
    }

    #[test]
    fn ends_have_the_unit_of_the_estimate() {
        let ends = |unit: Unit, m, l, h| unit.ends(&interval(m, l, h)).unwrap();
        assert_eq!(ends(Unit::Seconds, 8.94, 8.71, 9.2), "8.71–9.20 s");
        assert_eq!(ends(Unit::Seconds, 0.9, 0.8, 1.1), "800–1100 ms");
        assert_eq!(ends(Unit::Seconds, 240.0, 180.0, 300.0), "3.00–5.00 min");
        assert_eq!(ends(Unit::Seconds, 7e-7, 6e-7, 8e-7), "600–800 ns");
        assert_eq!(ends(Unit::Seconds, 0.0, 0.0, 0.001), "0–1 ms");
        assert_eq!(ends(Unit::Seconds, 0.0, 0.0, 0.0), "0–0 s");
        assert_eq!(ends(Unit::Seconds, 0.001, -1e-9, 0.002), "0.00–2.00 ms");
        assert_eq!(
            ends(Unit::Bytes, 1.5 * 1024.0, 1024.0, 2048.0),
            "1.00–2.00 KiB"
        );
        // 3.125 is rounded up, as everywhere.
        assert_eq!(ends(Unit::Seconds, 3.125, 3.125, 3.125), "3.13–3.13 s");
        assert_eq!(ends(Unit::Ratio, 716.0, 690.0, 741.0), "690–741×");
        assert_eq!(ends(Unit::Iterations, 1.0, 0.0, 2.0), "0–2");
    }

    #[test]
    fn without_both_ends_there_is_none() {
        let half = Estimate {
            low: None,
            ..interval(1.0, 1.0, 2.0)
        };
        assert_eq!(Unit::Seconds.ends(&half), None);
        let broken = interval(1.0, f64::NAN, 2.0);
        assert_eq!(Unit::Seconds.ends(&broken), None);
        assert_eq!(Unit::Bytes.ends(&interval(f64::NAN, f64::NAN, 2.0)), None);
    }

    #[test]
    fn typos_are_matched_and_unrelated_words_are_not() {
        let names = ["time_to_first", "first", "steady", "host_memory"];
        assert_eq!(nearest("time-to-frist", names), Some("time_to_first"));
        assert_eq!(nearest("Steadi", names), Some("steady"));
        assert_eq!(nearest("hostmemory", names), Some("host_memory"));
        assert_eq!(nearest("color", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(nearest(&"x".repeat(100_000), names), None);
        assert_eq!(did_you_mean("fist", names), " (did you mean first?)");
    }
}
