//! Renders a measurement of remedies as one self-contained HTML file without scripts.
//!
//! `variants` draws the starts of each configuration by cause; `sections` has the rest.

mod sections;
mod variants;

use preheat_model::tried::TriedReport;

use crate::html::PROGRAM_STYLE;
use crate::html::escape::command_line;
use crate::html::escape::cut;
use crate::html::frame::Frame;
use crate::html::look;
use crate::html::page::Page;
use crate::terminal::clean;

/// Style rules in addition to those of all program pages.
const STYLE: &str = include_str!("style.css");

/// The page under construction.
type TriedPage<'a> = Page<'a, TriedReport>;

/// Renders the measurement as one self-contained HTML file.
pub fn tried_html(report: &TriedReport) -> String {
    let mut page = Page::new(report);
    variants::add(&mut page);
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
