//! Formats changes for sentences.

use super::Unit;
use crate::units;

/// Formats a fraction as a signed percentage: `+12 %`, `−0.4 %`.
pub(super) fn percent(part: f64) -> String {
    let percent = part * 100.0;
    let digits = match percent.abs() {
        large if large >= 9.95 => format!("{:.0}", percent.abs()),
        small => format!("{:.1}", small),
    };
    format!("{}{digits} %", sign(percent))
}

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
        assert_eq!(percent(0.123), "+12 %");
        assert_eq!(percent(-0.0041), "−0.4 %");
        assert_eq!(percent(0.0), "+0.0 %");
    }
}
