//! Sorts the quantities, changed ones first, and names the series of the lab.

use preheat_model::compare::{CompareReport, Level, QuantityChange, SeriesKey, Verdict};

use super::{changed, value};
use crate::lab::full_label;
use crate::units::counted;

/// The quantities grouped by verdict.
pub(super) struct Sorted<'a> {
    /// Faster or slower: regressions first, then by relative change.
    pub changed: Vec<&'a QuantityChange>,
    /// By relative change, largest first.
    pub inconclusive: Vec<&'a QuantityChange>,
    /// In the order of the report.
    pub same: Vec<&'a QuantityChange>,
}

/// Groups the quantities of the report by verdict.
pub(super) fn sorted(report: &CompareReport) -> Sorted<'_> {
    let of = |wanted: &dyn Fn(Verdict) -> bool| -> Vec<&QuantityChange> {
        let all = report.quantities.iter();
        all.filter(|quantity| wanted(quantity.verdict)).collect()
    };
    let size = |quantity: &QuantityChange| {
        let part = quantity.relative.map(|part| part.value.abs());
        part.filter(|part| part.is_finite())
            .unwrap_or(f64::NEG_INFINITY)
    };
    let largest = |mut all: Vec<_>| {
        all.sort_by(|a: &&QuantityChange, b: &&QuantityChange| size(b).total_cmp(&size(a)));
        all
    };
    Sorted {
        // The sort is stable: regressions come first, each group by size.
        changed: {
            let mut all = largest(of(&changed));
            all.sort_by_key(|quantity| !quantity.regressed);
            all
        },
        inconclusive: largest(of(&|verdict| verdict == Verdict::Inconclusive)),
        same: of(&|verdict| verdict == Verdict::Same),
    }
}

/// The name of a lab series: `train · mlp, iteration`.
pub(super) fn series(of: &SeriesKey) -> String {
    full_label(of.experiment, &of.variant, &of.series, of.size)
}

/// The full name of a quantity, with its series if it has one.
pub(super) fn name(quantity: &QuantityChange) -> String {
    match &quantity.of {
        None => quantity.name.clone(),
        Some(of) => format!("{} of {} on {}", quantity.name, series(of), of.subject),
    }
}

/// The quantities that can be compared, and those that only one side has.
pub(super) fn by_sides(report: &CompareReport) -> (Vec<&QuantityChange>, Vec<&QuantityChange>) {
    let all = report.quantities.iter();
    all.partition(|quantity| quantity.base.is_some() == quantity.new.is_some())
}

/// Sentences with the values of quantities that only one side has: `only in new: steady
/// iteration 246 µs, warm-up 1`.
pub(super) fn only_in(quantities: &[&QuantityChange]) -> Vec<String> {
    let of = |side: &str, level: fn(&QuantityChange) -> Option<&Level>| {
        let values: Vec<String> = (quantities.iter())
            .filter_map(|quantity| {
                let value = value(level(quantity)?.mean.value, quantity.unit);
                Some(format!("{} {value}", quantity.name))
            })
            .collect();
        (!values.is_empty()).then(|| format!("only in {side}: {}", values.join(", ")))
    };
    [
        of("base", |quantity| quantity.base.as_ref()),
        of("new", |quantity| quantity.new.as_ref()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The reasons why quantities are inconclusive, without duplicates and full stops.
/// Quantities with an interval are skipped: the interval shows it.
pub(super) fn reasons(quantities: &[&QuantityChange]) -> Vec<String> {
    let open = quantities
        .iter()
        .filter(|quantity| quantity.verdict == Verdict::Inconclusive);
    let count = open.clone().count();
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    let has_interval =
        |quantity: &QuantityChange| quantity.difference.is_some_and(|by| by.low.is_some());
    for quantity in open.filter(|quantity| !quantity.why.is_empty() && !has_interval(quantity)) {
        match reasons.iter_mut().find(|(why, _)| *why == quantity.why) {
            Some((_, names)) => names.push(&quantity.name),
            None => reasons.push((&quantity.why, vec![&quantity.name])),
        }
    }
    let texts = reasons.into_iter().map(|(why, mut names)| {
        // A reason that applies to all of them needs no names.
        let all = names.len() == count;
        names.dedup();
        match all {
            true => format!("inconclusive: {why}"),
            false => format!("{} inconclusive: {why}", names.join(", ")),
        }
    });
    texts.collect()
}

/// The counts of the quantities that are not shown: `9 others the same, 2 inconclusive`.
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
    fn largest_change_is_first_and_nothing_is_lost() {
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
    fn quantities_of_one_side_have_no_verdict() {
        let mut report = compare::unchanged();
        let all = report.quantities.len();
        report.quantities[1].new = None;
        report.quantities[2].base = None;
        let (both, one) = by_sides(&report);
        assert_eq!((both.len(), one.len()), (all - 2, 2));
        let texts = only_in(&one);
        let [base, new] = &texts[..] else {
            panic!("{texts:?}");
        };
        let name = |at: usize| &report.quantities[at].name;
        assert!(base.starts_with(&format!("only in base: {} ", name(1))));
        assert!(new.starts_with(&format!("only in new: {} ", name(2))));
        assert!(only_in(&both[..0]).is_empty());
    }

    #[test]
    fn counts_the_rest() {
        assert_eq!(rest(1, 0), "1 other the same");
        assert_eq!(rest(0, 2), "2 others inconclusive");
        assert_eq!(rest(9, 2), "9 others the same, 2 inconclusive");
    }
}
