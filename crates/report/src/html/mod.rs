//! The tools that all HTML pages share.
//!
//! A page loads nothing and runs nothing from the report: it has text, tables and drawings,
//! and a style sheet for light mode, dark mode, phones and printing. `frame` is the document
//! with its content security policy, `page` a list of sections under construction.
//!
//! `svg`, `scale`, `plot`, `series` and `bands` draw; `figure` adds a caption and the data to
//! a drawing; `look` and `stack` show causes in the same colors everywhere.

pub(crate) mod bands;
pub(crate) mod data;
pub(crate) mod escape;
pub(crate) mod figure;
pub(crate) mod frame;
pub(crate) mod look;
pub(crate) mod moving;
pub(crate) mod page;
pub(crate) mod plot;
pub(crate) mod scale;
pub(crate) mod series;
pub(crate) mod stack;
pub(crate) mod svg;

/// Style rules shared by the pages about programs.
pub(crate) const PROGRAM_STYLE: &str = include_str!("program.css");
