//! The styles of text on a terminal, and ASCII replacements for Unicode characters.

use preheat_model::lab::Verdict;

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
pub(super) const RESET: &str = "\u{1b}[0m";

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
pub(super) fn ascii(c: char) -> char {
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
