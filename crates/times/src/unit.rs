//! Units of time.

use std::str::FromStr;

/// The unit of a file's times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
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

impl Unit {
    /// All units.
    pub const ALL: [Unit; 4] = [
        Unit::Seconds,
        Unit::Milliseconds,
        Unit::Microseconds,
        Unit::Nanoseconds,
    ];

    /// The unit symbol, in ASCII.
    pub fn as_str(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Milliseconds => "ms",
            Unit::Microseconds => "us",
            Unit::Nanoseconds => "ns",
        }
    }

    /// The number of these units in a second. Dividing by a whole number rounds once;
    /// multiplying by 1e-9, which is not exactly representable, would round twice.
    pub(crate) fn in_a_second(self) -> f64 {
        match self {
            Unit::Seconds => 1.0,
            Unit::Milliseconds => 1e3,
            Unit::Microseconds => 1e6,
            Unit::Nanoseconds => 1e9,
        }
    }
}

/// The error for a unit that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown unit; expected one of s, ms, us, ns")]
pub struct UnknownUnit;

impl FromStr for Unit {
    type Err = UnknownUnit;

    fn from_str(text: &str) -> Result<Unit, UnknownUnit> {
        match text {
            "µs" | "μs" => Ok(Unit::Microseconds),
            _ => (Unit::ALL.into_iter().find(|unit| unit.as_str() == text)).ok_or(UnknownUnit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_parsed() {
        for unit in Unit::ALL {
            assert_eq!(unit.as_str().parse(), Ok(unit));
        }
        assert_eq!("µs".parse(), Ok(Unit::Microseconds));
        assert_eq!("m".parse::<Unit>(), Err(UnknownUnit));
        assert_eq!(1500.0 / Unit::Milliseconds.in_a_second(), 1.5);
    }
}
