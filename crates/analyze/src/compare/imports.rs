//! Python modules on both sides: which are new, gone, or take longer.
//!
//! A module is imported once, by whoever comes first. A new one that imports what others
//! imported before thus seems to take their time too; so modules are compared by what each
//! takes itself, and only what the other side does not have at all is added up along the
//! tree: under the top-most new module, since `sympy` says it and its two hundred parts
//! do not. Where nine tenths of that belong to a module of another package that it imports,
//! that one is named: it is what takes the time. What both sides have is put together by
//! package.

use std::collections::{BTreeMap, HashMap};

use super::items::Both;
use crate::run::Module;

/// A module that is this part of the one that asked for it is what takes the time.
const AS_GOOD_AS: f64 = 0.9;

/// What changed, each with its name: new and gone modules, packages that both have.
pub(super) fn both(base: &[Module], new: &[Module]) -> Vec<Both> {
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

/// The package that a module belongs to.
pub(super) fn package(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// What each module takes itself; children of the program may import it too.
fn own(modules: &[Module]) -> HashMap<&str, f64> {
    let mut sums: HashMap<&str, f64> = HashMap::new();
    for module in modules {
        *sums.entry(&module.name).or_default() += module.own;
    }
    sums
}

/// The modules that `other` does not have, under the name that says it: how long they
/// take together, and who asked.
fn alone(modules: &[Module], other: &HashMap<&str, f64>) -> BTreeMap<String, (f64, String)> {
    let is_alone: Vec<bool> = (modules.iter())
        .map(|module| !other.contains_key(module.name.as_str()))
        .collect();
    // Parents come first, so from the end each has all that is within it.
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
        let named = &modules[stands_for(at, modules, &within, &largest)];
        // The whole package is new: its name is the one that people know.
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

/// The module within `top` that takes its time, if it is of another package; else itself.
fn stands_for(top: usize, modules: &[Module], within: &[f64], largest: &[Option<usize>]) -> usize {
    let (mut named, mut at) = (top, top);
    while let Some(inner) = largest[at]
        && within[inner] >= AS_GOOD_AS * within[at]
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

    fn module(name: &str, parent: Option<usize>, own: f64) -> Module {
        Module {
            name: name.to_owned(),
            detail: format!("asked for {name}"),
            parent,
            own,
        }
    }

    fn of<'a>(found: &'a [Both], name: &str) -> &'a Both {
        let named = found.iter().find(|both| both.name == name);
        named.unwrap_or_else(|| panic!("no {name} in {found:?}"))
    }

    #[test]
    fn the_top_most_new_module_is_named_and_moved_ones_are_not_counted_twice() {
        let base = [
            module("torch", None, 1.0),
            module("torch.nn", Some(0), 0.5),
            module("numpy", Some(0), 0.3),
            module("old", None, 0.2),
        ];
        // sympy comes first now, and with it numpy.
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
            (0.0, "asked for sympy")
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
    fn what_takes_the_time_is_named_and_a_package_by_its_own_name() {
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
        // Part of a package that was there already.
        let part = [
            module("train_parts", None, 0.1),
            module("train_parts.slow", None, 1.0),
        ];
        assert_eq!(of(&both(&base, &part), "train_parts.slow").new, 1.0);
        assert!(both(&[], &[]).is_empty());
    }
}
