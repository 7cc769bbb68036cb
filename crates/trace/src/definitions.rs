//! Texts, symbols and functions by the numbers and handles that records refer to.
//!
//! A number may be used on one thread and defined on another, whose chunk comes later in
//! the file. Definitions are therefore read in a first pass.
//!
//! A launch refers to a handle; a lookup, which may be on another thread and come later in
//! the file, provides its name. A handle that is looked up again under another name (code
//! was unloaded and the handle reused) is a new function from then on.

use std::collections::HashMap;
use std::io::{Read, Seek};

use preheat_model::run::trace::{Function, Symbol};
use preheat_wire::{Kind, Record, Shape, Slot};

use crate::error::Problems;
use crate::layout::Layout;
use crate::slots::{each_record, fields, owned, text};

/// The size of the recorder's table of texts.
const TEXTS: u64 = 8192;

/// Symbol numbers have 16 bits.
pub(crate) const SYMBOLS: usize = 1 << 16;

/// All definitions of a file.
#[derive(Debug)]
pub(crate) struct Definitions {
    /// Shapes by symbol; `None` for those that this version does not know.
    pub(crate) shapes: Box<[Option<Shape>; SYMBOLS]>,
    /// Symbols by number.
    pub(crate) symbols: Vec<Symbol>,
    /// Texts by number; 0 is the empty text.
    pub(crate) texts: Vec<String>,
}

impl Definitions {
    /// Reads the definitions. Only impossible numbers are added to `problems`; the second
    /// pass finds the other problems.
    pub(crate) fn read<R: Read + Seek>(
        source: &mut R,
        layout: &Layout,
        buffer: &mut [u8],
        problems: &mut Problems,
    ) -> Definitions {
        let mut definitions = Definitions {
            shapes: Box::new([None; SYMBOLS]),
            symbols: Vec::new(),
            texts: vec![String::new()],
        };
        let records = layout.chunks.iter().filter(|chunk| !chunk.totals);
        // Numbers are assigned consecutively, so there are at most as many as slots.
        let slots: u64 = records.clone().map(|chunk| chunk.used).sum();
        for chunk in records {
            let mut later = Problems::default();
            each_record(
                source,
                chunk,
                buffer,
                &mut later,
                |record, further, offset| {
                    if record.kind == Kind::Symbol as u8 {
                        if !definitions.symbol(record, further) {
                            problems.add(|| absurd("symbol", record.value, offset));
                        }
                    } else if record.kind == Kind::Text as u8
                        && !definitions.text(record, further, slots)
                    {
                        problems.add(|| absurd("text", record.value, offset));
                    }
                },
            );
        }
        definitions
    }

    fn symbol(&mut self, record: &Record, further: &[Slot]) -> bool {
        let Ok(number) = u16::try_from(record.value).map(usize::from) else {
            return false;
        };
        if number >= self.symbols.len() {
            self.symbols.resize_with(number + 1, Symbol::default);
        }
        let mut fields = fields(text(further, 0));
        if let (Some(symbol), Some(shape)) =
            (self.symbols.get_mut(number), self.shapes.get_mut(number))
        {
            symbol.name = fields.next().unwrap_or_default();
            symbol.library = fields.next().unwrap_or_default();
            *shape = Shape::from_number(record.status);
        }
        true
    }

    fn text(&mut self, record: &Record, further: &[Slot], slots: u64) -> bool {
        // A text's number is its index in a table of this size, however short the file is.
        if record.value > slots.max(TEXTS) {
            return false;
        }
        let Ok(number) = usize::try_from(record.value) else {
            return false;
        };
        // Number 0 stays empty: it means "no text".
        if number == 0 {
            return true;
        }
        if number >= self.texts.len() {
            self.texts.resize_with(number + 1, String::new);
        }
        if let Some(place) = self.texts.get_mut(number) {
            *place = owned(text(further, 0));
        }
        true
    }
}

fn absurd(what: &str, number: u64, offset: u64) -> String {
    format!("the record at offset {offset} defines {what} {number}, which is out of range")
}

/// The size of the cache in front of the map; a power of two.
const CACHED: usize = 256;

/// The functions of a process.
#[derive(Debug)]
pub(crate) struct Functions {
    table: Vec<Function>,
    by_handle: HashMap<u64, u32>,
    /// Handle and index: launches repeat few handles, and the map's hash is slow.
    cache: Box<[Option<(u64, u32)>; CACHED]>,
    /// Functions that were used before they turned out to be aliases.
    same: Vec<(u32, u32)>,
}

impl Functions {
    pub(crate) fn new() -> Functions {
        Functions {
            table: Vec::new(),
            by_handle: HashMap::new(),
            cache: Box::new([None; CACHED]),
            same: Vec::new(),
        }
    }

    /// The index of the function with this handle. Adds it if it is new.
    #[inline]
    pub(crate) fn index(&mut self, handle: u64) -> u32 {
        match self.cache[cache_slot(handle)] {
            Some((cached, index)) if cached == handle => index,
            _ => self.index_by_map(handle),
        }
    }

    fn index_by_map(&mut self, handle: u64) -> u32 {
        let index = match self.by_handle.get(&handle) {
            Some(index) => *index,
            None => self.add(handle, String::new()),
        };
        self.cache[cache_slot(handle)] = Some((handle, index));
        index
    }

    fn add(&mut self, handle: u64, name: String) -> u32 {
        let index = u32::try_from(self.table.len()).unwrap_or(u32::MAX);
        self.table.push(Function { name });
        self.point(handle, index);
        index
    }

    fn point(&mut self, handle: u64, index: u32) -> Option<u32> {
        self.cache[cache_slot(handle)] = Some((handle, index));
        self.by_handle.insert(handle, index)
    }

    /// Records that a lookup of this name returned this handle.
    pub(crate) fn named(&mut self, handle: u64, name: &[u8]) -> u32 {
        let index = self.index(handle);
        match self.table.get_mut(index as usize) {
            Some(function) if function.name.is_empty() => {
                function.name = owned(name);
                index
            }
            Some(function) if function.name.as_bytes() == name => index,
            _ => {
                let name = owned(name);
                // A name that was not UTF-8 differs from its bytes.
                if self
                    .table
                    .get(index as usize)
                    .is_some_and(|same| same.name == name)
                {
                    return index;
                }
                self.add(handle, name)
            }
        }
    }

    /// Records that `function` is another handle of `kernel`.
    pub(crate) fn alias(&mut self, function: u64, kernel: u64) -> u32 {
        let index = self.index(kernel);
        if let Some(before) = self
            .point(function, index)
            .filter(|before| *before != index)
        {
            self.same.push((before, index));
        }
        index
    }

    /// All functions by index, with their names where known.
    pub(crate) fn into_table(mut self) -> Vec<Function> {
        for (before, index) in self.same {
            let name = self
                .table
                .get(index as usize)
                .map(|other| other.name.clone());
            if let (Some(name), Some(function)) = (name, self.table.get_mut(before as usize))
                && function.name.is_empty()
            {
                function.name = name;
            }
        }
        self.table
    }
}

/// The cache slot of a handle. Handles are addresses, so their low bits differ little.
#[inline]
fn cache_slot(handle: u64) -> usize {
    (handle.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize % CACHED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_come_after_the_launch() {
        let mut functions = Functions::new();
        let launched = functions.index(0x10);
        assert_eq!(functions.named(0x10, b"gemm"), launched);
        assert_eq!(functions.into_table()[0].name, "gemm");
    }

    #[test]
    fn an_alias_is_its_kernel() {
        let mut functions = Functions::new();
        let kernel = functions.named(1, b"gemm");
        assert_eq!(functions.alias(2, 1), kernel);
        assert_eq!(functions.index(2), kernel);
    }

    #[test]
    fn an_alias_that_was_launched_before_gets_the_name_too() {
        let mut functions = Functions::new();
        let early = functions.index(2);
        functions.alias(2, 1);
        functions.named(1, b"gemm");
        assert_eq!(functions.into_table()[early as usize].name, "gemm");
    }

    #[test]
    fn a_handle_that_is_used_again_is_a_new_function() {
        let mut functions = Functions::new();
        let first = functions.named(7, b"old");
        let second = functions.named(7, b"new");
        assert_ne!(first, second);
        assert_eq!(functions.index(7), second);
        assert_eq!(functions.named(7, b"new"), second);
        let table = functions.into_table();
        assert_eq!(
            (table[0].name.as_str(), table[1].name.as_str()),
            ("old", "new")
        );
    }

    #[test]
    fn many_handles_stay_distinct() {
        let mut functions = Functions::new();
        let first: Vec<u32> = (0..5000)
            .map(|handle| functions.index(handle * 64))
            .collect();
        let again: Vec<u32> = (0..5000)
            .map(|handle| functions.index(handle * 64))
            .collect();
        assert_eq!(first, again);
    }
}
