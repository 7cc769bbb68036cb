//! What the comparison decides, in a sentence: whether a gated quantity regressed.

use preheat_analyze::compare::{CompareReport, Quantity, Verdict};

use super::order::name;
use super::words::{change, margin};
use crate::units::TIE;

/// So many are named; a result of the lab may have many.
const NAMED: usize = 5;

/// What makes a comparison that is inconclusive fail.
pub(super) const FLAG: &str = "--fail-on-inconclusive";

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// A gated quantity regressed: exit code 1.
    Regressed,
    /// None did, and some cannot be judged: exit code 3 if asked for.
    Inconclusive,
    /// None did.
    Passed,
}

/// The decision, and what tells it in full sentences.
pub(super) fn gate(report: &CompareReport) -> (Decision, String) {
    let gated = || report.quantities.iter().filter(|quantity| quantity.gated);
    let of =
        |verdict: Verdict| -> Vec<&Quantity> { gated().filter(|q| q.verdict == verdict).collect() };
    let margin = margin(report.max_regression);
    if report.regressed {
        let regressed: Vec<&Quantity> = gated().filter(|q| q.regressed).collect();
        let text = format!(
            "Regressed beyond {margin}: {}. Exit code 1.",
            some(&regressed, with_change)
        );
        return (Decision::Regressed, text);
    }
    if gated().next().is_none() {
        let text = format!(
            "Nothing was measured that could fail the comparison. With {FLAG} this is exit code 3."
        );
        return (Decision::Inconclusive, text);
    }
    let open = match report.inconclusive {
        true => of(Verdict::Inconclusive),
        false => vec![],
    };
    let all = open.len() == gated().count();
    let mut text = match open.len() {
        // What the gate names beside is not there: a note says which.
        0 if report.inconclusive => format!(
            "No regression beyond {margin} is shown, but not all that is to be gated was measured."
        ),
        0 => format!("No regression beyond {margin}."),
        _ if !all => format!("No regression beyond {margin} is shown."),
        count => format!(
            "Inconclusive: whether one of the {count} gated quantities regressed beyond {margin} \
             cannot be told."
        ),
    };
    let beyond = |quantity: &Quantity| {
        let low = quantity.relative.and_then(|part| part.low);
        low.is_some_and(|low| low > report.max_regression)
    };
    let (small, unsure): (Vec<&Quantity>, Vec<&Quantity>) =
        of(Verdict::Slower).into_iter().partition(|q| beyond(q));
    let told = [
        (
            "More than it was, but not surely by so much",
            unsure,
            with_change as Say,
        ),
        ("More, but too little to count", small, with_change),
        (
            "Inconclusive",
            if all { vec![] } else { open.clone() },
            name,
        ),
    ];
    for (what, those, say) in told.iter().filter(|(_, those, _)| !those.is_empty()) {
        text.push_str(&format!(" {what}: {}.", some(those, say)));
    }
    if !report.inconclusive {
        return (Decision::Passed, text);
    }
    // What only one side has does not become clearer.
    let more = match open.iter().any(|quantity| quantity.difference.is_some()) {
        true => "More starts would tell; with",
        false => "With",
    };
    text.push_str(&format!(" {more} {FLAG} this is exit code 3."));
    (Decision::Inconclusive, text)
}

/// What is said of a quantity.
type Say = fn(&Quantity) -> String;

fn with_change(quantity: &Quantity) -> String {
    // A number stays with its interval.
    let change = change(quantity).replace(' ', &TIE.to_string());
    format!("{} {change}", name(quantity))
}

/// The first of them, and how many there are beside.
fn some(quantities: &[&Quantity], say: impl Fn(&Quantity) -> String) -> String {
    let mut names: Vec<String> = quantities.iter().take(NAMED).map(|q| say(q)).collect();
    match quantities.len().saturating_sub(NAMED) {
        0 => {}
        more => names.push(format!("{more} more")),
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::compare;

    fn plain(text: &str) -> String {
        text.replace(TIE, " ")
    }

    #[test]
    fn the_decision_is_the_reports() {
        for (report, decision, text) in [
            (
                compare::regression(),
                Decision::Regressed,
                "Regressed beyond 5 %: time to first +27 % (26 to 28), peak host memory +6.6 % (6.2 to 7.1). \
                 Exit code 1.",
            ),
            (
                compare::unchanged(),
                Decision::Passed,
                "No regression beyond 5 %.",
            ),
            (
                compare::few(),
                Decision::Inconclusive,
                "Inconclusive: whether one of the 5 gated quantities regressed beyond 5 % cannot be \
                 told. More starts would tell; with --fail-on-inconclusive this is exit code 3.",
            ),
            (
                compare::nothing(),
                Decision::Inconclusive,
                "Nothing was measured that could fail the comparison. With --fail-on-inconclusive \
                 this is exit code 3.",
            ),
        ] {
            let (decided, told) = gate(&report);
            assert_eq!((decided, &*plain(&told)), (decision, text));
        }
    }

    #[test]
    fn what_is_more_and_no_regression_is_told() {
        let mut report = compare::regression();
        for quantity in &mut report.quantities {
            quantity.regressed = false;
        }
        report.regressed = false;
        if let Some(part) = &mut report.quantities[0].relative {
            part.low = Some(0.03);
        }
        assert_eq!(
            plain(&gate(&report).1),
            "No regression beyond 5 %. More than it was, but not surely by so much: time to first \
             +27 % (3 to 28). More, but too little to count: peak host memory +6.6 % (6.2 to 7.1)."
        );
    }

    #[test]
    fn what_is_to_be_gated_and_not_there_is_told() {
        let mut report = compare::unchanged();
        report.inconclusive = true;
        let (decided, told) = gate(&report);
        assert_eq!(decided, Decision::Inconclusive);
        assert_eq!(
            plain(&told),
            "No regression beyond 5 % is shown, but not all that is to be gated was measured. With \
             --fail-on-inconclusive this is exit code 3."
        );
    }

    #[test]
    fn of_many_some_are_named() {
        let mut report = compare::lab();
        for quantity in &mut report.quantities {
            (quantity.gated, quantity.regressed) = (true, true);
        }
        report.regressed = true;
        assert!(gate(&report).1.ends_with(", 13 more. Exit code 1."));
    }
}
