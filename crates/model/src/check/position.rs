//! Positions in a budget.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A position in a text; line and column count characters from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Place {
    /// The position of the byte `at`, or of the end if the text is shorter.
    pub fn of(text: &str, at: usize) -> Place {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// An error in a budget, with its position: `3:17: a message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// The position.
    pub place: Place,
    /// The message.
    pub what: String,
}

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { line, column } = self.place;
        write!(f, "{line}:{column}: {}", self.what)
    }
}

impl std::error::Error for Misplaced {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let text = "a\r\nµs = 1\n";
        for (at, line, column) in [(0, 1, 1), (3, 2, 1), (5, 2, 2), (4, 2, 1), (999, 3, 1)] {
            assert_eq!(Place::of(text, at), Place { line, column }, "byte {at}");
        }
    }
}
