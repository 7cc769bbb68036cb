//! The items behind the change of a cause: modules, libraries, kernels and calls that are
//! new, gone, slower or faster. They come from the displayed start of each side, scaled to
//! the mean.

use std::collections::BTreeMap;

use super::RunInput;
use super::imports;
use super::{Change, ItemChange};
use crate::run::{Cause, CauseReport, Item, LISTED_IMPORT};

/// The maximum number of items.
const MAX_ITEMS: usize = 20;
/// Differences below this many seconds are omitted: they are clock noise.
const MIN_DIFFERENCE: f64 = 10e-6;

/// An item on both sides, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Both {
    pub name: String,
    pub detail: String,
    pub base: f64,
    pub new: f64,
}

/// The changed items of a cause, largest change first, and their total number.
pub(super) fn changed(base: &RunInput, new: &RunInput, cause: Cause) -> (Vec<ItemChange>, u64) {
    let modules = match (base.all_items, new.all_items, cause) {
        (Some(base), Some(new), Cause::PythonImports) => Some((&base.modules, &new.modules)),
        _ => None,
    };
    let both = match modules {
        Some((base, new)) => imports::both(base, new),
        None => by_name(&Known::of(base, cause), &Known::of(new, cause)),
    };
    let mut changes: Vec<ItemChange> = both.into_iter().filter_map(change).collect();
    changes.sort_by(|a, b| {
        let order = b.difference.abs().total_cmp(&a.difference.abs());
        order.then_with(|| a.name.cmp(&b.name))
    });
    let in_all = changes.len() as u64;
    changes.truncate(MAX_ITEMS);
    (changes, in_all)
}

fn change(both: Both) -> Option<ItemChange> {
    let difference = both.new - both.base;
    let change = match (both.base > 0.0, both.new > 0.0) {
        (false, _) => Change::New,
        (_, false) => Change::Gone,
        _ if difference > 0.0 => Change::Grown,
        _ => Change::Shrunk,
    };
    (difference.abs() >= MIN_DIFFERENCE).then_some(ItemChange {
        name: both.name,
        detail: both.detail,
        base: both.base,
        new: both.new,
        difference,
        change,
    })
}

/// The known items of a cause on one side.
struct Known {
    /// By name: seconds and details.
    items: BTreeMap<String, (f64, String)>,
    /// An upper bound for items that are not listed.
    unlisted: f64,
    /// The number of imported modules, if some of them are part of items with another name.
    modules: Option<u64>,
}

impl Known {
    fn of(input: &RunInput, cause: Cause) -> Known {
        if let Some(all_items) = input.all_items {
            return Known::new(all_items.of(cause), 0.0, cause);
        }
        let mut reports = input.report.causes.iter();
        let Some(report) = reports.find(|report| report.cause == cause) else {
            return Known::new(&[], 0.0, cause);
        };
        let known = Known::new(&report.items, unlisted(report), cause);
        let modules = counts_others(report) && report.items_in_all == report.items.len() as u64;
        Known {
            modules: modules.then(|| report.items.iter().map(|item| item.count).sum()),
            ..known
        }
    }

    fn new(items: &[Item], unlisted: f64, cause: Cause) -> Known {
        let mut known = Known {
            items: BTreeMap::new(),
            unlisted,
            modules: None,
        };
        for item in items {
            let name = match cause {
                // Which modules a document lists individually depends on their size.
                Cause::PythonImports => imports::package(item.stable_name()),
                _ => item.stable_name(),
            };
            let entry = known.items.entry(name.to_owned()).or_default();
            entry.0 += item.seconds;
            if entry.1.is_empty() {
                entry.1.clone_from(&item.detail);
            }
        }
        known
    }
}

/// A document keeps the largest items: the smallest of them bounds the others. It also counts
/// small imports as part of others, whatever their package.
fn unlisted(report: &CauseReport) -> f64 {
    let smallest = match report.items.last() {
        Some(last) if report.items_in_all > report.items.len() as u64 => last.seconds,
        _ => 0.0,
    };
    if !counts_others(report) {
        return smallest;
    }
    let all: f64 = report.items.iter().map(|item| item.seconds).sum();
    smallest.max(LISTED_IMPORT * all)
}

/// The form in which imports are counted: alone, or as part of others.
fn counts_others(report: &CauseReport) -> bool {
    report.cause == Cause::PythonImports && report.items.iter().any(|item| item.count > 1)
}

fn by_name(base: &Known, new: &Known) -> Vec<Both> {
    let mut both: BTreeMap<&str, Both> = BTreeMap::new();
    for (known, is_new) in [(base, false), (new, true)] {
        for (name, (seconds, detail)) in &known.items {
            let entry = both.entry(name).or_insert_with(|| Both {
                name: name.clone(),
                detail: String::new(),
                base: 0.0,
                new: 0.0,
            });
            if is_new {
                entry.new = *seconds;
            } else {
                entry.base = *seconds;
            }
            entry.detail.clone_from(detail);
        }
    }
    // An item is not new if the other side may have it, just not among its largest. With as many
    // modules on both sides, it is part of another one there.
    let same_modules = base.modules.is_some() && base.modules == new.modules;
    let lacks = |side: &Known, seconds: f64| !same_modules && seconds > 2.0 * side.unlisted;
    both.into_values()
        .filter(|both| {
            (both.base > 0.0 || lacks(base, both.new)) && (both.new > 0.0 || lacks(new, both.base))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Origin;

    fn item(name: &str, seconds: f64) -> Item {
        Item {
            seconds,
            inclusive: seconds,
            count: 1,
            ..Item::named(name)
        }
    }

    #[test]
    fn items_missing_from_a_truncated_list_are_not_new() {
        let cause = Cause::KernelLoading;
        let base = Known::new(&[item("a", 0.5), item("b", 0.1)], 0.1, cause);
        let new = Known::new(
            &[item("a", 0.6), item("c", 0.15), item("d", 0.9)],
            0.0,
            cause,
        );
        let found: Vec<ItemChange> = (by_name(&base, &new).into_iter())
            .filter_map(change)
            .collect();
        let words = |name: &str| {
            let found = found.iter().find(|item| item.name == name);
            found.map(|item| item.change)
        };
        assert_eq!(words("a"), Some(Change::Grown));
        assert_eq!(words("b"), Some(Change::Gone));
        assert_eq!(words("c"), None);
        assert_eq!(words("d"), Some(Change::New));
    }

    #[test]
    fn small_imports_of_documents_may_be_part_of_others() {
        let report = |items: Vec<Item>| CauseReport {
            cause: Cause::PythonImports,
            seconds: 0.0,
            share: 0.0,
            device_bytes: None,
            items_in_all: items.len() as u64,
            items,
            functions: Vec::new(),
        };
        let inspect = Item {
            count: 10,
            ..item("inspect", 0.9)
        };
        let bound = unlisted(&report(vec![inspect, item("re", 0.1)]));
        assert!((bound - LISTED_IMPORT).abs() < 1e-12);
        assert_eq!(unlisted(&report(vec![item("inspect", 0.9)])), 0.0);
    }

    #[test]
    fn no_import_is_new_among_as_many_modules() {
        let known = |name, modules| Known {
            modules: Some(modules),
            ..Known::new(
                &[item("inspect", 0.5), item(name, 0.5)],
                0.05,
                Cause::PythonImports,
            )
        };
        let base = known("dis", 12);
        let (same, more) = (known("typing", 12), known("typing", 15));
        assert_eq!(by_name(&base, &same).len(), 1);
        assert_eq!(by_name(&base, &more).len(), 3);
    }

    #[test]
    fn modules_of_documents_are_combined_by_package() {
        let cause = Cause::PythonImports;
        let items = [
            item("torch", 0.5),
            item("torch._dynamo", 0.4),
            Item {
                origin: Some(Origin::Package {
                    package: "torch".to_owned(),
                }),
                ..item("other modules of torch", 0.1)
            },
        ];
        let known = Known::new(&items, 0.0, cause);
        assert_eq!(known.items.len(), 1);
        assert!((known.items["torch"].0 - 1.0).abs() < 1e-12);
    }
}
