//! The excess of the first iteration over a steady one, or over the second, as a sentence.

use preheat_model::run::{CauseSeconds, RunReport};

use super::super::words::signed;
use crate::terminal::{Screen, Style};
use crate::units::duration;

/// The number of causes to name; the rest are counted.
const NAMED: usize = 5;

/// Shows the sentence.
pub(super) fn show(screen: &mut Screen, report: &RunReport) {
    let Some(text) = sentence(report) else {
        return;
    };
    screen.title("The first iteration");
    screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Plain, &text);
}

fn sentence(report: &RunReport) -> Option<String> {
    let (excess, later, other) = match report.first_excess.is_empty() {
        false => (&report.first_excess, report.steady, "a steady one"),
        true => {
            let second = report.second.map(|second| second.estimate);
            (&report.second_excess, second, "the second")
        }
    };
    if excess.is_empty() {
        return None;
    }
    // Sort by size, regardless of sign: savings of the first iteration are listed too.
    let mut parts = excess.clone();
    parts.sort_by(|a, b| b.seconds.abs().total_cmp(&a.seconds.abs()));
    let part = |part: &CauseSeconds| format!("{} {}", part.cause.as_str(), signed(part.seconds));
    let mut words: Vec<String> = parts.iter().take(NAMED).map(part).collect();
    match &parts[NAMED.min(parts.len())..] {
        [] => {}
        [one] => words.push(part(one)),
        rest => {
            let seconds: f64 = rest.iter().map(|part| part.seconds).sum();
            words.push(format!("{} others {}", rest.len(), signed(seconds)));
        }
    }
    let more = match (report.first, later) {
        (Some(first), Some(later)) if (first - later).is_finite() => {
            let more = if first < later { "less" } else { "more" };
            let difference = duration((first - later).abs());
            format!("{difference} {more} than {other}: ")
        }
        _ => String::new(),
    };
    Some(format!("{more}{}.", words.join(", ")))
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
        report.second_excess.clear();
        assert_eq!(sentence(&report), None);
    }

    #[test]
    fn a_first_that_is_faster_took_less() {
        let mut report = run::report();
        report.first = Some(0.0802);
        report.steady = Some(0.1);
        report.first_excess.truncate(2);
        report.first_excess[0].seconds = 0.000_012;
        report.first_excess[1].seconds = -0.0198;
        assert_eq!(
            sentence(&report).unwrap(),
            "19.8 ms less than a steady one: library set-up −19.8 ms, kernel loading 12 µs."
        );
    }
}
