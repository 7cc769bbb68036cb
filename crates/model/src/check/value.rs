//! Parses limits as users write them: `2 s`, `350 ms`, `1 GiB`, `50x`.

use super::Unit;

const TIMES: [(&str, f64); 8] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("min", 60.0),
    ("h", 3600.0),
];

const SIZES: [(&str, f64); 9] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1048576.0),
    ("GiB", 1073741824.0),
    ("TiB", 1099511627776.0),
];

/// The maximum length of a limit; parsing takes quadratic time.
const MAX_LENGTH: usize = 64;

/// The seconds or bytes in a unit of that name.
pub fn scale(unit: Unit, name: &str) -> Option<f64> {
    let (units, exact): (&[(&str, f64)], bool) = match unit {
        Unit::Seconds => (&TIMES, true),
        // Bits are never meant, and `gib` is as clear as `GiB`.
        Unit::Bytes => (&SIZES, false),
        Unit::Ratio | Unit::Iterations | Unit::Count | Unit::ExitCode => return None,
    };
    let same = |known: &str| known == name || (!exact && known.eq_ignore_ascii_case(name));
    units
        .iter()
        .find(|(known, _)| same(known))
        .map(|(_, scale)| *scale)
}

/// A text that is not a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} {problem}; {}", quoted(text), written(*unit))]
pub struct InvalidValue {
    text: String,
    unit: Unit,
    problem: Problem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error("is not a number")]
    NotANumber,
    #[error("has no unit")]
    NoUnit,
    #[error("is not an exit code")]
    NotAnExitCode,
    #[error("is below zero")]
    Negative,
    #[error("is not above zero, so nothing could meet it")]
    NotPositive,
    #[error("is too large")]
    TooLarge,
    #[error("is a unit of size")]
    UnitOfSize,
    #[error("is a unit of time")]
    UnitOfTime,
    #[error("is not a unit of time")]
    NotAUnitOfTime,
    #[error("is not a unit of size")]
    NotAUnitOfSize,
    #[error("is not allowed: this limit has no unit")]
    UnitNotAllowed,
}

impl Problem {
    fn of(self, text: &str, unit: Unit) -> InvalidValue {
        InvalidValue {
            text: text.to_owned(),
            unit,
            problem: self,
        }
    }
}

/// Parses a text to seconds, bytes, or a bare number.
pub fn parse(unit: Unit, text: &str) -> Result<f64, InvalidValue> {
    let trimmed = text.trim();
    if trimmed.len() > MAX_LENGTH {
        return Err(Problem::NotANumber.of(text, unit));
    }
    // `2e3 s` has an exponent, `2 EB` a unit: use the longest prefix that is a number.
    let ends = trimmed.char_indices().map(|(at, _)| at);
    let (number, name) = ends
        .chain([trimmed.len()])
        .filter_map(|at| Some((parse_number(&trimmed[..at])?, trimmed[at..].trim())))
        .next_back()
        .ok_or_else(|| Problem::NotANumber.of(text, unit))?;
    let factor = match (unit, name) {
        (Unit::Ratio, "" | "x" | "×") => 1.0,
        (Unit::Iterations, "" | "iteration" | "iterations")
        | (Unit::Count | Unit::ExitCode, "") => 1.0,
        (Unit::Seconds | Unit::Bytes, "") => {
            return Err(Problem::NoUnit.of(text, unit));
        }
        _ => scale(unit, name).ok_or_else(|| wrong_unit(unit, name))?,
    };
    // Dividing by a whole number makes 350 ms exactly equal to 0.35 s.
    let value = match factor < 1.0 {
        true => number / factor.recip().round(),
        false => number * factor,
    };
    possible(unit, value, text)
}

impl Unit {
    /// Parses an amount in this unit, such as `1ms` or `4 MiB`, like a limit, except that
    /// it may be zero, which needs no unit.
    pub fn amount(self, text: &str) -> Result<f64, InvalidValue> {
        let number = text.trim();
        let letters = number.trim_end_matches(|c: char| c.is_alphabetic());
        let unit = number[letters.len()..].trim();
        let known = unit.is_empty() || scale(self, unit).is_some();
        match parse_number(letters) {
            Some(0.0) if known => Ok(0.0),
            Some(below) if below < 0.0 => Err(Problem::Negative.of(text, self)),
            _ => parse(self, text),
        }
    }
}

/// Uses a bare number as a limit.
pub fn bare(unit: Unit, number: f64) -> Result<f64, InvalidValue> {
    let text = number.to_string();
    match unit {
        Unit::Seconds | Unit::Bytes => Err(Problem::NoUnit.of(&text, unit)),
        Unit::Ratio | Unit::Iterations | Unit::Count | Unit::ExitCode => {
            possible(unit, number, &text)
        }
    }
}

/// Accepts digits, a fraction and an exponent, but not `inf` and `NaN`, which Rust parses
/// too.
fn parse_number(text: &str) -> Option<f64> {
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E' | '_');
    let digits = text.trim_end();
    if !digits.chars().all(plain) || digits.starts_with('_') || digits.ends_with('_') {
        return None;
    }
    digits.replace('_', "").parse().ok()
}

/// Checks that a limit is in the possible range.
fn possible(unit: Unit, value: f64, text: &str) -> Result<f64, InvalidValue> {
    let (least, most) = match unit {
        Unit::Seconds => (1e-12, 1e9),
        Unit::Bytes => (1.0, 1e18),
        Unit::Ratio => (1e-6, 1e12),
        Unit::Iterations | Unit::Count => (0.0, 1e12),
        Unit::ExitCode => (0.0, 255.0),
    };
    let problem = match value {
        part if unit == Unit::ExitCode && part.fract() != 0.0 => Problem::NotAnExitCode,
        none if none.is_nan() => Problem::NotANumber,
        fine if (least..=most).contains(&fine) => return Ok(fine),
        low if low <= least => match unit {
            Unit::Iterations | Unit::Count | Unit::ExitCode => Problem::Negative,
            Unit::Seconds | Unit::Bytes | Unit::Ratio => Problem::NotPositive,
        },
        _ => Problem::TooLarge,
    };
    Err(problem.of(text, unit))
}

/// Explains how such a limit is written.
fn written(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "a time is written as \"2 s\", \"350 ms\" or \"80 us\"",
        Unit::Bytes => "a size is written as \"1 GiB\", \"512 MB\" or \"4096 B\"",
        Unit::Ratio => "a ratio is written as 50 or \"50x\"",
        Unit::Iterations => "a number of iterations is written as 10",
        Unit::Count => "a number is written as 10",
        Unit::ExitCode => "an exit code is a whole number from 0 to 255",
    }
}

/// The error for a unit that does not fit.
fn wrong_unit(unit: Unit, name: &str) -> InvalidValue {
    let problem = match unit {
        Unit::Seconds if scale(Unit::Bytes, name).is_some() => Problem::UnitOfSize,
        Unit::Seconds => Problem::NotAUnitOfTime,
        Unit::Bytes if scale(Unit::Seconds, name).is_some() => Problem::UnitOfTime,
        Unit::Bytes => Problem::NotAUnitOfSize,
        Unit::Ratio | Unit::Iterations | Unit::Count | Unit::ExitCode => Problem::UnitNotAllowed,
    };
    problem.of(name, unit)
}

/// Quotes a text, shortened and without terminal control characters.
pub fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    let clean: String = (shown.chars())
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    format!("\"{clean}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_can_be_written_in_many_ways() {
        for (unit, text, value) in [
            (Unit::Seconds, "2 s", 2.0),
            (Unit::Seconds, "350ms", 0.35),
            (Unit::Seconds, " 80 us ", 80e-6),
            (Unit::Seconds, "80 µs", 80e-6),
            (Unit::Seconds, "1.5 min", 90.0),
            (Unit::Seconds, "2e-3 s", 2e-3),
            (Unit::Seconds, "1_000 ms", 1.0),
            (Unit::Bytes, "1 GiB", 1073741824.0),
            (Unit::Bytes, "512 MB", 512e6),
            (Unit::Bytes, "512mib", 512.0 * 1048576.0),
            (Unit::Bytes, "1e3 kB", 1e6),
            (Unit::Ratio, "50", 50.0),
            (Unit::Ratio, "50x", 50.0),
            (Unit::Ratio, "50 ×", 50.0),
            (Unit::Iterations, "10 iterations", 10.0),
            (Unit::Iterations, "0", 0.0),
            (Unit::ExitCode, "143", 143.0),
        ] {
            let found = parse(unit, text).unwrap();
            assert!(
                (found / value - 1.0).abs() < 1e-12 || found == value,
                "{text}"
            );
        }
        assert_eq!(bare(Unit::Ratio, 50.0), Ok(50.0));
    }

    #[test]
    fn an_amount_may_be_zero() {
        for nothing in ["0", " 0 ", "0 s", "0ms", "0.0 min"] {
            assert_eq!(Unit::Seconds.amount(nothing), Ok(0.0), "{nothing}");
        }
        assert_eq!(Unit::Seconds.amount("350 ms"), Ok(0.35));
        assert_eq!(Unit::Bytes.amount("1 mib"), Ok(1048576.0));
        for wrong in ["", "s", "1", "-1 s", "0 GiB", "0 parsecs", "0%"] {
            assert!(Unit::Seconds.amount(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn invalid_limits_are_rejected_with_a_message() {
        for (unit, text, words) in [
            (Unit::Seconds, "2", "has no unit"),
            (Unit::Seconds, "0 s", "not above zero"),
            (Unit::Seconds, "-1 s", "not above zero"),
            (Unit::Seconds, "NaN s", "is not a number"),
            (Unit::Seconds, "inf", "is not a number"),
            (Unit::Seconds, "1e99 s", "too large"),
            (Unit::Seconds, "1e999 s", "too large"),
            (Unit::Seconds, "1 GiB", "unit of size"),
            (Unit::Seconds, "2 sec", "not a unit of time"),
            (Unit::Seconds, "2 parsecs", "not a unit of time"),
            (Unit::Seconds, "", "is not a number"),
            (Unit::Bytes, "2 s", "unit of time"),
            (Unit::Bytes, "0", "has no unit"),
            (Unit::Bytes, "0 B", "not above zero"),
            (Unit::Ratio, "0", "not above zero"),
            (Unit::Ratio, "5 s", "has no unit"),
            (Unit::Iterations, "-1", "below zero"),
            (Unit::ExitCode, "1.5", "not an exit code"),
            (Unit::ExitCode, "256", "too large"),
        ] {
            let error = parse(unit, text).expect_err(text).to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        assert!(parse(Unit::Seconds, &"1".repeat(1 << 20)).is_err());
        assert!(
            bare(Unit::Seconds, 2.0)
                .unwrap_err()
                .to_string()
                .contains("no unit")
        );
        assert!(bare(Unit::Ratio, f64::NAN).is_err());
        assert!(!quoted("a\u{1b}[31m").contains('\u{1b}'));
    }
}
