//! Remedies that were tried, for a person with a browser: one file that needs no other,
//! and no script.
//!
//! `kinds` draws the starts of each kind with where their time went, `sections` has the rest.

mod kinds;
mod sections;

use preheat_analyze::tried::TriedReport;

use crate::html::PROGRAM_STYLE;
use crate::html::command::command_line;
use crate::html::cut::cut;
use crate::html::frame::Frame;
use crate::html::look;
use crate::html::page::Page;
use crate::terminal::clean;

/// Rules beside those of every page about programs.
const STYLE: &str = include_str!("style.css");

/// The page while it grows.
type TriedPage<'a> = Page<'a, TriedReport>;

/// What was tried as one self-contained HTML file.
pub fn tried_html(report: &TriedReport) -> String {
    let mut page = Page::new(report);
    kinds::add(&mut page);
    sections::remedies(&mut page);
    sections::notes(&mut page);
    sections::method(&mut page);
    let command = cut(&clean(&command_line(&report.command)), 120);
    Frame {
        title: format!("preheat start: {command}"),
        style: &format!("{PROGRAM_STYLE}{STYLE}{}", look::rules()),
        header: format!("{}{}", look::patterns(), sections::header(report)),
        body: page.finish(),
        script: "",
        version: &report.preheat,
    }
    .html()
}
