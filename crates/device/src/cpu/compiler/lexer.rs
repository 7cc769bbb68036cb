//! Splits kernel source into tokens with positions.
//!
//! The lexer only knows spelling: keywords and the syntax of numbers. Grammar is the
//! parser's job.

use std::fmt;

use super::SourceError;

/// A position in the source; line and column count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub line: u32,
    pub column: u32,
}

/// Reserved words.
///
/// `KERNEL`, `GLOBAL` and `GLOBAL_ID` are macros on the other devices; here they are part
/// of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyword {
    Kernel,
    Global,
    GlobalId,
    Void,
    Const,
    Int,
    Float,
    For,
    If,
    Else,
}

impl Keyword {
    const ALL: [(Keyword, &'static str); 10] = [
        (Keyword::Kernel, "KERNEL"),
        (Keyword::Global, "GLOBAL"),
        (Keyword::GlobalId, "GLOBAL_ID"),
        (Keyword::Void, "void"),
        (Keyword::Const, "const"),
        (Keyword::Int, "int"),
        (Keyword::Float, "float"),
        (Keyword::For, "for"),
        (Keyword::If, "if"),
        (Keyword::Else, "else"),
    ];

    fn from_word(word: &str) -> Option<Keyword> {
        Keyword::ALL
            .into_iter()
            .find_map(|(keyword, spelling)| (spelling == word).then_some(keyword))
    }

    fn spelling(self) -> &'static str {
        Keyword::ALL
            .into_iter()
            .find_map(|(keyword, spelling)| (keyword == self).then_some(spelling))
            .unwrap_or("a keyword")
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TokenKind<'s> {
    Keyword(Keyword),
    Name(&'s str),
    Int(i32),
    Float(f32),
    /// An operator or bracket, as written.
    Symbol(&'static str),
    End,
}

impl fmt::Display for TokenKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenKind::Keyword(keyword) => write!(f, "`{}`", keyword.spelling()),
            TokenKind::Name(name) => write!(f, "`{name}`"),
            TokenKind::Int(value) => write!(f, "the number {value}"),
            TokenKind::Float(value) => write!(f, "the number {value:?}f"),
            TokenKind::Symbol(symbol) => write!(f, "`{symbol}`"),
            TokenKind::End => write!(f, "the end of the source"),
        }
    }
}

/// A token and its position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Token<'s> {
    pub kind: TokenKind<'s>,
    pub at: Position,
}

/// Longer symbols come before their prefixes.
const SYMBOLS: [&str; 20] = [
    "==", "!=", "<=", ">=", "(", ")", "{", "}", "[", "]", ",", ";", "=", "<", ">", "+", "-", "*",
    "/", "%",
];

/// All tokens of `source`, the last one [`TokenKind::End`].
pub(crate) fn tokens(source: &str) -> Result<Vec<Token<'_>>, SourceError> {
    let mut lexer = Lexer {
        rest: source,
        at: Position { line: 1, column: 1 },
    };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let at = lexer.at;
        let kind = lexer.token()?;
        tokens.push(Token { kind, at });
        if kind == TokenKind::End {
            return Ok(tokens);
        }
    }
}

struct Lexer<'s> {
    rest: &'s str,
    at: Position,
}

impl<'s> Lexer<'s> {
    /// Advances by `bytes`, which must end at a character boundary.
    fn take(&mut self, bytes: usize) -> &'s str {
        let (taken, rest) = self.rest.split_at(bytes);
        for character in taken.chars() {
            if character == '\n' {
                self.at.line += 1;
                self.at.column = 1;
            } else {
                self.at.column += 1;
            }
        }
        self.rest = rest;
        taken
    }

    /// Advances over all characters that satisfy `wanted`.
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'s str {
        let bytes = self
            .rest
            .find(|character| !wanted(character))
            .unwrap_or(self.rest.len());
        self.take(bytes)
    }

    fn skip_blanks(&mut self) -> Result<(), SourceError> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("//") {
                self.take_while(|character| character != '\n');
            } else if self.rest.starts_with("/*") {
                let at = self.at;
                let end = self.rest.find("*/").ok_or_else(|| {
                    SourceError::new(at, "this comment is never closed; end it with `*/`")
                })?;
                self.take(end + "*/".len());
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<TokenKind<'s>, SourceError> {
        let Some(first) = self.rest.chars().next() else {
            return Ok(TokenKind::End);
        };
        if first.is_ascii_alphabetic() || first == '_' {
            let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
            return Ok(Keyword::from_word(word).map_or(TokenKind::Name(word), TokenKind::Keyword));
        }
        if first.is_ascii_digit() {
            return self.number();
        }
        let symbol = SYMBOLS
            .into_iter()
            .find(|symbol| self.rest.starts_with(symbol))
            .ok_or_else(|| {
                SourceError::new(self.at, format!("`{first}` is not part of this language"))
            })?;
        self.take(symbol.len());
        Ok(TokenKind::Symbol(symbol))
    }

    /// Lexes an `int`, or a `float` with its `f` suffix. Without the suffix the number
    /// would be a double, and the other devices would compute with higher precision.
    fn number(&mut self) -> Result<TokenKind<'s>, SourceError> {
        let at = self.at;
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '.');
        let wrong = |why: &str| Err(SourceError::new(at, format!("`{word}` {why}")));
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            if word.len() > 1 && word.starts_with('0') {
                return wrong("begins with 0, which means octal in C; leave the 0 out");
            }
            return match word.parse() {
                Ok(value) => Ok(TokenKind::Int(value)),
                Err(_) => wrong("does not fit an int"),
            };
        }
        match word.strip_suffix('f').map(str::parse::<f32>) {
            Some(Ok(value)) if value.is_finite() && word.contains('.') => {
                Ok(TokenKind::Float(value))
            }
            _ => wrong("is not a number here; write an int as 12 and a float as 0.5f"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<TokenKind<'_>> {
        tokens(source)
            .expect("it has tokens")
            .into_iter()
            .map(|token| token.kind)
            .collect()
    }

    #[test]
    fn words_numbers_and_symbols() {
        assert_eq!(
            kinds("GLOBAL float *y1 /* no\n */ <= 12 0.5f // end"),
            [
                TokenKind::Keyword(Keyword::Global),
                TokenKind::Keyword(Keyword::Float),
                TokenKind::Symbol("*"),
                TokenKind::Name("y1"),
                TokenKind::Symbol("<="),
                TokenKind::Int(12),
                TokenKind::Float(0.5),
                TokenKind::End,
            ]
        );
    }

    #[test]
    fn positions_count_lines_and_characters() {
        let tokens = tokens("a\n  b /* \u{e4} */ c").expect("three names");
        let places: Vec<(u32, u32)> = tokens.iter().map(|t| (t.at.line, t.at.column)).collect();
        assert_eq!(places, [(1, 1), (2, 3), (2, 13), (2, 14)]);
    }

    #[test]
    fn invalid_tokens_are_rejected_at_their_position() {
        for (source, at, what) in [
            ("a\n $", (2, 2), "`$`"),
            ("2147483648", (1, 1), "does not fit an int"),
            ("1.0", (1, 1), "0.5f"),
            ("1f", (1, 1), "0.5f"),
            ("017", (1, 1), "octal"),
            ("1.0f.0f", (1, 1), "0.5f"),
            ("x /* y", (1, 3), "never closed"),
        ] {
            let error = tokens(source).expect_err("it is wrong");
            assert_eq!((error.at.line, error.at.column), at, "{source}");
            assert!(error.what.contains(what), "{source}: {}", error.what);
        }
    }
}
