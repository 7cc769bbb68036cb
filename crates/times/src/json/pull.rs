//! A JSON pull parser with the features that files of times need.
//!
//! A caller states what it expects next and processes it; anything else is skipped. A
//! document of any size is therefore read with only the memory of what is used, every error
//! has line, column and path, and `NaN` (which Python writes, but JSON does not allow) gets
//! a specific message. serde_json stores whole values, and struson, which is a pull parser too,
//! calls itself experimental.

use crate::Result;
use crate::error::{Error, quoted};
use crate::source::Source;

/// The maximum length of a text that is used: names and units.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// The maximum number of digits in a number.
const MAX_NUMBER: usize = 512;
/// The maximum nesting of skipped values.
const MAX_DEPTH: usize = 128;

/// The type of the next value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    Number,
    Text,
    /// `true`, `false` or `null`.
    Word,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Object => "an object",
            Kind::Array => "a list",
            Kind::Number => "a number",
            Kind::Text => "a text",
            Kind::Word => "true, false or null",
        }
    }
}

/// One step into the document.
enum Step {
    Key(String),
    Index(usize),
}

/// A document being read.
pub(crate) struct Json<'a, 's> {
    source: &'a mut Source<'s>,
    path: Vec<Step>,
    /// The last number read, as written, and its position.
    pub digits: String,
    began: (u64, u64),
}

impl<'a, 's> Json<'a, 's> {
    pub fn new(source: &'a mut Source<'s>) -> Json<'a, 's> {
        Json {
            source,
            path: Vec::new(),
            digits: String::new(),
            began: (1, 1),
        }
    }

    /// An error at the current position.
    pub fn fail(&self, what: impl ToString) -> Error {
        self.source.fail(what).within(|| self.path())
    }

    /// An error at the last number read.
    pub fn fail_number(&self, what: impl ToString) -> Error {
        Error::at(self.began, what).within(|| self.path())
    }

    /// The path to the current value: `.benchmarks[0].runs[3]`.
    fn path(&self) -> String {
        let plain = |key: &str| {
            !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let step = |step: &Step| match step {
            Step::Key(key) if plain(key) => format!(".{key}"),
            Step::Key(key) => format!("[{}]", quoted(key.as_bytes())),
            Step::Index(at) => format!("[{at}]"),
        };
        self.path.iter().map(step).collect()
    }

    /// Peeks at the next byte that is not whitespace.
    fn peek(&mut self) -> Result<u8> {
        loop {
            match self.source.peek()? {
                Some(b' ' | b'\t' | b'\r' | b'\n') => {
                    self.source.next()?;
                }
                Some(byte) => return Ok(byte),
                None => return Err(self.fail("the file ends here: was it cut off?")),
            }
        }
    }

    /// The type of the next value.
    pub fn kind(&mut self) -> Result<Kind> {
        Ok(match self.peek()? {
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            b'"' => Kind::Text,
            b'-' if self.source.ahead(2)?.get(1) == Some(&b'I') => {
                return Err(self.invalid_value()?);
            }
            b'-' | b'0'..=b'9' => Kind::Number,
            b't' | b'f' | b'n' => Kind::Word,
            _ => return Err(self.invalid_value()?),
        })
    }

    /// The error for something that is not a value.
    fn invalid_value(&mut self) -> Result<Error> {
        let ahead = self.source.ahead(64)?;
        let end = |byte: &u8| byte.is_ascii_whitespace() || b",:[]{}\"".contains(byte);
        let length = ahead.iter().position(end).unwrap_or(ahead.len()).max(1);
        let word = ahead[..length].to_vec();
        Ok(self.fail(match &*word {
            b"NaN" | b"nan" | b"Infinity" | b"-Infinity" | b"inf" | b"Inf" => {
                format!("{} is not a time", String::from_utf8_lossy(&word))
            }
            _ => format!("{} is not a JSON value", quoted(&word)),
        }))
    }

    /// Checks the type of the next value.
    fn expected(&mut self, expected: Kind) -> Result<()> {
        match self.kind()? {
            kind if kind == expected => Ok(()),
            kind => Err(self.fail(format!(
                "{} is expected here, and this is {}",
                expected.name(),
                kind.name()
            ))),
        }
    }

    /// Reads an object key by key; `each` reads the value.
    pub fn object(&mut self, mut each: impl FnMut(&mut Self, &str) -> Result<()>) -> Result<()> {
        self.expected(Kind::Object)?;
        self.source.next()?;
        let mut first = true;
        while self.another(b'}', first)? {
            first = false;
            if self.peek()? != b'"' {
                return Err(self.fail("expected a key in quotation marks"));
            }
            let key = self.text()?;
            if self.peek()? != b':' {
                return Err(self.fail("expected a colon after the key"));
            }
            self.source.next()?;
            self.path.push(Step::Key(key.clone()));
            each(self, &key)?;
            self.path.pop();
        }
        Ok(())
    }

    /// Reads a list element by element; `each` reads the value.
    pub fn array(&mut self, mut each: impl FnMut(&mut Self, usize) -> Result<()>) -> Result<()> {
        self.expected(Kind::Array)?;
        self.source.next()?;
        let mut count = 0;
        while self.another(b']', count == 0)? {
            self.path.push(Step::Index(count));
            each(self, count)?;
            self.path.pop();
            count += 1;
        }
        Ok(())
    }

    /// Skips the separator between values; returns false at the end.
    fn another(&mut self, end: u8, first: bool) -> Result<bool> {
        let byte = self.peek()?;
        if byte == end {
            self.source.next()?;
            return Ok(false);
        }
        if first {
            return Ok(true);
        }
        if byte != b',' {
            let end = char::from(end);
            return Err(self.fail(format!("a comma or {end} is expected here")));
        }
        self.source.next()?;
        if self.peek()? == end {
            return Err(self.fail("expected a value after the comma"));
        }
        Ok(true)
    }

    /// Reads a number; `digits` keeps its spelling.
    pub fn number(&mut self) -> Result<f64> {
        self.expected(Kind::Number)?;
        self.digits.clear();
        self.began = self.source.position();
        while let Some(byte) = self.source.peek()? {
            if !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') {
                break;
            }
            if self.digits.len() == MAX_NUMBER {
                return Err(self.fail(format!("this number has more than {MAX_NUMBER} digits")));
            }
            self.digits.push(char::from(byte));
            self.source.next()?;
        }
        match self.digits.parse() {
            Ok(value) if is_json(self.digits.as_bytes()) => Ok(value),
            _ => Err(self.fail_number(format!(
                "{} is not a number",
                quoted(self.digits.as_bytes())
            ))),
        }
    }

    /// Reads a text.
    pub fn text(&mut self) -> Result<String> {
        self.expected(Kind::Text)?;
        let mut text = Vec::new();
        self.characters(&mut |byte| {
            text.push(byte);
            text.len() <= MAX_TEXT_BYTES
        })?;
        String::from_utf8(text).map_err(|_| self.fail("this text is not UTF-8"))
    }

    /// Passes the unescaped bytes of a text to `consume`, which returns whether it accepts
    /// more.
    fn characters(&mut self, consume: &mut dyn FnMut(u8) -> bool) -> Result<()> {
        self.source.next()?;
        loop {
            let more = match self.source.next()? {
                None => return Err(self.fail("the file ends within a text: is it truncated?")),
                Some(b'"') => return Ok(()),
                Some(b'\\') => {
                    let c = self.escape()?;
                    let mut bytes = [0; 4];
                    c.encode_utf8(&mut bytes).bytes().all(&mut *consume)
                }
                Some(byte @ ..0x20) => {
                    let what =
                        format!("a text must not contain a control character such as {byte:#04x}");
                    return Err(self.fail(what));
                }
                Some(byte) => consume(byte),
            };
            if !more {
                return Err(self.fail(format!("this text is longer than {MAX_TEXT_BYTES} bytes")));
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        Ok(match self.source.next()? {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'u') => {
                let unit = self.hexadecimal()?;
                let low = match unit {
                    0xd800..0xdc00 => low_half(self.source.ahead(6)?),
                    _ => None,
                };
                match low {
                    Some(low) => {
                        for _ in 0..6 {
                            self.source.next()?;
                        }
                        let both = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                        char::from_u32(both).unwrap_or(char::REPLACEMENT_CHARACTER)
                    }
                    // A lone surrogate, as in names that were truncated; what follows is
                    // read on its own.
                    None => char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER),
                }
            }
            _ => return Err(self.fail("unknown escape sequence")),
        })
    }

    fn hexadecimal(&mut self) -> Result<u32> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.source.next()?.map(char::from);
            let Some(digit) = digit.and_then(|c| c.to_digit(16)) else {
                return Err(self.fail("\\u needs four hexadecimal digits"));
            };
            value = value << 4 | digit;
        }
        Ok(value)
    }

    /// Skips a value of any type.
    pub fn skip(&mut self) -> Result<()> {
        self.skip_within(0)
    }

    fn skip_within(&mut self, depth: usize) -> Result<()> {
        if depth == MAX_DEPTH {
            return Err(self.fail(format!("this is nested more than {MAX_DEPTH} levels deep")));
        }
        match self.kind()? {
            Kind::Object => self.object(|json, _| json.skip_within(depth + 1)),
            Kind::Array => self.array(|json, _| json.skip_within(depth + 1)),
            Kind::Number => self.number().map(drop),
            Kind::Text => self.characters(&mut |_| true),
            Kind::Word => self.word().map(drop),
        }
    }

    /// Reads `true`, `false` or `null`.
    pub fn word(&mut self) -> Result<Option<bool>> {
        self.expected(Kind::Word)?;
        for (word, value) in [("true", Some(true)), ("false", Some(false)), ("null", None)] {
            let ahead = self.source.ahead(word.len() + 1)?;
            let whole = |byte: &u8| !byte.is_ascii_alphanumeric();
            if ahead.starts_with(word.as_bytes()) && ahead.get(word.len()).is_none_or(whole) {
                for _ in word.bytes() {
                    self.source.next()?;
                }
                return Ok(value);
            }
        }
        Err(self.invalid_value()?)
    }

    /// Checks that the document ends here.
    pub fn end(&mut self) -> Result<()> {
        while let Some(byte) = self.source.peek()? {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Err(self.fail("unexpected content after the end of the document"));
            }
            self.source.next()?;
        }
        Ok(())
    }
}

/// The low surrogate, if it comes next.
fn low_half(ahead: &[u8]) -> Option<u32> {
    let digits = ahead.strip_prefix(b"\\u")?.get(..4)?;
    digits
        .iter()
        .try_fold(0, |value, digit| {
            Some(value << 4 | char::from(*digit).to_digit(16)?)
        })
        .filter(|unit| (0xdc00..0xe000).contains(unit))
}

/// Returns true if the number is valid JSON: no leading zero or plus, digits around the
/// point.
fn is_json(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || (whole > 1 && text[0] == b'0') {
        return false;
    }
    let mut rest = &text[whole..];
    if let [b'.', fraction @ ..] = rest {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    match rest {
        [] => true,
        [b'e' | b'E', b'+' | b'-', power @ ..] | [b'e' | b'E', power @ ..] => {
            !power.is_empty() && digits(power) == power.len()
        }
        _ => false,
    }
}
