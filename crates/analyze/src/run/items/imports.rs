//! Items for Python imports: hundreds of modules, of which only a few matter.
//!
//! An import is listed if its inclusive time is at least a twentieth of all imports. If a
//! child takes nine tenths of its parent, only one of the two is listed: within a package
//! the parent, because people know its name; across packages the child, because it takes
//! the time. All other imports are grouped by top-level package, so that everything adds
//! up. If the package itself is listed, its group is a separate item, `other modules of …`.

use std::collections::{HashMap, HashSet};

use super::super::examine::seconds;
use super::super::facts::Facts;
use super::super::path::Sum;
use super::super::trace::{Import, Process, Span, SpanKind};
use super::super::{ImportedModule, Importer, Item, Origin};

/// An import of at least this share of all imports is listed.
pub(crate) const LISTED_IMPORT: f64 = 0.05;
/// If a child import takes at least this share of its parent, only one of the two is
/// listed.
const DOMINANT_SHARE: f64 = 0.9;

/// The imports of a process as a tree.
pub(in crate::run) struct Tree {
    /// Indexed by import: its parent.
    pub parents: Vec<Option<u32>>,
    /// Indexed by import: begin and end; zero if it has no span.
    pub spans: Vec<(u64, u64)>,
    /// Imports in topological order: each comes after its parent.
    pub order: Vec<u32>,
}

impl Tree {
    pub(in crate::run) fn of(facts: &Facts) -> Tree {
        let process = facts.process;
        let count = process.imports.len();
        let mut tree = Tree {
            parents: vec![None; count],
            spans: vec![(0, 0); count],
            order: Vec::with_capacity(count),
        };
        for (index, thread) in process.threads.iter().enumerate() {
            if facts.count(index, SpanKind::Import) == 0 {
                continue;
            }
            let mut open: Vec<&Span> = Vec::new();
            for span in thread.spans.iter().filter(|s| s.what == SpanKind::Import) {
                let at = span.detail as usize;
                if at >= count || tree.spans[at] != (0, 0) {
                    continue;
                }
                while open.pop_if(|outer| outer.end <= span.begin).is_some() {}
                tree.parents[at] = open.last().map(|outer| outer.detail);
                tree.spans[at] = (span.begin, span.end);
                tree.order.push(span.detail);
                open.push(span);
            }
        }
        tree
    }

    /// Adds the time of nested imports to each import.
    pub(in crate::run) fn inclusive(&self, own: &[u64]) -> Vec<u64> {
        let mut inclusive = own.to_vec();
        for at in self.order.iter().rev() {
            if let Some(parent) = self.parents[*at as usize] {
                inclusive[parent as usize] += inclusive[*at as usize];
            }
        }
        inclusive
    }
}

/// The importer of a module.
pub(in crate::run) fn importer(import: &Import) -> Importer {
    let line = match import.main.rsplit_once('/') {
        Some((_, name)) => name,
        None => &import.main,
    };
    let module = match (import.importer.as_str(), import.function.as_str()) {
        ("" | "__main__", _) => None,
        (module, "" | "<module>") => Some(format!("{module}:{}", import.line)),
        (module, function) => Some(format!("{module} {function}:{}", import.line)),
    };
    Importer {
        module,
        line: (!line.is_empty()).then(|| line.to_owned()),
    }
}

/// The top-level package of a module.
pub(in crate::run) fn package(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The items. `own` is the exclusive time of each import on the path; inclusive times end
/// at `until`.
pub(super) fn list(
    own: &HashMap<(usize, u32), Sum>,
    trees: &[Tree],
    facts: &[Facts],
    until: u64,
) -> Vec<Item> {
    let all: u64 = own.values().map(|sum| sum.nanoseconds).sum();
    let sum_of = |place: usize, at: u32| own.get(&(place, at)).copied().unwrap_or_default();
    let listed: Vec<Vec<bool>> = (trees.iter().enumerate())
        .map(|(place, tree)| {
            let process = facts[place].process;
            let own: Vec<u64> = (0..process.imports.len() as u32)
                .map(|at| sum_of(place, at).nanoseconds)
                .collect();
            select(process, tree, &tree.inclusive(&own), all)
        })
        .collect();
    let names = listed.iter().zip(facts).flat_map(|(listed, facts)| {
        let imports = facts.process.imports.iter().zip(listed);
        imports.filter(|(_, listed)| **listed)
    });
    let listed_names: HashSet<&str> = names.map(|(import, _)| import.name.as_str()).collect();
    let mut items: HashMap<(bool, &str), Item> = HashMap::new();
    for (place, tree) in trees.iter().enumerate() {
        let process = facts[place].process;
        let listed = &listed[place];
        let mut counted_in: Vec<u32> = (0..process.imports.len() as u32).collect();
        for at in &tree.order {
            let sum = sum_of(place, *at);
            let index = *at as usize;
            let parent = tree.parents[index];
            if !listed[index] {
                counted_in[index] = parent.map_or(*at, |parent| counted_in[parent as usize]);
            }
            if sum == Sum::default() && !listed[index] {
                continue;
            }
            let owner = counted_in[index] as usize;
            let import = &process.imports[owner];
            let key = if listed[owner] {
                (true, import.name.as_str())
            } else {
                (false, package(&import.name))
            };
            let item = items.entry(key).or_insert_with(|| match key {
                (false, name) if listed_names.contains(name) => Item {
                    origin: Some(Origin::Package {
                        package: name.to_owned(),
                    }),
                    ..Item::named(&format!("other modules of {name}"))
                },
                (_, name) => Item::named(name),
            });
            // Time nested in another import of the same item is already included.
            let outermost = parent.is_none_or(|parent| {
                let owner = counted_in[parent as usize] as usize;
                (listed[owner], process.imports[owner].name.as_str()) != (true, key.1)
            });
            if (listed[index] && outermost) || (!listed[owner] && parent.is_none()) {
                let (begin, end) = tree.spans[index];
                item.inclusive += seconds(end.min(until).saturating_sub(begin));
                let importer = importer(import);
                if item.detail.is_empty() && listed[index] && importer != Importer::default() {
                    item.detail = importer.sentence();
                    item.origin = Some(Origin::Import(importer));
                }
            }
            item.seconds += seconds(sum.nanoseconds);
            item.count += 1;
            *item.waiting.get_or_insert(0.0) += sum.waiting * 1e-9;
        }
    }
    let mut items: Vec<Item> = items.into_values().collect();
    for item in &mut items {
        item.inclusive = item.inclusive.max(item.seconds);
    }
    items
}

/// All modules that took time on the path, and their parents.
pub(super) fn modules(
    own: &HashMap<(usize, u32), Sum>,
    trees: &[Tree],
    facts: &[Facts],
) -> Vec<ImportedModule> {
    let mut modules = Vec::new();
    for (place, tree) in trees.iter().enumerate() {
        let imports = &facts[place].process.imports;
        let took = |at: u32| own.get(&(place, at)).map_or(0, |sum| sum.nanoseconds);
        let each: Vec<u64> = (0..imports.len() as u32).map(took).collect();
        let inclusive = tree.inclusive(&each);
        let mut places: Vec<Option<usize>> = vec![None; imports.len()];
        for index in tree.order.iter().map(|at| *at as usize) {
            if inclusive[index] == 0 {
                continue;
            }
            places[index] = Some(modules.len());
            modules.push(ImportedModule {
                name: imports[index].name.clone(),
                detail: importer(&imports[index]).sentence(),
                parent: tree.parents[index].and_then(|parent| places[parent as usize]),
                own: seconds(each[index]),
            });
        }
    }
    modules
}

/// Selects the imports to list, by the rule at the top of this file.
fn select(process: &Process, tree: &Tree, inclusive: &[u64], all: u64) -> Vec<bool> {
    let count = process.imports.len();
    let name = |at: u32| package(&process.imports[at as usize].name);
    // Indexed by import: the child that dominates it.
    let mut heir: Vec<Option<u32>> = vec![None; count];
    for at in &tree.order {
        let index = *at as usize;
        if let Some(parent) = tree.parents[index]
            && inclusive[index] as f64 >= DOMINANT_SHARE * inclusive[parent as usize] as f64
        {
            heir[parent as usize] = Some(*at);
        }
    }
    // Indexed by import: whether a module of another package is listed in its place.
    let mut passes_on = vec![false; count];
    for at in tree.order.iter().rev() {
        passes_on[*at as usize] = heir[*at as usize]
            .is_some_and(|heir| name(heir) != name(*at) || passes_on[heir as usize]);
    }
    let mut listed = vec![false; count];
    for at in &tree.order {
        let index = *at as usize;
        let large = inclusive[index] > 0 && inclusive[index] as f64 >= LISTED_IMPORT * all as f64;
        let stood_for = tree.parents[index].is_some_and(|parent| {
            heir[parent as usize] == Some(*at)
                && !passes_on[parent as usize]
                && name(parent) == name(*at)
        });
        listed[index] = large && !passes_on[index] && !stood_for;
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn importers_are_described_briefly() {
        let import = |importer: &str, function: &str, main: &str| Import {
            name: "torch._dynamo".to_owned(),
            importer: importer.to_owned(),
            function: function.to_owned(),
            line: 53,
            main: main.to_owned(),
            ..Import::default()
        };
        for (given, words) in [
            (
                import("torch._compile", "inner", "/home/me/train.py:12"),
                "torch._compile inner:53, from train.py:12",
            ),
            (import("torch", "<module>", ""), "torch:53"),
            (
                import("__main__", "<module>", "train.py:1"),
                "from train.py:1",
            ),
            (import("", "", ""), ""),
        ] {
            assert_eq!(importer(&given).to_string(), words);
        }
        let main = import("__main__", "<module>", "train.py:1");
        assert_eq!(importer(&main).sentence(), "imported at train.py:1");
    }
}
