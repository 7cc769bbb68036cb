//! The decision of a comparison as text: whether a gated quantity regressed.

use preheat_model::compare::{CompareKind, CompareReport, QuantityChange, Unit, Verdict};

use super::order::name;
use super::{change, margin};
use crate::units::TIE;

/// The maximum number of quantities to name; a lab result can have many.
const MAX_NAMES: usize = 5;

/// The flag that makes an inconclusive comparison fail.
pub(super) const FLAG: &str = "--fail-on-inconclusive";

/// The outcome of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// A gated quantity regressed: exit code 1.
    Regressed,
    /// None regressed, but some are inconclusive: exit code 3 if requested.
    Inconclusive,
    /// None regressed.
    Passed,
}

/// The decision and its text.
pub(super) fn gate(report: &CompareReport) -> (Decision, String) {
    let gated = || report.quantities.iter().filter(|quantity| quantity.gated);
    let of = |verdict: Verdict| -> Vec<&QuantityChange> {
        gated().filter(|q| q.verdict == verdict).collect()
    };
    let margin = margin(report.max_regression);
    if report.regressed {
        let regressed: Vec<&QuantityChange> = gated().filter(|q| q.regressed).collect();
        let text = format!(
            "Regressed beyond {margin}: {}.{} Exit code 1.",
            some(&regressed, with_change),
            faster(report),
        );
        return (Decision::Regressed, text);
    }
    if gated().next().is_none() {
        let text = format!("No gated quantity was measured. With {FLAG}, the exit code is 3.");
        return (Decision::Inconclusive, text);
    }
    let open = match report.inconclusive {
        true => of(Verdict::Inconclusive),
        false => vec![],
    };
    let all = open.len() == gated().count();
    let mut text = match open.len() {
        // Some gated quantities are missing; a note lists them.
        0 if report.inconclusive => format!(
            "No regression beyond {margin} found, but some gated quantities were not measured."
        ),
        0 => format!("No regression beyond {margin}."),
        _ if !all => format!("No regression beyond {margin} found."),
        1 => format!(
            "Inconclusive: the data does not show whether the gated quantity regressed beyond \
             {margin}."
        ),
        count => format!(
            "Inconclusive: the data does not show whether one of the {count} gated quantities \
             regressed beyond {margin}."
        ),
    };
    let beyond = |quantity: &QuantityChange| {
        let low = quantity.relative.and_then(|part| part.low);
        low.is_some_and(|low| low > report.max_regression)
    };
    let (small, unsure): (Vec<&QuantityChange>, Vec<&QuantityChange>) =
        of(Verdict::Slower).into_iter().partition(|q| beyond(q));
    let listed = if all { vec![] } else { open.clone() };
    let (slower, listed): (Vec<&QuantityChange>, Vec<&QuantityChange>) =
        (listed.into_iter()).partition(|of| of.uncorrected() == Some(Verdict::Slower));
    // Only one side has them.
    let (single, listed): (Vec<&QuantityChange>, Vec<&QuantityChange>) =
        listed.into_iter().partition(|of| of.difference.is_none());
    let correction = format!(
        "Slower or larger, but not after correction for {} quantities",
        report.tests()
    );
    let details = [
        (
            "Slower or larger, but not conclusively beyond the margin",
            unsure,
            with_change as Describe,
        ),
        ("Slower or larger, but negligible", small, with_change),
        (&correction, slower, with_change),
        ("Inconclusive", listed, name),
        ("Not compared", single, name),
    ];
    for (what, those, describe) in details.iter().filter(|(_, those, _)| !those.is_empty()) {
        text.push_str(&format!(" {what}: {}.", some(those, describe)));
    }
    text.push_str(&faster(report));
    if !report.inconclusive {
        return (Decision::Passed, text);
    }
    // More starts do not help for a quantity that only one side has.
    let more = match open.iter().any(|quantity| quantity.difference.is_some()) {
        true => "More starts are needed; with",
        false => "With",
    };
    text.push_str(&format!(" {more} {FLAG}, the exit code is 3."));
    (Decision::Inconclusive, text)
}

/// ` Faster: train.py:17–23 −76 %.`, with every time and size that became conclusively
/// smaller, whether it is gated or not; empty if nothing did. The lab has a table of them.
fn faster(report: &CompareReport) -> String {
    let mut text = String::new();
    for (what, unit) in [("Faster", Unit::Seconds), ("Smaller", Unit::Bytes)] {
        let all = report.quantities.iter();
        let those: Vec<&QuantityChange> = all
            .filter(|of| of.verdict == Verdict::Faster && of.unit == unit)
            .collect();
        if !those.is_empty() && report.kind == CompareKind::Runs {
            text.push_str(&format!(" {what}: {}.", some(&those, with_change)));
        }
    }
    text
}

/// Formats a quantity for a list.
type Describe = fn(&QuantityChange) -> String;

fn with_change(quantity: &QuantityChange) -> String {
    // Do not break the line between a number and its interval.
    let change = change(quantity).replace(' ', &TIE.to_string());
    format!("{} {change}", name(quantity))
}

/// The first few quantities, and the number of the others.
fn some(quantities: &[&QuantityChange], describe: impl Fn(&QuantityChange) -> String) -> String {
    let mut names: Vec<String> = quantities
        .iter()
        .take(MAX_NAMES)
        .map(|q| describe(q))
        .collect();
    match quantities.len().saturating_sub(MAX_NAMES) {
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
    fn the_text_matches_the_decision() {
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
                "Inconclusive: the data does not show whether one of the 5 gated quantities \
                 regressed beyond 5 %. More starts are needed; with --fail-on-inconclusive, the \
                 exit code is 3.",
            ),
            (
                compare::nothing(),
                Decision::Inconclusive,
                "No gated quantity was measured. With --fail-on-inconclusive, the exit \
                 code is 3.",
            ),
        ] {
            let (actual, shown) = gate(&report);
            assert_eq!((actual, &*plain(&shown)), (decision, text));
        }
    }

    #[test]
    fn lists_increases_that_are_not_regressions() {
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
            "No regression beyond 5 %. Slower or larger, but not conclusively beyond the margin: \
             time to first +27 % (3 to 28). Slower or larger, but negligible: peak host memory \
             +6.6 % (6.2 to 7.1)."
        );
    }

    #[test]
    fn mentions_gated_quantities_that_were_not_measured() {
        let mut report = compare::unchanged();
        report.inconclusive = true;
        let (decision, text) = gate(&report);
        assert_eq!(decision, Decision::Inconclusive);
        assert_eq!(
            plain(&text),
            "No regression beyond 5 % found, but some gated quantities were not measured. With \
             --fail-on-inconclusive, the exit code is 3."
        );
    }

    #[test]
    fn names_only_the_first_few_of_many() {
        let mut report = compare::lab();
        for quantity in &mut report.quantities {
            (quantity.gated, quantity.regressed) = (true, true);
        }
        report.regressed = true;
        assert!(gate(&report).1.ends_with(", 13 more. Exit code 1."));
    }
}
