//! The text below the flags of a help: paragraphs, and tables of two columns.

use preheat_report::text_width;

/// The narrowest second column of a table; below that, it begins on a separate line.
const MIN_SECOND_COLUMN: usize = 24;
/// The indent of a second column that begins on a separate line.
const INDENT: usize = 6;

/// A line before it is wrapped, or the lines of a paragraph together.
#[derive(Default)]
struct Item {
    /// The first column of a table, with its indent.
    first: String,
    /// The column at which the rest begins, also after it is wrapped.
    column: usize,
    rest: String,
}

impl Item {
    /// The row of a table: `  FIRST   REST`.
    fn row(line: &str, indent: usize) -> Item {
        let gap = line[indent..].find("  ").map(|at| indent + at);
        let at = gap.unwrap_or(line.len());
        let rest = line[at..].trim_start();
        Item {
            first: line[..at].to_owned(),
            column: text_width(line).saturating_sub(text_width(rest)),
            rest: rest.to_owned(),
        }
    }

    fn is_paragraph(&self) -> bool {
        self.first.is_empty() && !self.rest.is_empty()
    }

    fn write(&self, width: usize, text: &mut String) {
        let narrow = !self.first.is_empty() && self.column + MIN_SECOND_COLUMN > width;
        let indent = " ".repeat(if narrow { INDENT } else { self.column });
        let mut line = self.first.clone();
        if !self.rest.is_empty() && line.len() >= indent.len() && !line.is_empty() {
            text.push_str(&line);
            text.push('\n');
            line.clear();
        }
        line.push_str(indent.get(text_width(&line)..).unwrap_or_default());
        let mut begins = true;
        for word in self.rest.split_whitespace() {
            if !begins && text_width(&line) + 1 + text_width(word) > width {
                text.push_str(&line);
                text.push('\n');
                line.clone_from(&indent);
                begins = true;
            }
            if !begins {
                line.push(' ');
            }
            line.push_str(word);
            begins = false;
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// Wraps the text to this width. Lines without an indent are a paragraph, and lines with more
/// than two spaces continue the row above.
pub fn wrap(text: &str, width: usize) -> String {
    let mut items: Vec<Item> = Vec::new();
    for line in text.lines() {
        let rest = line.trim_start();
        let indent = line.len() - rest.len();
        match items.last_mut() {
            Some(last) if last.is_paragraph() && indent == 0 && !rest.is_empty() => {
                last.rest.push(' ');
                last.rest.push_str(rest);
            }
            Some(last) if !last.first.is_empty() && indent > 2 => {
                if last.rest.is_empty() {
                    last.column = indent;
                } else {
                    last.rest.push(' ');
                }
                last.rest.push_str(rest);
            }
            _ if indent == 0 => items.push(Item {
                rest: rest.to_owned(),
                ..Item::default()
            }),
            _ => items.push(Item::row(line, indent)),
        }
    }
    let mut wrapped = String::new();
    for item in &items {
        item.write(width, &mut wrapped);
    }
    wrapped.truncate(wrapped.trim_end().len());
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Examples:
  tool run -- program
  tool --measure -- program   measures each of them, interleaved
  for i in 1 2 3; do program; done | tool
                              three starts

How: one of these, of which the first
is usual.
  auto      the first that finds
            something
  a:LONG:NAME  calls";

    #[test]
    fn a_wide_terminal_changes_only_the_lines_of_paragraphs() {
        let joined = TEXT.replace("first\nis usual", "first is usual");
        let joined = joined.replace("finds\n            something", "finds something");
        assert_eq!(wrap(TEXT, 100), joined);
    }

    #[test]
    fn second_columns_keep_their_indent() {
        assert_eq!(
            wrap(TEXT, 54),
            "Examples:
  tool run -- program
  tool --measure -- program   measures each of them,
                              interleaved
  for i in 1 2 3; do program; done | tool
                              three starts

How: one of these, of which the first is usual.
  auto      the first that finds something
  a:LONG:NAME  calls"
        );
        assert_eq!(
            wrap("  tool --measure -- program   measures each", 40),
            "  tool --measure -- program\n      measures each"
        );
    }
}
