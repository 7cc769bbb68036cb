//! Valid times and numbers, and units of time.

use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::error::{NotATime, Problem};

/// The possible duration of an iteration in seconds: from a picosecond to thirty years.
/// Anything else is in another unit, or not a time.
const PLAUSIBLE_SECONDS: RangeInclusive<f64> = 1e-12..=1e9;

/// Converts a time to seconds, or returns why it is invalid. `text` is its spelling in the
/// file.
pub(crate) fn time(value: f64, in_a_second: f64, text: &str) -> Result<f64, Problem> {
    let seconds = value / in_a_second;
    let why = match seconds {
        _ if value.is_nan() => NotATime::Missing,
        _ if value == 0.0 => NotATime::Zero,
        _ if value < 0.0 => NotATime::Negative,
        possible if PLAUSIBLE_SECONDS.contains(&possible) => return Ok(possible),
        long if long > 1.0 => NotATime::TooLong,
        _ => NotATime::TooShort,
    };
    Err(Problem::Time {
        text: text.to_owned(),
        why,
    })
}

/// Parses a number as files contain it, without forms that only Rust accepts.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let usual = |b: u8| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    let named = ["nan", "inf", "infinity"];
    let bare = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    if text.bytes().all(usual) || named.contains(&&*bare) {
        text.parse().ok()
    } else {
        None
    }
}

/// The unit of a file's times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    #[default]
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl TimeUnit {
    /// All units.
    pub const ALL: [TimeUnit; 4] = [
        TimeUnit::Seconds,
        TimeUnit::Milliseconds,
        TimeUnit::Microseconds,
        TimeUnit::Nanoseconds,
    ];

    /// The unit symbol, in ASCII.
    pub fn as_str(self) -> &'static str {
        match self {
            TimeUnit::Seconds => "s",
            TimeUnit::Milliseconds => "ms",
            TimeUnit::Microseconds => "us",
            TimeUnit::Nanoseconds => "ns",
        }
    }

    /// The number of these units in a second. Dividing by a whole number rounds once;
    /// multiplying by 1e-9, which is not exactly representable, would round twice.
    pub(crate) fn in_a_second(self) -> f64 {
        match self {
            TimeUnit::Seconds => 1.0,
            TimeUnit::Milliseconds => 1e3,
            TimeUnit::Microseconds => 1e6,
            TimeUnit::Nanoseconds => 1e9,
        }
    }
}

/// The error for a unit that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown unit; expected one of s, ms, us, ns")]
pub struct UnknownUnit;

impl FromStr for TimeUnit {
    type Err = UnknownUnit;

    fn from_str(text: &str) -> Result<TimeUnit, UnknownUnit> {
        match text {
            "µs" | "μs" => Ok(TimeUnit::Microseconds),
            _ => (TimeUnit::ALL.into_iter().find(|unit| unit.as_str() == text)).ok_or(UnknownUnit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_above_zero_and_possible() {
        assert_eq!(time(250.0, 1e3, "250"), Ok(0.25));
        assert_eq!(time(1e9, 1.0, "1e9"), Ok(1e9));
        for (value, why) in [
            (0.0, "too coarse"),
            (-0.0, "too coarse"),
            (-1.0, "below 0"),
            (f64::NAN, "every iteration needs one"),
            (f64::INFINITY, "thirty years"),
            (f64::NEG_INFINITY, "below 0"),
            (3e12, "thirty years; --unit"),
            (1e-13, "picosecond; --unit"),
        ] {
            let error = time(value, 1.0, "this").unwrap_err().to_string();
            assert!(
                error.starts_with("this is not a time") && error.contains(why),
                "{error}"
            );
        }
    }

    #[test]
    fn numbers_as_people_and_programs_write_them() {
        for (text, value) in [("1", 1.0), ("+1.5e-3", 1.5e-3), (".5", 0.5), ("1E3", 1e3)] {
            assert_eq!(parse(text), Some(value));
        }
        assert!(parse("NaN").is_some_and(f64::is_nan));
        assert_eq!(parse("-inf"), Some(f64::NEG_INFINITY));
        for bad in ["", "a", "1 2", "0x10", "1_000", "1,5", "12ms", "--1", "e"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn units_are_parsed() {
        for unit in TimeUnit::ALL {
            assert_eq!(unit.as_str().parse(), Ok(unit));
        }
        assert_eq!("µs".parse(), Ok(TimeUnit::Microseconds));
        assert_eq!("m".parse::<TimeUnit>(), Err(UnknownUnit));
        assert_eq!(1500.0 / TimeUnit::Milliseconds.in_a_second(), 1.5);
    }
}
