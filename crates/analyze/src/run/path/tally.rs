//! Sums by cause and by item, in exact nanoseconds.

use std::collections::HashMap;

use super::super::facts::{Facts, ItemRef};
use super::super::{Cause, Origin};

/// The number of causes.
pub(in crate::run) const CAUSES: usize = Cause::ALL.len();

/// The totals of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::run) struct Sum {
    pub nanoseconds: u64,
    /// The waiting time within it.
    pub waiting: f64,
    pub bytes: u64,
    pub count: u64,
}

impl Sum {
    pub(in crate::run) fn add(&mut self, other: &Sum) {
        self.nanoseconds += other.nanoseconds;
        self.waiting += other.waiting;
        self.bytes += other.bytes;
        self.count += other.count;
    }
}

/// The sums of a region of the path.
pub(in crate::run) struct Tally {
    pub causes: [u64; CAUSES],
    /// Indexed by item: its first cause.
    items: Vec<Option<(Cause, Sum)>>,
    /// Items with several causes, which are rare.
    more: HashMap<(ItemId, Cause), Sum>,
}

impl Tally {
    pub(in crate::run) fn new() -> Tally {
        Tally {
            causes: [0; CAUSES],
            items: Vec::new(),
            more: HashMap::new(),
        }
    }

    pub(in crate::run) fn add(&mut self, cause: Cause, item: ItemId, sum: &Sum) {
        self.causes[cause.index()] += sum.nanoseconds;
        let at = item.0 as usize;
        if at >= self.items.len() {
            self.items.resize(at + 1, None);
        }
        match &mut self.items[at] {
            Some((own, total)) if *own == cause => total.add(sum),
            place @ None => *place = Some((cause, *sum)),
            Some(_) => self.more.entry((item, cause)).or_default().add(sum),
        }
    }

    /// All items with their causes, by id.
    pub(in crate::run) fn items(&self) -> impl Iterator<Item = (Cause, ItemId, Sum)> {
        let first = self.items.iter().enumerate().filter_map(|(at, entry)| {
            let (cause, sum) = (*entry)?;
            Some((cause, ItemId(at as u32), sum))
        });
        let mut more: Vec<_> = (self.more.iter())
            .map(|((item, cause), sum)| (*cause, *item, *sum))
            .collect();
        more.sort_by_key(|(cause, item, _)| (*item, *cause));
        first.chain(more)
    }
}

// Interns item names as integer ids, so that tallies need not hash strings.

/// The id of an item within one start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::run) struct ItemId(pub u32);

/// The meaning of an item id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum ItemMeaning<'a> {
    /// An entry in a table of a process, given by its index in the start.
    Of(usize, ItemRef),
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
    pub(in crate::run) fn id(&self, process: usize, thing: ItemRef) -> ItemId {
        let tables = &self.tables[process];
        let (from, at, to) = match thing {
            ItemRef::Symbol(at) => (tables.symbols, at, tables.functions),
            ItemRef::Function(at) => (tables.functions, at, tables.imports),
            ItemRef::Import(at) => (tables.imports, at, tables.loads),
            ItemRef::Load(at) => (tables.loads, at, tables.bytecode),
            ItemRef::Bytecode(at) => (tables.bytecode, at, tables.texts),
            ItemRef::Text(at) => (tables.texts, at, tables.end),
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
    pub(in crate::run) fn meaning(&self, id: ItemId) -> ItemMeaning<'_> {
        if let Some(at) = id.0.checked_sub(self.named_from) {
            return ItemMeaning::Named(self.labels.get(at as usize).unwrap_or(&NO_LABEL));
        }
        let process = self.tables.partition_point(|tables| tables.end <= id.0);
        let tables = &self.tables[process];
        let thing = if id.0 < tables.functions {
            ItemRef::Symbol(id.0 - tables.symbols)
        } else if id.0 < tables.imports {
            ItemRef::Function(id.0 - tables.functions)
        } else if id.0 < tables.loads {
            ItemRef::Import(id.0 - tables.imports)
        } else if id.0 < tables.bytecode {
            ItemRef::Load(id.0 - tables.loads)
        } else if id.0 < tables.texts {
            ItemRef::Bytecode(id.0 - tables.bytecode)
        } else {
            ItemRef::Text(id.0 - tables.texts)
        };
        ItemMeaning::Of(process, thing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::trace::{Import, Process, Symbol};

    #[test]
    fn an_item_may_have_several_causes() {
        let sum = |nanoseconds| Sum {
            nanoseconds,
            count: 1,
            ..Sum::default()
        };
        let mut tally = Tally::new();
        tally.add(Cause::Idle, ItemId(3), &sum(5));
        tally.add(Cause::OwnCpu, ItemId(3), &sum(7));
        tally.add(Cause::Idle, ItemId(3), &sum(1));
        let found: Vec<_> = (tally.items())
            .map(|(cause, item, sum)| (cause, item.0, sum.nanoseconds, sum.count))
            .collect();
        assert_eq!(found, [(Cause::Idle, 3, 6, 2), (Cause::OwnCpu, 3, 7, 1)]);
        assert_eq!(tally.causes[Cause::Idle.index()], 6);
    }

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
        assert_eq!(catalogue.meaning(name), ItemMeaning::Named(&label));
        for place in [0, 2] {
            for thing in [ItemRef::Symbol(1), ItemRef::Import(0), ItemRef::Import(2)] {
                let id = catalogue.id(place, thing);
                assert_eq!(catalogue.meaning(id), ItemMeaning::Of(place, thing));
            }
            let beyond = catalogue.id(place, ItemRef::Symbol(99));
            assert_eq!(
                catalogue.meaning(beyond),
                ItemMeaning::Of(place, ItemRef::Symbol(2))
            );
        }
        let none = catalogue.id(1, ItemRef::Load(0));
        assert_eq!(
            catalogue.meaning(none),
            ItemMeaning::Of(1, ItemRef::Symbol(0))
        );
    }
}
