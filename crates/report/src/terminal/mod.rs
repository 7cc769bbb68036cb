//! The tools that all terminal reports share.
//!
//! No line is wider than the terminal, and color and Unicode carry no information that the text
//! does not: every report is written to a [`Screen`], a buffer of styled lines.
//! [`Screen::finish`] enforces the width, color and ASCII settings of the terminal for whatever
//! a caller put into a line.

pub(crate) mod cells;
mod column;
pub(crate) mod table;
pub(crate) mod text;

use preheat_model::lab::Verdict;

use text::wrap;

pub(crate) use text::{clean, fit, pad};
pub use text::{hanging, width};

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

/// The maximum width of prose; wider lines are hard to read.
const MAX_PROSE_WIDTH: usize = 120;

/// One line: pieces of text with their styles.
pub(crate) type Line = Vec<(Style, String)>;

/// The lines so far.
pub(crate) struct Screen {
    pub terminal: Terminal,
    lines: Vec<Line>,
}

impl Screen {
    pub fn new(terminal: &Terminal) -> Screen {
        Screen {
            terminal: *terminal,
            lines: Vec::new(),
        }
    }

    /// Adds an empty line, unless the previous line is empty or there is none.
    pub fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(Line::new());
        }
    }

    /// Adds a title after an empty line.
    pub fn title(&mut self, text: &str) {
        self.blank();
        self.lines.push(vec![(Style::Bold, text.to_owned())]);
    }

    /// Adds a line without wrapping it.
    pub fn line(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// Adds `text` after a lead, wrapped; later lines are indented by `indent`.
    pub fn paragraph(&mut self, lead: &[(Style, &str)], indent: usize, style: Style, text: &str) {
        let room = self.terminal.width.min(MAX_PROSE_WIDTH);
        let lead_width: usize = lead.iter().map(|(_, text)| width(text)).sum();
        if clean(text).is_empty() && lead_width == 0 {
            return;
        }
        let lines = wrap(
            text,
            room.saturating_sub(lead_width),
            room.saturating_sub(indent),
        );
        for (index, part) in lines.into_iter().enumerate() {
            let mut line: Line = match index {
                0 => lead
                    .iter()
                    .map(|(style, text)| (*style, (*text).to_owned()))
                    .collect(),
                _ => vec![(Style::Plain, " ".repeat(indent))],
            };
            line.push((style, part));
            self.lines.push(line);
        }
    }

    /// Renders all lines.
    pub fn finish(mut self) -> String {
        while self.lines.last().is_some_and(Vec::is_empty) {
            self.lines.pop();
        }
        let mut text = String::new();
        for line in &self.lines {
            self.write(line, &mut text);
            text.push('\n');
        }
        text
    }

    fn write(&self, line: &Line, text: &mut String) {
        let mut room = self.terminal.width;
        // Delay spaces until text follows, so that no line ends with spaces.
        let mut spaces = 0;
        for (style, piece) in line {
            let piece: String = piece
                .chars()
                .map(|c| if c.is_control() { ' ' } else { c })
                .map(|c| if self.terminal.unicode { c } else { ascii(c) })
                .collect();
            let shown = piece.trim_start_matches(' ');
            spaces += width(&piece) - width(shown);
            let trailing = width(shown) - width(shown.trim_end_matches(' '));
            let shown = shown.trim_end_matches(' ');
            if shown.is_empty() {
                spaces += trailing;
                continue;
            }
            room = room.saturating_sub(spaces);
            let cut = fit(shown, room);
            room = room.saturating_sub(width(&cut));
            if cut.is_empty() {
                return;
            }
            text.push_str(&" ".repeat(spaces));
            // Truncation adds an ellipsis, which may not be ASCII.
            let cut: String = match self.terminal.unicode {
                true => cut,
                false => cut.chars().map(ascii).collect(),
            };
            match style.escape().filter(|_| self.terminal.color) {
                Some(escape) => text.extend([escape, &cut, RESET]),
                None => text.push_str(&cut),
            }
            spaces = trailing;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(width: usize) -> Screen {
        Screen::new(&Terminal {
            width,
            color: false,
            unicode: true,
        })
    }

    #[test]
    fn paragraphs_are_indented_after_the_lead() {
        let mut screen = screen(16);
        screen.paragraph(
            &[(Style::Bold, "1 ✓ holds  ")],
            4,
            Style::Plain,
            "a claim of many words",
        );
        assert_eq!(
            screen.finish(),
            "1 ✓ holds  a\n    claim of\n    many words\n"
        );
    }

    #[test]
    fn lines_have_no_trailing_spaces_and_fit() {
        let mut screen = screen(10);
        screen.line(vec![
            (Style::Plain, "  abc   ".to_owned()),
            (Style::Plain, "  ".to_owned()),
            (Style::Bold, "".to_owned()),
        ]);
        screen.line(vec![
            (Style::Plain, "0123456".to_owned()),
            (Style::Dim, "789ab".to_owned()),
        ]);
        screen.blank();
        screen.blank();
        assert_eq!(screen.finish(), "  abc\n012345678…\n");
    }
}
