//! The tools that all terminal reports share.
//!
//! No line is wider than the terminal, and color and Unicode carry no information that the text
//! does not: every report is written to a [`Screen`], which enforces that.

pub(crate) mod cells;
mod screen;
pub(crate) mod table;
pub(crate) mod text;

pub(crate) use screen::{Line, Screen};
pub use text::hanging;
pub(crate) use text::{clean, fit, pad, width};

use preheat_model::lab::Verdict;

/// The properties of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// The width in columns.
    pub width: usize,
    /// True if ANSI color escapes are supported.
    pub color: bool,
    /// True if characters beyond ASCII are supported.
    pub unicode: bool,
}

/// The `facts` that are not empty, on one line.
pub(crate) fn joined(facts: &[String]) -> String {
    let known = facts.iter().filter(|fact| !fact.trim().is_empty());
    known.map(String::as_str).collect::<Vec<_>>().join(" · ")
}

/// The style of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
    Green,
    Red,
    Yellow,
}

impl Style {
    /// The escape sequence that starts the style; none for plain text.
    pub fn escape(self) -> Option<&'static str> {
        match self {
            Style::Plain => None,
            Style::Bold => Some("\u{1b}[1m"),
            Style::Dim => Some("\u{1b}[2m"),
            Style::Green => Some("\u{1b}[32m"),
            Style::Red => Some("\u{1b}[31m"),
            Style::Yellow => Some("\u{1b}[33m"),
        }
    }
}

/// The escape sequence that ends every style.
const RESET: &str = "\u{1b}[0m";

/// The style of a verdict.
pub(crate) fn of_verdict(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Holds => Style::Green,
        Verdict::DoesNotHold => Style::Red,
        Verdict::Depends | Verdict::Inconclusive => Style::Yellow,
        Verdict::NotMeasurable => Style::Dim,
    }
}

/// The nearest ASCII character. Always a single one, so that widths do not change.
fn ascii(c: char) -> char {
    match c {
        ' '..='~' => c,
        '×' | '✗' => 'x',
        '✓' => '+',
        'µ' | 'μ' => 'u',
        '–' | '—' | '−' | '·' => '-',
        '÷' => '/',
        '…' => '.',
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        '•' => '*',
        '█' | '▐' | '▏' | '▎' | '▍' | '▌' | '▋' | '▊' | '▉' => '#',
        '→' => '>',
        '│' => '|',
        '±' => '~',
        '\u{a0}' | '\u{202f}' => ' ',
        _ => '?',
    }
}
