//! Interns item names as integer ids, so that tallies need not hash strings.

use std::collections::HashMap;

use super::super::Origin;
use super::super::facts::{Facts, Thing};

/// The id of an item within one start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::run) struct ItemId(pub u32);

/// The meaning of an item id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum Meant<'a> {
    /// An entry in a table of a process, given by its index in the start.
    Of(usize, Thing),
    /// An item known only by name: a thread, a phase.
    Named(&'a Label),
}

/// A name, and where the item comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::run) struct Label {
    pub name: String,
    pub origin: Option<Origin>,
}

impl From<&str> for Label {
    fn from(name: &str) -> Label {
        Label {
            name: name.to_owned(),
            origin: None,
        }
    }
}

static NO_LABEL: Label = Label {
    name: String::new(),
    origin: None,
};

/// All items of a start.
pub(in crate::run) struct Catalogue {
    tables: Vec<Tables>,
    /// The id of the first named item; all ids below refer to processes.
    named_from: u32,
    labels: Vec<Label>,
    by_name: HashMap<String, ItemId>,
}

/// The id at which each table of a process begins.
struct Tables {
    symbols: u32,
    functions: u32,
    imports: u32,
    loads: u32,
    bytecode: u32,
    texts: u32,
    end: u32,
}

impl Catalogue {
    pub(in crate::run) fn new(facts: &[Facts]) -> Catalogue {
        let mut next = 0u32;
        let mut take = |count: usize| {
            let from = next;
            next = next.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
            from
        };
        let tables = facts.iter().map(|facts| {
            let process = facts.process;
            Tables {
                // One extra id, for symbols that are missing from the table.
                symbols: take(process.symbols.len() + 1),
                functions: take(process.functions.len()),
                imports: take(process.imports.len()),
                loads: take(process.loads.len()),
                bytecode: take(process.bytecode.len()),
                texts: take(process.texts.len()),
                end: take(0),
            }
        });
        let tables = tables.collect();
        Catalogue {
            tables,
            named_from: next,
            labels: Vec::new(),
            by_name: HashMap::new(),
        }
    }

    /// The id of an entry of a process. An index outside its table is mapped to the last
    /// entry before the next table, so that ids are never out of range.
    pub(in crate::run) fn id(&self, process: usize, thing: Thing) -> ItemId {
        let tables = &self.tables[process];
        let (from, at, to) = match thing {
            Thing::Symbol(at) => (tables.symbols, at, tables.functions),
            Thing::Function(at) => (tables.functions, at, tables.imports),
            Thing::Import(at) => (tables.imports, at, tables.loads),
            Thing::Load(at) => (tables.loads, at, tables.bytecode),
            Thing::Bytecode(at) => (tables.bytecode, at, tables.texts),
            Thing::Text(at) => (tables.texts, at, tables.end),
        };
        if from == to {
            return ItemId(tables.functions - 1);
        }
        ItemId(from.saturating_add(at).min(to - 1))
    }

    /// The id of an item known only by name.
    pub(in crate::run) fn named(&mut self, label: impl Into<Label>) -> ItemId {
        let label = label.into();
        if let Some(id) = self.by_name.get(&label.name) {
            return *id;
        }
        let id = ItemId(self.named_from + self.labels.len() as u32);
        self.by_name.insert(label.name.clone(), id);
        self.labels.push(label);
        id
    }

    /// The meaning of an id.
    pub(in crate::run) fn meant(&self, id: ItemId) -> Meant<'_> {
        if let Some(at) = id.0.checked_sub(self.named_from) {
            return Meant::Named(self.labels.get(at as usize).unwrap_or(&NO_LABEL));
        }
        let process = self.tables.partition_point(|tables| tables.end <= id.0);
        let tables = &self.tables[process];
        let thing = if id.0 < tables.functions {
            Thing::Symbol(id.0 - tables.symbols)
        } else if id.0 < tables.imports {
            Thing::Function(id.0 - tables.functions)
        } else if id.0 < tables.loads {
            Thing::Import(id.0 - tables.imports)
        } else if id.0 < tables.bytecode {
            Thing::Load(id.0 - tables.loads)
        } else if id.0 < tables.texts {
            Thing::Bytecode(id.0 - tables.bytecode)
        } else {
            Thing::Text(id.0 - tables.texts)
        };
        Meant::Of(process, thing)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::trace::{Import, Process, Symbol};
    use super::*;

    #[test]
    fn ids_round_trip() {
        let empty = Process::default();
        let process = Process {
            symbols: vec![Symbol::default(); 2],
            imports: vec![Import::default(); 3],
            ..Process::default()
        };
        let facts = [Facts::of(&process), Facts::of(&empty), Facts::of(&process)];
        let mut catalogue = Catalogue::new(&facts);
        let name = catalogue.named("a thread");
        assert_eq!(catalogue.named("a thread"), name);
        let label = Label::from("a thread");
        assert_eq!(catalogue.meant(name), Meant::Named(&label));
        for place in [0, 2] {
            for thing in [Thing::Symbol(1), Thing::Import(0), Thing::Import(2)] {
                let id = catalogue.id(place, thing);
                assert_eq!(catalogue.meant(id), Meant::Of(place, thing));
            }
            let beyond = catalogue.id(place, Thing::Symbol(99));
            assert_eq!(catalogue.meant(beyond), Meant::Of(place, Thing::Symbol(2)));
        }
        let none = catalogue.id(1, Thing::Load(0));
        assert_eq!(catalogue.meant(none), Meant::Of(1, Thing::Symbol(0)));
    }
}
