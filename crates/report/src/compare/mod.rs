//! Renders a comparison.
//!
//! - `gate` – the decision as text
//! - `order` – sorts quantities, changed ones first; names lab series
//! - `terminal`, `html` – the renderers; JSON is in `crate::json`
//!
//! This file formats the numbers of a comparison: levels, differences and intervals with their
//! units.

mod gate;
mod html;
mod order;
mod terminal;

use preheat_model::compare::{CauseChange, QuantityChange, Unit, Verdict};
use preheat_model::stats::Estimate;

use crate::terminal::clean;
use crate::units::{
    ABSENT, MAX_PLAUSIBLE, WHOLE_PERCENT_FROM, bytes_f64, decimals, duration, join_differences,
    minus, number, ratio, signed_percent, too_wide,
};

pub use html::compare_html;
pub use terminal::compare_terminal;

/// Intervals narrower than this are shown with a decimal.
const DECIMAL_BELOW: f64 = 0.02;

/// Formats a value: `7.04 s`, `861 MiB`, `715×`, `12`.
fn value(value: f64, unit: Unit) -> String {
    match unit {
        _ if value.abs() > MAX_PLAUSIBLE => ABSENT.to_owned(),
        Unit::Seconds => minus(&duration(value)),
        Unit::Bytes => bytes_f64(value),
        Unit::Ratio => minus(&ratio(value)),
        Unit::Iterations | Unit::Count | Unit::ExitCode => minus(&number(value)),
    }
}

/// Formats two times so that they differ if they are different: `1.55 s` and `1.56 s`,
/// `1.5512 s` and `1.5559 s`.
fn both(base: f64, new: f64) -> [String; 2] {
    /// Enough digits for any difference worth showing.
    const MAX_DIGITS: usize = 9;
    let plain = [base, new].map(|seconds| value(seconds, Unit::Seconds));
    if plain[0] != plain[1] || base == new {
        return plain;
    }
    let (scale, name) = scale(base, Unit::Seconds);
    let with = |decimals: usize| {
        [base, new].map(|seconds| format!("{:.decimals$}{name}", seconds / scale))
    };
    (decimals(base / scale) + 1..=MAX_DIGITS)
        .map(with)
        .find(|[base, new]| base != new)
        .unwrap_or(plain)
}

/// Formats a difference with its sign: `+1.9 s`, `−200 MiB`, `0`.
fn signed(difference: f64, unit: Unit) -> String {
    match difference {
        d if d > 0.0 && d.is_finite() => format!("+{}", value(d, unit)),
        0.0 => "0".to_owned(),
        d => value(d, unit),
    }
}

/// Formats a margin: `5 %`, `0.5 %`.
fn margin(part: f64) -> String {
    match part {
        part if part.is_finite() => format!("{} %", number(part * 100.0)),
        _ => ABSENT.to_owned(),
    }
}

/// Formats the interval of a relative change: `26 to 28`. Only narrow intervals have a
/// decimal, since they share a column.
fn percents(of: &Estimate) -> Option<String> {
    percent_ends(of).map(|[low, high]| join_differences(&low, &high, ""))
}

fn percent_ends(of: &Estimate) -> Option<[String; 2]> {
    let (low, high) = ends(of)?;
    let small = low.abs().max(high.abs()) * 100.0 < WHOLE_PERCENT_FROM;
    let decimals = usize::from(small && high - low < DECIMAL_BELOW);
    let end = |part: f64| {
        let percent = part * 100.0;
        match format!("{:.decimals$}", percent.abs()) {
            _ if percent.abs() >= 1e5 => format!("{percent:.0e}"),
            zero if zero.chars().all(|c| "0.".contains(c)) => "0".to_owned(),
            text if percent < 0.0 => format!("−{text}"),
            text => text,
        }
    };
    Some([end(low), end(high)])
}

/// Formats the interval of a difference in one unit: `1.82 to 1.99 s`.
pub(crate) fn interval(of: &Estimate, unit: Unit) -> Option<String> {
    interval_ends(of, unit).map(|([low, high], name)| join_differences(&low, &high, &name))
}

/// The ends of an interval, and the unit that follows both.
fn interval_ends(of: &Estimate, unit: Unit) -> Option<([String; 2], String)> {
    let (low, high) = ends(of)?;
    let (small, large) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
    if low * high > 0.0 && too_wide(Some(small), Some(large)) {
        // In one unit, one of them would be unreadable.
        return Some(([value(low, unit), value(high, unit)], String::new()));
    }
    let (scale, name) = scale(low.abs().max(high.abs()), unit);
    let end = |value: f64| minus(&number(value / scale));
    Some(([end(low), end(high)], name))
}

/// Both ends of the interval, if both are plausible numbers.
fn ends(of: &Estimate) -> Option<(f64, f64)> {
    match (of.low, of.high) {
        (Some(low), Some(high)) if low.abs() <= MAX_PLAUSIBLE && high.abs() <= MAX_PLAUSIBLE => {
            Some((low, high))
        }
        _ => None,
    }
}

/// The scale for numbers up to `most`, and the suffix that names it.
fn scale(most: f64, unit: Unit) -> (f64, String) {
    let (scale, name) = unit.shown_in(most);
    let space = if matches!(unit, Unit::Seconds | Unit::Bytes) {
        " "
    } else {
        ""
    };
    (scale, format!("{space}{name}"))
}

/// Formats a relative change with its interval, `+27 % (26 to 28)`; without one, the
/// absolute change, `+3 (1 to 5)`.
fn change(quantity: &QuantityChange) -> String {
    let (change, ends) = match (&quantity.relative, &quantity.difference) {
        (Some(part), _) => {
            let ends = percent_ends(part).map(|ends| (ends, String::new()));
            (signed_percent(part.value), ends)
        }
        (None, Some(by)) => (
            signed(by.value, quantity.unit),
            interval_ends(by, quantity.unit),
        ),
        (None, None) => return String::new(),
    };
    match ends {
        // An interval that is a single number adds nothing to the change.
        Some(([low, high], unit)) if low != high => {
            format!("{change} ({})", join_differences(&low, &high, &unit))
        }
        _ => change,
    }
}

/// Capitalizes the first letter and adds a full stop if there is none.
fn sentence(text: &str) -> String {
    let text = clean(text);
    let mut letters = text.chars();
    let Some(first) = letters.next() else {
        return text;
    };
    let end = if text.ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    format!("{}{}{end}", first.to_uppercase(), letters.as_str())
}

/// The verdict on a quantity as a word. With a star, it did not survive the correction for
/// the number of quantities, which [`correction`] explains.
fn verdict(quantity: &QuantityChange) -> String {
    match starred(quantity) {
        Some(word) => format!("{word} *"),
        None => quantity.verdict.word(quantity.unit).to_owned(),
    }
}

/// The word before the star of a quantity that has one.
fn starred(quantity: &QuantityChange) -> Option<&'static str> {
    Some(quantity.uncorrected()?.word(quantity.unit))
}

/// The verdict on a cause; see [`verdict`].
fn verdict_on_cause(change: &CauseChange) -> String {
    match starred_cause(change) {
        Some(word) => format!("{word} *"),
        None => change.verdict.word(Unit::Seconds).to_owned(),
    }
}

/// The word before the star of a cause that has one.
fn starred_cause(change: &CauseChange) -> Option<&'static str> {
    Some(change.uncorrected()?.word(Unit::Seconds))
}

/// The meaning of the star after these words, if there are any, where p-values are corrected
/// for `tests` tests.
fn correction(starred: impl IntoIterator<Item = &'static str>, tests: usize) -> Option<String> {
    let mut words: Vec<&str> = Vec::new();
    for word in starred {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    (!words.is_empty()).then(|| {
        format!(
            "* {}, but not after correction for {tests} quantities",
            words.join(" or ")
        )
    })
}

/// Returns true for the verdicts faster and slower.
fn changed(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate {
            value,
            low: Some(low),
            high: Some(high),
        }
    }

    #[test]
    fn differences_have_a_sign_and_a_unit() {
        assert_eq!(signed(1.9, Unit::Seconds), "+1.9 s");
        assert_eq!(signed(-0.12, Unit::Seconds), "−120 ms");
        assert_eq!(signed(0.0, Unit::Bytes), "0");
        assert_eq!(signed(-2097152.0, Unit::Bytes), "−2 MiB");
        assert_eq!(signed(48.0, Unit::Ratio), "+48.0×");
        assert_eq!(signed(-9.0, Unit::Iterations), "−9");
        assert_eq!(signed(f64::NAN, Unit::Seconds), "–");
        assert_eq!(signed(f64::INFINITY, Unit::Seconds), "–");
    }

    #[test]
    fn margins_have_no_sign() {
        assert_eq!(margin(0.05), "5 %");
        assert_eq!(margin(0.005), "0.5 %");
        assert_eq!(margin(f64::NAN), "–");
    }

    #[test]
    fn times_that_differ_look_different() {
        assert_eq!(both(1.5512, 1.5612), ["1.55 s", "1.56 s"]);
        assert_eq!(both(1.5512, 1.5493), ["1.551 s", "1.549 s"]);
        assert_eq!(both(0.10003, 0.10001), ["100.03 ms", "100.01 ms"]);
        assert_eq!(both(1.5, 1.5), ["1.5 s", "1.5 s"]);
    }

    #[test]
    fn intervals_use_one_unit() {
        let of = |low, high| estimate(low, low, high);
        let seconds = |low, high| interval(&of(low, high), Unit::Seconds);
        assert_eq!(seconds(1.82, 1.99).unwrap(), "1.82 to 1.99 s");
        assert_eq!(seconds(-0.0004, 0.012).unwrap(), "−0.4 to 12 ms");
        assert_eq!(seconds(88e-9, 1.84).unwrap(), "88 ns to 1.84 s");
        assert_eq!(seconds(-1.84, -88e-9).unwrap(), "−1.84 s to −88 ns");
        assert_eq!(interval(&of(1.0, 5.0), Unit::Iterations).unwrap(), "1 to 5");
        let mib = 1048576.0;
        assert_eq!(
            interval(&of(256.0 * mib, 256.0 * mib), Unit::Bytes).unwrap(),
            "256 MiB"
        );
        assert_eq!(seconds(f64::NAN, 1.0), None);
        assert_eq!(percents(&of(0.2584, 0.2824)).unwrap(), "26 to 28");
        assert_eq!(percents(&of(0.191, 0.209)).unwrap(), "19 to 21");
        assert_eq!(percents(&of(0.062, 0.07)).unwrap(), "6.2 to 7.0");
        assert_eq!(percents(&of(-0.004, 0.026)).unwrap(), "0 to 3");
        assert_eq!(percents(&of(0.0, 0.0)).unwrap(), "0");
    }

    #[test]
    fn a_star_is_explained_once() {
        assert_eq!(
            correction(["slower", "larger", "slower"], 19).unwrap(),
            "* slower or larger, but not after correction for 19 quantities"
        );
        assert_eq!(correction([], 19), None);
    }

    #[test]
    fn sentences_have_a_capital_and_a_full_stop() {
        assert_eq!(sentence("no change: it is"), "No change: it is.");
        assert_eq!(sentence("+1.9 s: sympy is new"), "+1.9 s: sympy is new.");
        assert_eq!(sentence("Done.\u{1b}"), "Done.");
        assert_eq!(sentence(""), "");
    }
}
