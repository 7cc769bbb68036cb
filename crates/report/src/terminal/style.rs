//! The few looks that text has on a terminal, and what stands for a sign where
//! there is only ASCII.

use preheat_analyze::lab::Verdict;

/// How a piece of text looks.
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
    /// The escape that begins it; none for plain text.
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

/// Ends every style.
pub(super) const RESET: &str = "\u{1b}[0m";

/// How a verdict looks.
pub(super) fn of_verdict(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Holds => Style::Green,
        Verdict::DoesNotHold => Style::Red,
        Verdict::Depends | Verdict::Inconclusive => Style::Yellow,
        Verdict::NotMeasurable => Style::Dim,
    }
}

/// The nearest ASCII character: one for one, so that no width changes.
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
