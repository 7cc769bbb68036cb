//! Machine code and its symbols before loading, and their serialization.
//!
//! An object is position-independent and has no external references, so it can be written
//! to a file and run by a later process. The cache decides whether a file can be trusted;
//! the decoder here never reads past the end and rejects anything inconsistent.

/// The type of a kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterKind {
    Pointer,
    Float,
    Int,
}

impl ParameterKind {
    const ALL: [ParameterKind; 3] = [
        ParameterKind::Pointer,
        ParameterKind::Float,
        ParameterKind::Int,
    ];

    /// The name used in messages.
    pub fn describe(self) -> &'static str {
        match self {
            ParameterKind::Pointer => "a buffer",
            ParameterKind::Float => "a float",
            ParameterKind::Int => "an int",
        }
    }
}

/// One kernel in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub name: String,
    pub parameters: Vec<ParameterKind>,
    /// The offset of its first instruction in the code.
    pub offset: usize,
}

/// Machine code and its symbols.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Object {
    pub symbols: Vec<Symbol>,
    pub code: Vec<u8>,
}

impl Object {
    /// Pads the code to a multiple of `alignment` (and of 16, for constants between
    /// instructions).
    pub fn align(&mut self, alignment: usize) {
        let length = self.code.len().next_multiple_of(alignment.max(16));
        self.code.resize(length, 0);
    }

    /// Serializes the object.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.code.len() + 1024);
        put(&mut bytes, self.symbols.len());
        for symbol in &self.symbols {
            put(&mut bytes, symbol.name.len());
            bytes.extend_from_slice(symbol.name.as_bytes());
            put(&mut bytes, symbol.parameters.len());
            bytes.extend(symbol.parameters.iter().map(|&kind| kind as u8));
            put(&mut bytes, symbol.offset);
        }
        put(&mut bytes, self.code.len());
        bytes.extend_from_slice(&self.code);
        bytes
    }

    /// Deserializes the output of [`Object::encode`]; `None` for anything else.
    pub fn decode(bytes: &[u8]) -> Option<Object> {
        let mut reader = Reader { rest: bytes };
        let mut object = Object::default();
        for _ in 0..reader.number()? {
            let length = reader.number()?;
            let name = String::from_utf8(reader.take(length)?.to_vec()).ok()?;
            let count = reader.number()?;
            let parameters = reader
                .take(count)?
                .iter()
                .map(|&byte| ParameterKind::ALL.get(usize::from(byte)).copied())
                .collect::<Option<Vec<_>>>()?;
            object.symbols.push(Symbol {
                name,
                parameters,
                offset: reader.number()?,
            });
        }
        let length = reader.number()?;
        object.code = reader.take(length)?.to_vec();
        let symbols_fit = object.symbols.iter().all(|s| s.offset < length);
        (symbols_fit && reader.rest.is_empty()).then_some(object)
    }
}

/// Appends a number as eight bytes.
fn put(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend_from_slice(&(number as u64).to_le_bytes());
}

struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<usize> {
        let bytes = self.take(size_of::<u64>())?.try_into().ok()?;
        usize::try_from(u64::from_le_bytes(bytes)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Object {
        Object {
            symbols: vec![
                Symbol {
                    name: "fill".to_owned(),
                    parameters: ParameterKind::ALL.to_vec(),
                    offset: 0,
                },
                Symbol {
                    name: "none".to_owned(),
                    parameters: vec![],
                    offset: 16,
                },
            ],
            code: (0..32).collect(),
        }
    }

    #[test]
    fn encoding_round_trips() {
        assert_eq!(Object::decode(&example().encode()), Some(example()));
    }

    #[test]
    fn truncated_bytes_are_rejected() {
        let bytes = example().encode();
        for length in 0..bytes.len() {
            assert_eq!(Object::decode(&bytes[..length]), None, "{length} bytes");
        }
        assert_eq!(Object::decode(&[&bytes[..], &[0]].concat()), None);
    }

    #[test]
    fn a_symbol_outside_the_code_is_rejected() {
        let mut wrong = example();
        wrong.symbols[1].offset = 32;
        assert_eq!(Object::decode(&wrong.encode()), None);
    }

    #[test]
    fn code_is_padded_to_its_alignment() {
        let mut object = example();
        object.code.push(1);
        object.align(1);
        assert_eq!(object.code.len(), 48);
        object.align(64);
        assert_eq!(object.code.len(), 64);
    }
}
