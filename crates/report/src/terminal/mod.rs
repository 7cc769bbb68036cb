//! The tools that all terminal reports share.
//!
//! No line is wider than the terminal, and color and Unicode carry no information that the text
//! does not: every report is written to a [`Screen`], which enforces that.

pub(crate) mod cells;
pub(crate) mod screen;
pub(crate) mod style;
pub(crate) mod text;

pub(crate) use screen::Screen;
pub(crate) use style::Style;
pub use text::hanging;
pub(crate) use text::{clean, fit, pad, width};

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
