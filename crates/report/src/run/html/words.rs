//! What several sections write in the same way.

use preheat_analyze::run::{Cause, Item, IterationsBy, RunReport, StartReport};
use preheat_analyze::stats::Interval;

use super::cut::cut;
use crate::units::{ABSENT, duration, duration_parts};

/// A share of the whole: `47 %`, `3.2 %`, `< 0.1 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if !p.is_finite() => ABSENT.to_owned(),
        p if p >= 9.95 => format!("{p:.0} %"),
        p if p >= 0.1 => format!("{p:.1} %"),
        p if p > 0.0 => "< 0.1 %".to_owned(),
        _ => "0 %".to_owned(),
    }
}

/// The ends of an interval of times: `8.71–9.20 s`; none without both.
pub(super) fn time_span(interval: &Interval) -> Option<String> {
    let (low, high) = (
        duration_parts(interval.low?)?,
        duration_parts(interval.high?)?,
    );
    Some(if low.1 == high.1 {
        format!("{}–{} {}", low.0, high.0, low.1)
    } else {
        format!("{} {} – {} {}", low.0, low.1, high.0, high.1)
    })
}

/// `1 start`, `4 starts`.
pub(super) fn count(number: usize, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    }
}

/// What the time to first ends with.
pub(super) fn first_of(report: &RunReport) -> &'static str {
    match report.iterations_by {
        IterationsBy::None => "the end of the program",
        _ => "the end of the first iteration",
    }
}

/// The causes of a start that took time, in the order of a program's life.
pub(super) fn parts(start: &StartReport) -> Vec<(Cause, f64)> {
    let causes = start.causes.iter().map(|part| (part.cause, part.seconds));
    in_order(causes)
}

/// Parts that can be drawn, in the order of a program's life.
pub(super) fn in_order(parts: impl Iterator<Item = (Cause, f64)>) -> Vec<(Cause, f64)> {
    let mut parts: Vec<(Cause, f64)> = parts
        .filter(|(_, seconds)| seconds.is_finite() && *seconds > 0.0)
        .collect();
    parts.sort_by_key(|(cause, _)| *cause);
    parts
}

/// The largest thing behind any cause that is cold start at all, with all within it.
fn largest(report: &RunReport) -> Option<(Cause, &Item)> {
    report
        .causes
        .iter()
        .filter(|cause| cause.cause != Cause::SteadyWork)
        .flat_map(|cause| cause.items.iter().map(|item| (cause.cause, item)))
        .filter(|(_, item)| item.seconds.is_finite() && item.inclusive.is_finite())
        .max_by(|a, b| a.1.inclusive.total_cmp(&b.1.inclusive))
}

/// Where most of the time went, in words, without its full stop; and more about it,
/// which may be empty.
pub(super) fn headline(report: &RunReport) -> (String, String) {
    let total = report.time_to_first.median;
    if !total.is_finite() || total <= 0.0 {
        let text = match report.starts.is_empty() {
            true => "Nothing was recorded",
            false => "No start came to its first result",
        };
        return (text.to_owned(), String::new());
    }
    let whole = match report.iterations_by {
        IterationsBy::None => format!("Of {} from start to end", duration(total)),
        _ => format!("Of {} to the first result", duration(total)),
    };
    // One thing is worth a headline if it is a good part of the whole.
    let worthy = |(_, item): &(Cause, &Item)| item.inclusive >= total * 0.2;
    if let Some((cause, item)) = largest(report).filter(worthy) {
        let took = format!("{whole}, {} went into", duration(item.inclusive));
        let name = cut(&item.name, 60);
        let text = match cause {
            Cause::PythonImports => format!("{took} importing {name}"),
            Cause::LibraryLoading => format!("{took} loading {name}"),
            Cause::KernelCompilation => format!("{took} compiling: {name}"),
            other => format!("{took} {}: {name}", other.as_str()),
        };
        return (text, sentence(&asked(cause, &item.detail)));
    }
    let Some(top) = report.causes.iter().find(|cause| {
        cause.cause != Cause::SteadyWork && cause.seconds.is_finite() && cause.seconds > 0.0
    }) else {
        let text = format!("{} to {}", duration(total), first_of(report));
        return (text, String::new());
    };
    let text = format!(
        "{whole}, {} went into {}",
        duration(top.seconds),
        top.cause.as_str()
    );
    let names: Vec<String> = top
        .items
        .iter()
        .take(3)
        .map(|item| cut(&item.name, 40))
        .collect();
    let share = percent(top.share);
    let detail = match names.is_empty() {
        true => format!("{share} of it."),
        false => format!("{share} of it; first of all {}.", names.join(", ")),
    };
    (text, detail)
}

/// More about an item: of an import, who asked for it.
pub(super) fn asked(cause: Cause, detail: &str) -> String {
    let says_so = detail.is_empty() || detail.starts_with("asked");
    match cause {
        Cause::PythonImports | Cause::LibraryLoading if !says_so => {
            format!("asked for by {detail}")
        }
        _ => detail.to_owned(),
    }
}

/// `text` with a capital and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        None => String::new(),
        Some(first) => {
            let stop = if text.ends_with('.') { "" } else { "." };
            format!("{}{}{stop}", first.to_uppercase(), letters.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_as_many_digits_as_they_need() {
        for (share, text) in [
            (0.4712, "47 %"),
            (0.0996, "10 %"),
            (0.0321, "3.2 %"),
            (0.0004, "< 0.1 %"),
            (0.0, "0 %"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn intervals_share_a_unit_where_they_can() {
        let of = |low, high| {
            time_span(&Interval {
                median: 1.0,
                low,
                high,
            })
        };
        assert_eq!(of(Some(8.71), Some(9.2)), Some("8.71–9.20 s".to_owned()));
        assert_eq!(of(Some(0.9), Some(1.5)), Some("900 ms – 1.50 s".to_owned()));
        assert_eq!(of(None, Some(1.5)), None);
    }
}
