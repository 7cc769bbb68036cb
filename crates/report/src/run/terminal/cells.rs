//! Small pieces of text that the tables here share.

use crate::terminal::width;
use crate::units::{ABSENT, duration_parts, span};
use preheat_analyze::stats::Interval;

/// Durations below each other: numbers to the right, units to the left, all equally wide.
pub(super) fn durations(seconds: impl IntoIterator<Item = f64>) -> Vec<String> {
    let parts: Vec<(String, &str)> = seconds
        .into_iter()
        .map(|value| duration_parts(value).unwrap_or((ABSENT.to_owned(), "")))
        .collect();
    let longest =
        |of: &dyn Fn(&(String, &str)) -> usize| parts.iter().map(of).max().unwrap_or_default();
    let number = longest(&|part| width(&part.0));
    let unit = longest(&|part| width(part.1));
    parts
        .iter()
        .map(|(value, name)| format!("{value:>number$} {name:<unit$}"))
        .collect()
}

/// The ends of a duration's interval in the unit of its median: `8.71–9.20`.
pub(super) fn ends(interval: &Interval) -> Option<String> {
    let (_, unit) = duration_parts(interval.median)?;
    let scale = match unit {
        "ns" => 1e-9,
        "µs" => 1e-6,
        "ms" => 1e-3,
        "min" => 60.0,
        _ => 1.0,
    };
    span(
        interval.low.map(|low| low / scale),
        interval.high.map(|high| high / scale),
    )
}

/// A share of the whole: `78 %`, `6.8 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if !percent.is_finite() {
        ABSENT.to_owned()
    } else if percent.abs() >= 9.95 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// A bar as long as `value` is of `longest`, in eighths of a column. Whatever there is
/// shows: the shortest bar is an eighth.
pub(super) fn bar(value: f64, longest: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = value / longest;
    if !(share > 0.0 && share.is_finite()) {
        return String::new();
    }
    let eighths = (share.min(1.0) * columns as f64 * 8.0).round().max(1.0) as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// `text` cut to `limit` columns: what goes is its middle, because names differ at their
/// ends.
pub(super) fn middle(text: &str, limit: usize) -> String {
    let length = width(text);
    if length <= limit {
        return text.to_owned();
    }
    if limit == 0 {
        return String::new();
    }
    let tail = (limit - 1) / 2;
    let head = limit - 1 - tail;
    let left: String = text.chars().take(head).collect();
    let right: String = text.chars().skip(length - tail).collect();
    format!("{}…{}", left.trim_end(), right.trim_start())
}

/// `1 start`, `5 starts`.
pub(super) fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_stand_below_each_other() {
        assert_eq!(
            durations([2.4, 0.1204, f64::NAN]),
            ["2.40 s ", " 120 ms", "   –   "]
        );
        assert!(durations([]).is_empty());
    }

    #[test]
    fn ends_have_the_unit_of_the_median() {
        let interval = |median, low, high| Interval {
            median,
            low: Some(low),
            high: Some(high),
        };
        assert_eq!(ends(&interval(8.94, 8.71, 9.2)).unwrap(), "8.71–9.20");
        assert_eq!(ends(&interval(0.9, 0.8, 1.1)).unwrap(), "800–1100");
        assert_eq!(ends(&interval(240.0, 180.0, 300.0)).unwrap(), "3.00–5.00");
        assert_eq!(ends(&interval(f64::NAN, 1.0, 2.0)), None);
    }

    #[test]
    fn a_bar_has_eighths_and_shows_whatever_there_is() {
        assert_eq!(bar(4.0, 4.0, 3), "███");
        assert_eq!(bar(2.0, 4.0, 3), "█▌");
        assert_eq!(bar(0.0001, 4.0, 3), "▏");
        assert_eq!(bar(0.0, 4.0, 3), "");
        assert_eq!(bar(-1.0, 4.0, 3), "");
        assert_eq!(bar(1.0, 0.0, 3), "");
        assert_eq!(bar(9.0, 4.0, 2), "██");
    }

    #[test]
    fn a_name_loses_its_middle() {
        assert_eq!(middle("torch._dynamo", 13), "torch._dynamo");
        assert_eq!(middle("torch._dynamo.utils", 11), "torch…utils");
        assert_eq!(middle("abcdef", 1), "…");
        assert_eq!(middle("abcdef", 2), "a…");
        assert_eq!(middle("abcdef", 0), "");
    }

    #[test]
    fn shares_have_two_digits() {
        assert_eq!(percent(0.7786), "78 %");
        assert_eq!(percent(0.0682), "6.8 %");
        assert_eq!(percent(0.09951), "10 %");
        assert_eq!(percent(f64::NAN), "–");
    }
}
