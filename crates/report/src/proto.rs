//! A minimal Protocol Buffers encoder: numbers, strings and nested messages. That is all that
//! traces and spans need; prost would generate code for the whole schemas of both.

/// A message under construction.
#[derive(Default)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

/// The wire type of a varint.
const VARINT: u64 = 0;
/// The wire type of eight bytes.
const FIXED: u64 = 1;
/// The wire type of a length-prefixed field.
const LENGTH: u64 = 2;

impl Message {
    /// Removes all fields, but keeps the allocated memory.
    pub fn clear(&mut self) -> &mut Message {
        self.bytes.clear();
        self
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds a number; negative numbers as two's complement.
    pub fn number(&mut self, field: u64, value: u64) -> &mut Message {
        self.varint(field << 3 | VARINT);
        self.varint(value);
        self
    }

    /// Adds a number of the type `fixed64`.
    pub fn fixed(&mut self, field: u64, value: u64) -> &mut Message {
        self.varint(field << 3 | FIXED);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub fn double(&mut self, field: u64, value: f64) -> &mut Message {
        self.fixed(field, value.to_bits())
    }

    pub fn data(&mut self, field: u64, bytes: &[u8]) -> &mut Message {
        self.field(field, bytes);
        self
    }

    pub fn text(&mut self, field: u64, text: &str) -> &mut Message {
        self.field(field, text.as_bytes());
        self
    }

    pub fn message(&mut self, field: u64, message: &Message) -> &mut Message {
        self.field(field, &message.bytes);
        self
    }

    fn field(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | LENGTH);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Seven bits per byte, lowest first; the eighth bit marks a continuation.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_the_specification_shows_them() {
        // The examples of the specification: field 1 with 150, field 2 with "testing", field 3
        // with the first message.
        let mut inner = Message::default();
        inner.number(1, 150);
        assert_eq!(inner.bytes(), [0x08, 0x96, 0x01]);
        let mut message = Message::default();
        message.text(2, "testing").message(3, &inner);
        assert_eq!(
            message.bytes(),
            b"\x12\x07testing\x1a\x03\x08\x96\x01".as_slice()
        );
        assert!(message.clear().is_empty());
    }

    #[test]
    fn fixed_numbers_take_eight_bytes() {
        let mut message = Message::default();
        message.fixed(1, 258).double(4, 1.0).data(2, &[7]);
        assert_eq!(message.bytes()[..9], [0x09, 2, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(message.bytes()[9..18], [0x21, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        assert_eq!(message.bytes()[18..], [0x12, 1, 7]);
    }

    #[test]
    fn large_fields_and_numbers_take_several_bytes() {
        let mut message = Message::default();
        message.number(60, u64::MAX);
        assert_eq!(message.bytes().len(), 2 + 10);
        assert_eq!(message.bytes()[..3], [0xe0, 0x03, 0xff]);
    }
}
