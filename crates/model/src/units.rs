//! Formats numbers for display: three significant digits and a unit.
//!
//! A value that is not a number is shown as a dash, so that renderers need no special case.

use serde::{Deserialize, Serialize};

/// The unit of a number in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A bare factor.
    Ratio,
    /// A number of iterations.
    Iterations,
    /// A plain count.
    Count,
    /// An exit code.
    ExitCode,
}

impl Unit {
    /// The scale and the symbol that a value is shown with: 0.001 and `ms` for 0.35 s.
    pub fn shown_in(self, value: f64) -> (f64, &'static str) {
        match self {
            Unit::Seconds => duration_scale(value),
            Unit::Bytes => bytes_scale(value.abs().trunc()),
            Unit::Ratio => (1.0, "×"),
            Unit::Iterations | Unit::Count | Unit::ExitCode => (1.0, ""),
        }
    }
}

/// The placeholder for a missing number.
pub const ABSENT: &str = "–";

/// Formats a duration: `1.23 ms`, `110 µs`, `2.4 s`, and minutes from 120 s.
pub fn duration(seconds: f64) -> String {
    match duration_parts(seconds) {
        None => ABSENT.to_owned(),
        Some((number, unit)) => format!("{} {unit}", trim(&number)),
    }
}

/// A duration as number and unit, with all three digits: for columns.
pub fn duration_parts(seconds: f64) -> Option<(String, &'static str)> {
    if !seconds.is_finite() {
        return None;
    }
    let (scale, unit) = duration_scale(seconds);
    Some(match seconds == 0.0 {
        true => ("0".to_owned(), unit),
        false => (significant(seconds / scale), unit),
    })
}

/// The scale and the symbol of the unit that a duration is shown in.
fn duration_scale(seconds: f64) -> (f64, &'static str) {
    const UNITS: [(f64, &str); 4] = [(1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")];
    if seconds == 0.0 {
        return UNITS[3];
    }
    if seconds.abs() >= 119.5 {
        return (60.0, "min");
    }
    // 999.6 µs is 1.00 ms: the unit is chosen after rounding.
    let fits = |&&(scale, _): &&(f64, &str)| rounded(seconds / scale).abs() < 1000.0;
    *UNITS.iter().find(fits).unwrap_or(&UNITS[3])
}

/// Formats a memory size: `4 MiB`, `835 MiB`, `1.5 GiB`.
pub fn bytes(bytes: u64) -> String {
    let (scale, unit) = bytes_scale(bytes as f64);
    let value = bytes as f64 / scale;
    let number = if value >= 100.0 {
        format!("{value:.0}")
    } else {
        significant(value)
    };
    format!("{} {unit}", trim(&number))
}

/// The scale and the symbol of the unit that a memory size is shown in.
fn bytes_scale(bytes: f64) -> (f64, &'static str) {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut scale, mut unit) = (1.0, 0);
    while bytes / scale >= 1023.5 && unit + 1 < UNITS.len() {
        scale *= 1024.0;
        unit += 1;
    }
    (scale, UNITS[unit])
}

/// Formats a memory size stored as a float; a dash if it is not a number.
pub fn bytes_f64(value: f64) -> String {
    if !value.is_finite() {
        ABSENT.to_owned()
    } else if value < 0.0 {
        format!("−{}", bytes(-value as u64))
    } else {
        bytes(value as u64)
    }
}

/// Formats a bandwidth in decimal units: `55 GB/s`.
pub fn bandwidth(bytes_per_second: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")];
    if !bytes_per_second.is_finite() {
        return ABSENT.to_owned();
    }
    let fits = |&&(scale, _): &&(f64, &str)| rounded(bytes_per_second / scale).abs() < 1000.0;
    let (scale, unit) = UNITS.iter().find(fits).unwrap_or(&UNITS[3]);
    format!("{} {unit}", number(bytes_per_second / scale))
}

/// Formats a ratio: `252×`, `1.05×`.
pub fn ratio(value: f64) -> String {
    if value.is_finite() {
        format!("{}×", ratio_digits(value))
    } else {
        ABSENT.to_owned()
    }
}

/// The digits of a ratio. Between 0.1 and 1 two of them: `0.93` is as precise as `1.05`.
fn ratio_digits(value: f64) -> String {
    if (0.1..1.0).contains(&value) {
        format!("{value:.2}")
    } else {
        significant(value)
    }
}

/// The words for an interval that is too wide to show anything else.
pub const TOO_WIDE: &str = "inconclusive: the starts differ too much";

/// Returns true if the bounds of an interval differ by more than two orders of magnitude.
pub fn too_wide(low: Option<f64>, high: Option<f64>) -> bool {
    const FACTOR: f64 = 100.0;
    matches!((low, high), (Some(low), Some(high)) if low > 0.0 && high > FACTOR * low)
}

/// Formats an estimate with the bounds of its interval, if there are any: `211× (172–260×)`;
/// with the words [`TOO_WIDE`] if that is all they show.
pub fn with_interval(estimate: &str, bounds: Option<&str>, too_wide: bool) -> String {
    match bounds {
        None => estimate.to_owned(),
        Some(bounds) if too_wide => format!("{estimate} ({bounds}; {TOO_WIDE})"),
        Some(bounds) => format!("{estimate} ({bounds})"),
    }
}

// Intervals have one notation for values and one for differences, in every document: the unit
// once, after both ends, unless the ends need different units.

/// Joins the ends of an interval of values: `8.71–9.20 s`. `unit` includes its space.
pub fn join_values(low: &str, high: &str, unit: &str) -> String {
    format!("{low}–{high}{unit}")
}

/// Joins the ends of an interval of differences: `−0.4 to 12 ms`, or `12 ms` if both are
/// formatted alike. Ends may be negative, and a dash before a minus sign is hard to read.
pub fn join_differences(low: &str, high: &str, unit: &str) -> String {
    match low == high {
        true => format!("{low}{unit}"),
        false => format!("{low} to {high}{unit}"),
    }
}

/// Formats the bounds of the interval of a duration in the unit of the estimate,
/// `8.71–9.20 s`, or each in its own unit if they differ too much, `88 ns–1.84 s`; `None`
/// unless all are numbers.
pub fn duration_span(estimate: f64, low: Option<f64>, high: Option<f64>) -> Option<String> {
    if !estimate.is_finite() {
        return None;
    }
    if too_wide(low, high) {
        return Some(join_values(&duration(low?), &duration(high?), ""));
    }
    let (scale, unit) = duration_scale(estimate);
    let (low, high) = span_ends(low.map(|low| low / scale), high.map(|high| high / scale))?;
    Some(join_values(&low, &high, &format!(" {unit}")))
}

/// Formats the bounds of a ratio's interval: `231–270×`; `None` unless both are numbers.
pub fn ratio_span(low: Option<f64>, high: Option<f64>) -> Option<String> {
    span_ends(low, high).map(|(low, high)| join_values(&low, &high, "×"))
}

/// Formats the bounds of a ratio's interval for a column of them, `231–270`; `None` unless both
/// are numbers. Extreme bounds are shortened: `0.03–118k` only shows that there were too few
/// starts.
pub fn span(low: Option<f64>, high: Option<f64>) -> Option<String> {
    span_ends(low, high).map(|(low, high)| join_values(&low, &high, ""))
}

/// Formats the bounds of a ratio's interval separately; see [`span`].
pub fn span_ends(low: Option<f64>, high: Option<f64>) -> Option<(String, String)> {
    let end = |value: f64| match value {
        large if large.abs() >= 1e8 => format!("{large:.0e}"),
        large if large.abs() >= 1e5 => format!("{:.0}k", large / 1e3),
        small if small > 0.0 && small < 0.1 => {
            let decimals = (-magnitude(small)).clamp(0, 12) as usize;
            format!("{small:.decimals$}")
        }
        usual => ratio_digits(usual),
    };
    match (low, high) {
        (Some(low), Some(high)) if low.is_finite() && high.is_finite() => {
            Some((end(low), end(high)))
        }
        _ => None,
    }
}

/// Formats a bare number with three significant digits; a dash if it is not a number.
pub fn number(value: f64) -> String {
    if value.is_finite() {
        trim(&significant(value)).to_owned()
    } else {
        ABSENT.to_owned()
    }
}

/// A non-breaking space.
pub const TIE: char = '\u{a0}';

/// `text` with non-breaking spaces between numbers and units, for renderers that wrap
/// lines.
pub fn tie(text: &str) -> String {
    const UNITS: [&str; 15] = [
        "ns", "µs", "ms", "s", "min", "B", "KiB", "MiB", "GiB", "TiB", "B/s", "kB/s", "MB/s",
        "GB/s", "%",
    ];
    let mut tied = String::with_capacity(text.len());
    for word in text.split(' ') {
        let unit = word.trim_end_matches(|c: char| ".,;:)".contains(c));
        if !tied.is_empty() {
            let number = tied.ends_with(|c: char| c.is_ascii_digit());
            tied.push(if number && UNITS.contains(&unit) {
                TIE
            } else {
                ' '
            });
        }
        tied.push_str(word);
    }
    tied
}

/// The smallest percentage that is shown without decimals.
pub const WHOLE_PERCENT_FROM: f64 = 9.95;

/// Formats a share of the whole: `47 %`, `3.2 %`, `< 0.1 %`.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        p if !p.is_finite() => ABSENT.to_owned(),
        p if p >= 0.1 => format!("{} %", percent_digits(p)),
        p if p > 0.0 => "< 0.1 %".to_owned(),
        _ => "0 %".to_owned(),
    }
}

/// Formats a relative change with its sign: `+27 %`, `−0.4 %`, `0 %`.
pub fn signed_percent(part: f64) -> String {
    match part * 100.0 {
        p if !p.is_finite() || p.abs() > MAX_PLAUSIBLE => ABSENT.to_owned(),
        p if p.abs() < 0.05 => "0 %".to_owned(),
        p if p > 0.0 => format!("+{} %", percent_digits(p)),
        p => format!("−{} %", percent_digits(-p)),
    }
}

fn percent_digits(percent: f64) -> String {
    match percent {
        p if p >= 1e5 => format!("{p:.0e}"),
        p if p >= WHOLE_PERCENT_FROM => format!("{p:.0}"),
        p => format!("{p:.1}"),
    }
}

/// The largest plausible time, size or share; documents can contain any number.
pub const MAX_PLAUSIBLE: f64 = 1e18;

/// Formats a change of a duration with its sign: `+120 ms`, `−7.3 s`.
pub fn signed_duration(seconds: f64) -> String {
    match seconds > 0.0 {
        true => format!("+{}", duration(seconds)),
        false => minus(&duration(seconds)),
    }
}

/// A formatted number with a minus sign instead of a hyphen.
pub fn minus(number: &str) -> String {
    number.replace('-', "−")
}

/// Formats a count: `1 start`, `5 starts`.
pub fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// The number of decimals with which `value` has three significant digits.
pub fn decimals(value: f64) -> usize {
    (2 - magnitude(rounded(value))).clamp(0, 12) as usize
}

/// `value` rounded to three significant digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = 10f64.powi(2 - magnitude(value));
    (value * scale).round() / scale
}

/// Three significant digits, trailing zeros kept: `1.05`, `12.0`, `4940`.
fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    format!("{:.*}", decimals(value), rounded(value))
}

/// The power of ten of the leading digit.
fn magnitude(value: f64) -> i32 {
    value.abs().log10().floor() as i32
}

/// Removes trailing zeros of a fraction.
fn trim(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_a_suitable_unit() {
        for (seconds, text) in [
            (1.23e-3, "1.23 ms"),
            (110e-6, "110 µs"),
            (2.4, "2.4 s"),
            (0.0, "0 s"),
            (999.6e-6, "1 ms"),
            (0.9996, "1 s"),
            (3e-10, "0.3 ns"),
            (42e-9, "42 ns"),
            (119.0, "119 s"),
            (120.0, "2 min"),
            (5400.0, "90 min"),
            (-0.0021, "-2.1 ms"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn a_column_keeps_its_digits() {
        assert_eq!(duration_parts(2.4), Some(("2.40".to_owned(), "s")));
        assert_eq!(duration_parts(0.0999), Some(("99.9".to_owned(), "ms")));
        assert_eq!(duration_parts(0.09999), Some(("100".to_owned(), "ms")));
    }

    #[test]
    fn sizes_are_binary() {
        for (size, text) in [
            (0, "0 B"),
            (512, "512 B"),
            (4096, "4 KiB"),
            (4 << 20, "4 MiB"),
            (835 << 20, "835 MiB"),
            (1010 << 20, "1010 MiB"),
            (3 << 29, "1.5 GiB"),
            ((1 << 30) - 1, "1 GiB"),
            (u64::MAX, "16777216 TiB"),
        ] {
            assert_eq!(bytes(size), text);
        }
        assert_eq!(bytes_f64(-2048.0), "−2 KiB");
    }

    #[test]
    fn shares_have_as_many_digits_as_they_need() {
        for (share, text) in [
            (0.7786, "78 %"),
            (0.09951, "10 %"),
            (0.0321, "3.2 %"),
            (0.0004, "< 0.1 %"),
            (0.0, "0 %"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn changes_have_as_many_digits_as_they_need() {
        for (part, text) in [
            (0.2701, "+27 %"),
            (-0.0042, "−0.4 %"),
            (0.0001, "0 %"),
            (12.0, "+1200 %"),
            (1e9, "+1e11 %"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(signed_percent(part), text);
        }
    }

    #[test]
    fn changes_have_a_sign() {
        assert_eq!(signed_duration(0.12), "+120 ms");
        assert_eq!(signed_duration(-7.3), "−7.3 s");
        assert_eq!(signed_duration(0.0), "0 s");
        assert_eq!(minus(&duration(-0.000015)), "−15 µs");
    }

    #[test]
    fn counts_have_a_plural() {
        assert_eq!(counted(1, "start"), "1 start");
        assert_eq!(counted(0, "start"), "0 starts");
    }

    #[test]
    fn speeds_are_decimal() {
        assert_eq!(bandwidth(55e9), "55 GB/s");
        assert_eq!(bandwidth(1.234e6), "1.23 MB/s");
        assert_eq!(bandwidth(999.9e6), "1 GB/s");
        assert_eq!(bandwidth(12e12), "12000 GB/s");
    }

    #[test]
    fn ratios_keep_three_digits() {
        assert_eq!(ratio(252.4), "252×");
        assert_eq!(ratio(1.05), "1.05×");
        assert_eq!(ratio(4943.0), "4940×");
        assert_eq!(ratio(0.5), "0.50×");
        assert_eq!(ratio(0.997), "1.00×");
        assert_eq!(ratio(0.0123), "0.0123×");
        assert_eq!(span(Some(231.0), Some(269.7)), Some("231–270".to_owned()));
        assert_eq!(ratio_span(Some(231.0), Some(269.7)).unwrap(), "231–270×");
        assert_eq!(span(None, Some(1.0)), None);
        let wide = span(Some(2.0), Some(118_000.0));
        assert_eq!(wide, Some("2.00–118k".to_owned()));
        assert_eq!(span(Some(2.0), Some(3e9)), Some("2.00–3e9".to_owned()));
    }

    #[test]
    fn wide_intervals_have_readable_bounds() {
        let span_of = |estimate, low, high| duration_span(estimate, Some(low), Some(high)).unwrap();
        assert_eq!(span_of(8.94, 8.71, 9.2), "8.71–9.20 s");
        assert_eq!(span_of(402e-6, 87.7e-9, 1.842), "87.7 ns–1.84 s");
        assert_eq!(span_of(0.9, 0.8, 1.1), "800–1100 ms");
        assert_eq!(duration_span(f64::NAN, Some(1.0), Some(2.0)), None);
        assert_eq!(duration_span(1.0, None, Some(2.0)), None);
        assert_eq!(span(Some(0.00267), Some(922.0)).unwrap(), "0.003–922");
        assert!(too_wide(Some(0.00267), Some(922.0)) && !too_wide(Some(172.0), Some(260.0)));
        assert!(!too_wide(Some(0.0), Some(1.0)) && !too_wide(None, Some(1.0)));
        assert_eq!(with_interval("2×", None, false), "2×");
        assert_eq!(with_interval("2×", Some("1–3×"), false), "2× (1–3×)");
        assert_eq!(
            with_interval("2×", Some("0.003–922×"), true),
            "2× (0.003–922×; inconclusive: the starts differ too much)"
        );
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(
            tie("takes 2.8 s, or 1 of 3 (5 %)"),
            "takes 2.8\u{a0}s, or 1 of 3 (5\u{a0}%)"
        );
        assert_eq!(tie("4 MiB take"), "4\u{a0}MiB take");
        assert_eq!(tie("s is not a unit"), "s is not a unit");
    }

    #[test]
    fn values_that_are_not_numbers_are_dashes() {
        for text in [
            duration(f64::NAN),
            duration(f64::INFINITY),
            bandwidth(f64::NAN),
            ratio(f64::NAN),
            number(f64::NEG_INFINITY),
            bytes_f64(f64::NAN),
        ] {
            assert_eq!(text, ABSENT);
        }
        assert_eq!(span(Some(f64::NAN), Some(1.0)), None);
    }
}
