//! Units of time.

use std::str::FromStr;

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
    fn units_are_parsed() {
        for unit in TimeUnit::ALL {
            assert_eq!(unit.as_str().parse(), Ok(unit));
        }
        assert_eq!("µs".parse(), Ok(TimeUnit::Microseconds));
        assert_eq!("m".parse::<TimeUnit>(), Err(UnknownUnit));
        assert_eq!(1500.0 / TimeUnit::Milliseconds.in_a_second(), 1.5);
    }
}
