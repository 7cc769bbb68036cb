//! Renders classified times as one self-contained HTML file.
//!
//! The page is bounded, however many benchmarks there are: the numbers of rows and plots are
//! limited, the problematic benchmarks come first, and the page states what it omits.

mod drawing;
mod sections;

use preheat_model::classify::ClassifyReport;

use super::{ClassifySketch, words};
use crate::html::frame::Frame;
use crate::html::page::Page;

/// Style rules in addition to those of all pages.
const STYLE: &str = include_str!("style.css");

/// Renders the report as one self-contained HTML file. `sketches` has an entry per
/// benchmark; benchmarks without a sketch are not plotted.
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
