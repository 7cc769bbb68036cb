//! The tools that all HTML pages share.
//!
//! A page loads nothing and runs nothing from the report: it has text, tables and drawings,
//! and a style sheet for light mode, dark mode, phones and printing. `page` is the document
//! with its content security policy, and its sections.
//!
//! `maud` escapes all text: a function returns `Markup` and takes plain text. Only the modules
//! here may declare text to be markup, with `PreEscaped`: style sheets, scripts and JSON.
//!
//! `svg`, `scale`, `plot` and `bands` draw, `moving` has the interactive charts; `figure` adds a
//! caption and the data to a drawing; `cause_style` and `bands` show causes in the same colors
//! everywhere.

pub(crate) mod bands;
pub(crate) mod cause_style;
pub(crate) mod figure;
pub(crate) mod markup;
pub(crate) mod moving;
pub(crate) mod page;
pub(crate) mod plot;
pub(crate) mod scale;
pub(crate) mod svg;

/// Style rules shared by the pages about programs.
pub(crate) const PROGRAM_STYLE: &str = include_str!("program.css");
