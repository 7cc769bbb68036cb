//! What changed before what did not, and what series of the lab are called.

use preheat_analyze::compare::{CompareReport, Quantity, SeriesKey, Verdict};

use super::words::changed;
use crate::labels::full_label;
use crate::run::words::counted;

/// Quantities by what is said of them.
pub(super) struct Sorted<'a> {
    /// The largest part first.
    pub changed: Vec<&'a Quantity>,
    /// Likewise.
    pub inconclusive: Vec<&'a Quantity>,
    /// As they are.
    pub same: Vec<&'a Quantity>,
}

/// The quantities of the report by what is said of them.
pub(super) fn sorted(report: &CompareReport) -> Sorted<'_> {
    let of = |wanted: &dyn Fn(Verdict) -> bool| -> Vec<&Quantity> {
        let all = report.quantities.iter();
        all.filter(|quantity| wanted(quantity.verdict)).collect()
    };
    let size = |quantity: &Quantity| {
        let part = quantity.relative.map(|part| part.value.abs());
        part.filter(|part| part.is_finite())
            .unwrap_or(f64::NEG_INFINITY)
    };
    let largest = |mut all: Vec<_>| {
        all.sort_by(|a: &&Quantity, b: &&Quantity| size(b).total_cmp(&size(a)));
        all
    };
    Sorted {
        // What fails stands before what merely changed.
        changed: {
            let mut all = largest(of(&changed));
            all.sort_by_key(|quantity| !quantity.regressed);
            all
        },
        inconclusive: largest(of(&|verdict| verdict == Verdict::Inconclusive)),
        same: of(&|verdict| verdict == Verdict::Same),
    }
}

/// A series of the lab: `train · mlp, iteration`, and on what.
pub(super) fn series(of: &SeriesKey) -> String {
    full_label(of.experiment, &of.variant, &of.series, of.size)
}

/// A quantity where it stands alone: with its series, if it has one.
pub(super) fn name(quantity: &Quantity) -> String {
    match &quantity.of {
        None => quantity.name.clone(),
        Some(of) => format!("{} of {} on {}", quantity.name, series(of), of.subject),
    }
}

/// Why some are inconclusive, each reason once: as sentences without an end. Where there
/// is an interval, that says it.
pub(super) fn reasons(quantities: &[&Quantity]) -> Vec<String> {
    let open = quantities
        .iter()
        .filter(|quantity| quantity.verdict == Verdict::Inconclusive);
    let count = open.clone().count();
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    let sure = |quantity: &Quantity| quantity.difference.is_some_and(|by| by.low.is_some());
    for quantity in open.filter(|quantity| !quantity.why.is_empty() && !sure(quantity)) {
        match reasons.iter_mut().find(|(why, _)| *why == quantity.why) {
            Some((_, names)) => names.push(&quantity.name),
            None => reasons.push((&quantity.why, vec![&quantity.name])),
        }
    }
    let told = reasons.into_iter().map(|(why, mut names)| {
        // Where it holds for all that are, their names say nothing.
        let all = names.len() == count;
        names.dedup();
        match all {
            true => format!("inconclusive: {why}"),
            false => format!("{} inconclusive: {why}", names.join(", ")),
        }
    });
    told.collect()
}

/// How many are the same and how many inconclusive: `9 the same, 2 inconclusive`.
pub(super) fn rest(same: usize, inconclusive: usize) -> String {
    match (same, inconclusive) {
        (0, 0) => String::new(),
        (same, 0) => format!("{} the same", counted(same, "other")),
        (0, open) => format!("{} inconclusive", counted(open, "other")),
        (same, open) => format!("{same} others the same, {open} inconclusive"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::compare;

    #[test]
    fn what_changed_most_is_first_and_nothing_is_lost() {
        let report = compare::lab();
        let sorted = sorted(&report);
        assert!(sorted.changed[0].regressed);
        assert_eq!(
            name(sorted.changed[0]),
            "first of train · mlp, iteration on torch on cuda"
        );
        let all = sorted.changed.len() + sorted.inconclusive.len() + sorted.same.len();
        assert_eq!(all, report.quantities.len());
        assert!(!sorted.inconclusive.is_empty());
    }

    #[test]
    fn the_rest_is_counted() {
        assert_eq!(rest(1, 0), "1 other the same");
        assert_eq!(rest(0, 2), "2 others inconclusive");
        assert_eq!(rest(9, 2), "9 others the same, 2 inconclusive");
    }
}
