//! What the first iteration took beyond a steady one, in a sentence.

use preheat_analyze::run::RunReport;

use crate::terminal::{Screen, Style};
use crate::units::duration;

/// So many causes are named; the rest are counted.
const NAMED: usize = 5;

/// The sentence.
pub(super) fn show(screen: &mut Screen, report: &RunReport) {
    let Some(text) = sentence(report) else {
        return;
    };
    screen.title("The first iteration");
    screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Plain, &text);
}

fn sentence(report: &RunReport) -> Option<String> {
    let parts = &report.first_excess;
    if parts.is_empty() {
        return None;
    }
    let mut words: Vec<String> = parts
        .iter()
        .take(NAMED)
        .map(|part| format!("{} {}", part.cause.as_str(), duration(part.seconds)))
        .collect();
    match &parts[NAMED.min(parts.len())..] {
        [] => {}
        [one] => words.push(format!("{} {}", one.cause.as_str(), duration(one.seconds))),
        rest => {
            let seconds: f64 = rest.iter().map(|part| part.seconds).sum();
            words.push(format!("{} others {}", rest.len(), duration(seconds)));
        }
    }
    let more = match (report.first, report.steady) {
        (Some(first), Some(steady)) if (first - steady).is_finite() => {
            format!("{} more than a steady one: ", duration(first - steady))
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
}
