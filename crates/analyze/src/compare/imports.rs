//! Compares Python modules: which are new, gone, or slower.
//!
//! A module is imported once, by its first importer. A new module that imports what others
//! used to import would thus seem to cost their time too. So modules are compared by their
//! own time, and only modules that the other side lacks entirely are summed along the tree,
//! under the topmost new module: `sympy` is informative, its two hundred submodules are
//! not. Where nine tenths of that time belong to an imported module of another package,
//! that module is named instead, since it takes the time. Modules that both sides have are
//! combined by package.

use std::collections::{BTreeMap, HashMap};

use super::items::Both;
use crate::run::ImportedModule;

/// A module with at least this share of its importer's time is named instead of it.
const DOMINANT_SHARE: f64 = 0.9;

/// The changes by name: new and gone modules, and packages that both sides have.
pub(super) fn both(base: &[ImportedModule], new: &[ImportedModule]) -> Vec<Both> {
    let (of_base, of_new) = (own(base), own(new));
    let mut found: Vec<Both> = Vec::new();
    for (name, (seconds, detail)) in alone(new, &of_base) {
        found.push(Both {
            name,
            detail,
            base: 0.0,
            new: seconds,
        });
    }
    for (name, (seconds, detail)) in alone(base, &of_new) {
        found.push(Both {
            name,
            detail,
            base: seconds,
            new: 0.0,
        });
    }
    let mut packages: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (name, base) in &of_base {
        if let Some(new) = of_new.get(name) {
            let sums = packages.entry(package(name)).or_default();
            sums.0 += base;
            sums.1 += new;
        }
    }
    found.extend(packages.into_iter().map(|(name, (base, new))| Both {
        name: name.to_owned(),
        detail: String::new(),
        base,
        new,
    }));
    found
}

/// The package of a module.
pub(super) fn package(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The own time of each module; child processes may import it too.
fn own(modules: &[ImportedModule]) -> HashMap<&str, f64> {
    let mut sums: HashMap<&str, f64> = HashMap::new();
    for module in modules {
        *sums.entry(&module.name).or_default() += module.own;
    }
    sums
}

/// The modules that `other` lacks, under the most informative name: their total time, and
/// who imported them.
fn alone(
    modules: &[ImportedModule],
    other: &HashMap<&str, f64>,
) -> BTreeMap<String, (f64, String)> {
    let is_alone: Vec<bool> = (modules.iter())
        .map(|module| !other.contains_key(module.name.as_str()))
        .collect();
    // Parents come first, so going backwards, each child is complete before its parent.
    let mut within: Vec<f64> = modules.iter().map(|module| module.own).collect();
    let mut largest: Vec<Option<usize>> = vec![None; modules.len()];
    for at in (0..modules.len()).rev().filter(|at| is_alone[*at]) {
        if let Some(parent) = modules[at].parent.filter(|parent| is_alone[*parent]) {
            within[parent] += within[at];
            if largest[parent].is_none_or(|so_far| within[at] >= within[so_far]) {
                largest[parent] = Some(at);
            }
        }
    }
    let names: std::collections::HashSet<&str> =
        modules.iter().map(|module| module.name.as_str()).collect();
    let mut found: BTreeMap<String, (f64, String)> = BTreeMap::new();
    for at in (0..modules.len()).filter(|at| is_alone[*at]) {
        if modules[at].parent.is_some_and(|parent| is_alone[parent]) {
            continue;
        }
        let named = &modules[dominant(at, modules, &within, &largest)];
        // If the whole package is new, use its well-known name.
        let package = package(&named.name);
        let whole = names.contains(package) && !other.contains_key(package);
        let name = if whole { package } else { &named.name };
        let entry = found.entry(name.to_owned()).or_default();
        entry.0 += within[at];
        if entry.1.is_empty() {
            entry.1.clone_from(&named.detail);
        }
    }
    found
}

/// The module within `top` that takes most of its time, if it is of another package;
/// otherwise `top`.
fn dominant(
    top: usize,
    modules: &[ImportedModule],
    within: &[f64],
    largest: &[Option<usize>],
) -> usize {
    let (mut named, mut at) = (top, top);
    while let Some(inner) = largest[at]
        && within[inner] >= DOMINANT_SHARE * within[at]
    {
        if package(&modules[inner].name) != package(&modules[named].name) {
            named = inner;
        }
        at = inner;
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(name: &str, parent: Option<usize>, own: f64) -> ImportedModule {
        ImportedModule {
            name: name.to_owned(),
            detail: format!("imported at {name}.py"),
            parent,
            own,
        }
    }

    fn of<'a>(found: &'a [Both], name: &str) -> &'a Both {
        let named = found.iter().find(|both| both.name == name);
        named.unwrap_or_else(|| panic!("no {name} in {found:?}"))
    }

    #[test]
    fn the_topmost_new_module_is_named_and_moved_ones_are_not_counted_twice() {
        let base = [
            module("torch", None, 1.0),
            module("torch.nn", Some(0), 0.5),
            module("numpy", Some(0), 0.3),
            module("old", None, 0.2),
        ];
        // sympy is imported first now, and with it numpy.
        let new = [
            module("sympy", None, 0.4),
            module("sympy.core", Some(0), 0.8),
            module("mpmath", Some(0), 0.7),
            module("numpy", Some(0), 0.3),
            module("numpy.extra", Some(3), 0.05),
            module("torch", None, 1.0),
            module("torch.nn", Some(5), 0.6),
        ];
        let found = both(&base, &new);
        let sympy = of(&found, "sympy");
        assert_eq!(
            (sympy.base, sympy.detail.as_str()),
            (0.0, "imported at sympy.py")
        );
        assert!((sympy.new - 1.9).abs() < 1e-12);
        assert_eq!(of(&found, "numpy.extra").new, 0.05);
        let numpy = of(&found, "numpy");
        assert_eq!((numpy.base, numpy.new), (0.3, 0.3));
        let torch = of(&found, "torch");
        assert!((torch.new - torch.base - 0.1).abs() < 1e-12);
        assert_eq!((of(&found, "old").base, of(&found, "old").new), (0.2, 0.0));
        assert_eq!(found.len(), 5);
    }

    #[test]
    fn dominant_modules_and_new_packages_are_named() {
        let base = [module("train_parts", None, 0.1)];
        let helper = [
            module("train_parts", None, 0.1),
            module("helpers", Some(0), 0.001),
            module("sympy.core", Some(1), 0.5),
            module("sympy", Some(2), 1.0),
        ];
        let found = both(&base, &helper);
        assert!((of(&found, "sympy").new - 1.501).abs() < 1e-12);
        assert_eq!(found.len(), 2);
        // Part of a package that already existed.
        let part = [
            module("train_parts", None, 0.1),
            module("train_parts.slow", None, 1.0),
        ];
        assert_eq!(of(&both(&base, &part), "train_parts.slow").new, 1.0);
        assert!(both(&[], &[]).is_empty());
    }
}
