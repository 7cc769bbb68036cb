//! Judged times for a person with a browser: one file that needs no other.
//!
//! The page is bounded, however many benchmarks there are: so many rows and so many
//! drawings, those first that need a look. What is left out is told.

mod drawing;
mod sections;

use preheat_analyze::classify::ClassifyReport;

use super::{ClassifySketch, words};
use crate::html::frame::Frame;
use crate::html::page::Page;

/// Rules beside those of every page.
const STYLE: &str = include_str!("style.css");

/// The report as one self-contained HTML file. There is a sketch for each benchmark, as far
/// as they were kept.
pub fn classify_html(report: &ClassifyReport, sketches: &[Option<ClassifySketch>]) -> String {
    let mut page = Page::new(report);
    sections::table(&mut page);
    drawing::add(&mut page, sketches);
    sections::unread(&mut page);
    sections::notes(&mut page);
    sections::method(&mut page);
    Frame {
        title: format!("preheat classify: {}", words::headline(report)),
        style: STYLE,
        header: sections::header(report),
        body: page.finish(),
        version: &report.preheat,
        ..Frame::default()
    }
    .html()
}
