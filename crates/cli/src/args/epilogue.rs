//! The text below the flags of a help, as data: examples, notes and exit codes.

use preheat_report::text_width;

/// The narrowest second column of a table; below that, it begins on a separate line.
const MIN_SECOND_COLUMN: usize = 24;
/// The widest first column with a second one beside it; that of a wider one begins on the next
/// line.
const MAX_FIRST_COLUMN: usize = 52;
/// The indent of a table.
const INDENT: &str = "  ";
/// The space between the columns of a table.
const GAP: usize = 3;
/// The indent of a second column that begins on a separate line of a narrow terminal.
const NARROW_INDENT: usize = 6;

/// A row of a table, or an example with its purpose; the second column may be empty.
pub type Row = (&'static str, &'static str);

/// The text below the flags of a command.
#[derive(Debug)]
pub struct Epilogue {
    pub examples: &'static [Row],
    pub notes: &'static [Note],
    /// The exit codes as a sentence; empty where they are the usual ones.
    pub exit_codes: &'static str,
}

/// A part of the notes.
#[derive(Debug)]
pub enum Note {
    Paragraph(&'static str),
    Numbered(&'static [&'static str]),
    Table(&'static [Row]),
}

impl Epilogue {
    /// The text below the flags of a help of this width.
    pub fn help(&self, width: usize) -> String {
        let examples = format!("Examples:\n{}", self.examples(width));
        let exit_codes = match self.exit_codes {
            "" => String::new(),
            codes => wrapped(&format!("Exit codes: {codes}"), width),
        };
        let parts = [examples, self.notes(width), exit_codes];
        let parts: Vec<&str> = (parts.iter())
            .map(|part| part.trim_end())
            .filter(|part| !part.is_empty())
            .collect();
        parts.join("\n\n")
    }

    /// The examples, with a line end after each.
    pub fn examples(&self, width: usize) -> String {
        let mut text = String::new();
        table(self.examples, width, &mut text);
        text
    }

    /// The exit codes; empty where they are the usual ones.
    pub fn exit_status(&self, width: usize) -> String {
        match self.exit_codes {
            "" => String::new(),
            codes => wrapped(codes, width),
        }
    }

    /// The notes, with a line end after each.
    pub fn notes(&self, width: usize) -> String {
        let mut text = String::new();
        for note in self.notes {
            match note {
                Note::Paragraph(words) => text.push_str(&wrapped(words, width)),
                Note::Table(rows) => table(rows, width, &mut text),
                Note::Numbered(items) => {
                    for (at, words) in items.iter().enumerate() {
                        let number = format!("{INDENT}{}. ", at + 1);
                        row(&number, text_width(&number), words, width, &mut text);
                    }
                }
            }
        }
        text
    }
}

fn wrapped(paragraph: &str, width: usize) -> String {
    let mut text = String::new();
    row("", 0, paragraph, width, &mut text);
    text
}

/// The rows of a table, with the second column aligned.
fn table(rows: &[Row], width: usize, text: &mut String) {
    let beside = (rows.iter())
        .filter(|(_, second)| !second.is_empty())
        .map(|(first, _)| text_width(first))
        .filter(|first| *first <= MAX_FIRST_COLUMN);
    let column = INDENT.len() + beside.max().unwrap_or(0) + GAP;
    for (first, second) in rows {
        row(&format!("{INDENT}{first}"), column, second, width, text);
    }
}

/// A first column, and words from `column` on, wrapped there.
fn row(first: &str, column: usize, words: &str, width: usize, text: &mut String) {
    let narrow = !first.is_empty() && column + MIN_SECOND_COLUMN > width;
    let indent = " ".repeat(if narrow { NARROW_INDENT } else { column });
    let mut line = first.to_owned();
    let has_space = text_width(first) < column || first.is_empty() || first.ends_with(' ');
    if !words.is_empty() && (narrow || !has_space) {
        text.push_str(&line);
        text.push('\n');
        line.clear();
    }
    line.push_str(indent.get(text_width(&line)..).unwrap_or_default());
    let mut begins = true;
    for word in words.split_whitespace() {
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

#[cfg(test)]
mod tests {
    use super::*;

    const EPILOGUE: Epilogue = Epilogue {
        examples: &[
            ("tool run -- program", ""),
            (
                "tool --measure -- program",
                "measures each of them, interleaved",
            ),
            (
                "for i in 1 2 3 4 5 6 7 8 9; do program -v; done | tool",
                "nine starts",
            ),
        ],
        notes: &[
            Note::Paragraph("How: one of these, of which the first is usual."),
            Note::Numbered(&["the first of them that finds something"]),
            Note::Table(&[("auto", "the first"), ("a:LONG:NAME", "calls")]),
        ],
        exit_codes: "0 done, 2 wrong usage.",
    };

    #[test]
    fn columns_are_aligned_and_long_commands_have_a_line_of_their_own() {
        assert_eq!(
            EPILOGUE.help(100),
            "Examples:
  tool run -- program
  tool --measure -- program   measures each of them, interleaved
  for i in 1 2 3 4 5 6 7 8 9; do program -v; done | tool
                              nine starts

How: one of these, of which the first is usual.
  1. the first of them that finds something
  auto          the first
  a:LONG:NAME   calls

Exit codes: 0 done, 2 wrong usage."
        );
    }

    #[test]
    fn wrapped_lines_keep_the_indent_of_their_column() {
        assert_eq!(
            EPILOGUE.examples(54),
            "  tool run -- program
  tool --measure -- program   measures each of them,
                              interleaved
  for i in 1 2 3 4 5 6 7 8 9; do program -v; done | tool
                              nine starts
"
        );
        assert_eq!(
            EPILOGUE.notes(40),
            "How: one of these, of which the first is
usual.
  1. the first of them that finds
     something
  auto          the first
  a:LONG:NAME   calls
"
        );
        let (mut narrow, rows) = (String::new(), &EPILOGUE.examples[1..2]);
        table(rows, 40, &mut narrow);
        assert_eq!(
            narrow,
            "  tool --measure -- program\n      measures each of them, interleaved\n"
        );
    }
}
