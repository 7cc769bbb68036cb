//! The definitions that records refer to by number: symbols with their shapes, and texts.
//!
//! A number may be used on one thread and defined on another, whose chunk comes later in
//! the file. Definitions are therefore read in a first pass.

use std::io::{Read, Seek};

use preheat_model::run::trace::Symbol;
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
