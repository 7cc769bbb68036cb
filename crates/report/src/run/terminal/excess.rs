//! The excess of the first iteration over a steady one, or over the second, as a sentence.

use preheat_model::run::{CauseSeconds, RunReport};

use crate::terminal::{Screen, Style};
use crate::units::duration;

/// The number of causes to name; the rest are counted.
const MAX_NAMES: usize = 5;
/// Causes that take less time are left out below this share of the difference.
const MIN_PART: f64 = 0.01;
/// The number of causes to name that take less time.
const NAMED_AGAINST: usize = 3;

/// Shows the sentence.
pub(super) fn show(screen: &mut Screen, report: &RunReport) {
    let Some(text) = sentence(report) else {
        return;
    };
    screen.title("The first iteration");
    screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Plain, &text);
}

fn sentence(report: &RunReport) -> Option<String> {
    let (excess, later, other, ratio) = match report.first_excess.is_empty() {
        false => (
            &report.first_excess,
            report.steady,
            "a steady one",
            report.ratio,
        ),
        true => (
            &report.second_excess,
            report.second.map(|second| second.value),
            "the second",
            report.first_to_second,
        ),
    };
    if excess.is_empty() {
        return None;
    }
    let difference = match (report.first, later) {
        (Some(first), Some(later)) if (first - later).is_finite() => first - later,
        _ => 0.0,
    };
    // Causes that take less time than in the other iteration are listed separately.
    let is_less = difference < 0.0;
    let (along, against): (Vec<CauseSeconds>, Vec<CauseSeconds>) = (excess.iter().copied())
        .partition(|part| part.seconds == 0.0 || (part.seconds < 0.0) == is_less);
    let against: Vec<CauseSeconds> = (against.into_iter())
        .filter(|part| part.seconds.abs() >= MIN_PART * difference.abs())
        .collect();
    let named =
        |part: &CauseSeconds| format!("{} {}", part.cause.as_str(), duration(part.seconds.abs()));
    let mut text = match difference == 0.0 {
        true => String::new(),
        false => {
            let more = if is_less { "less" } else { "more" };
            let unclear = ratio
                .and_then(|ratio| Some(ratio.low? <= 1.0 && 1.0 <= ratio.high?))
                .unwrap_or(false);
            let unclear = match unclear {
                true => ", within the variation between starts",
                false => "",
            };
            format!(
                "{} {more} than {other}{unclear}: ",
                duration(difference.abs())
            )
        }
    };
    text.push_str(&listed(along, MAX_NAMES, named));
    if !against.is_empty() {
        let less = if is_less { "more" } else { "less" };
        let named = |part: &CauseSeconds| {
            let seconds = duration(part.seconds.abs());
            format!("{seconds} {less} {}", part.cause.as_str())
        };
        if !text.is_empty() {
            text.push_str("; partly offset by ");
        }
        text.push_str(&listed(against, NAMED_AGAINST, named));
    }
    text.push('.');
    Some(text)
}

/// The largest parts by name, and the sum of the others.
fn listed(
    mut parts: Vec<CauseSeconds>,
    most: usize,
    named: impl Fn(&CauseSeconds) -> String,
) -> String {
    parts.sort_by(|a, b| b.seconds.abs().total_cmp(&a.seconds.abs()));
    // One more costs no more room than its count.
    let most = if parts.len() == most + 1 {
        most + 1
    } else {
        most
    };
    let (shown, rest) = parts.split_at(most.min(parts.len()));
    let mut words: Vec<String> = shown.iter().map(named).collect();
    if !rest.is_empty() {
        let seconds: f64 = rest.iter().map(|part| part.seconds.abs()).sum();
        words.push(format!("{} others {}", rest.len(), duration(seconds)));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    #[test]
    fn the_largest_are_named_and_the_rest_counted() {
        let mut report = run::report();
        assert_eq!(
            sentence(&report).unwrap(),
            "541 ms more than a steady one: kernel loading 210 ms, library set-up 142 ms, \
             program's own CPU time 120 ms, idle 58 ms, device allocation 6.1 ms, 2 others 4.9 ms."
        );
        report.first_excess.truncate(6);
        assert!(
            sentence(&report)
                .unwrap()
                .ends_with("waiting for the device 4.2 ms.")
        );
        report.first_excess.clear();
        assert_eq!(sentence(&report), None);
    }

    #[test]
    fn without_a_steady_state_the_second_is_compared_with() {
        let mut report = run::twice();
        let text = sentence(&report).unwrap();
        assert!(
            text.starts_with("540 ms more than the second: kernel loading"),
            "{text}"
        );
        let ratio = report.first_to_second.as_mut().unwrap();
        (ratio.low, ratio.high) = (Some(0.9), Some(900.0));
        let text = sentence(&report).unwrap();
        assert!(
            text.starts_with("540 ms more than the second, within the variation between starts: "),
            "{text}"
        );
        report.second_excess.clear();
        assert_eq!(sentence(&report), None);
    }

    #[test]
    fn a_negligible_part_is_left_out() {
        let mut report = run::twice();
        report.second_excess.truncate(2);
        report.second_excess[1].seconds = -0.0001;
        let text = sentence(&report).unwrap();
        assert!(!text.contains("offset"), "{text}");
    }

    #[test]
    fn a_first_that_is_faster_took_less() {
        let mut report = run::report();
        report.first = Some(0.0802);
        report.steady = Some(0.1);
        report.first_excess.truncate(2);
        report.first_excess[0].seconds = 0.0012;
        report.first_excess[1].seconds = -0.021;
        assert_eq!(
            sentence(&report).unwrap(),
            "19.8 ms less than a steady one: library set-up 21 ms; partly offset by 1.2 ms more \
             kernel loading."
        );
    }
}
