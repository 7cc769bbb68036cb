//! Renders a lab report as one self-contained HTML file; each file in `sections` is one part
//! of the page.

mod sections;

use preheat_model::lab::LabReport;

use super::headline::headline;
use super::overview::overview;
use crate::html::frame::Frame;
use crate::html::page;

/// The page of a lab report under construction.
type Page<'a> = page::Page<'a, LabReport>;

/// Renders the report as one self-contained HTML file.
pub fn lab_html(report: &LabReport) -> String {
    let subjects = overview(report);
    let mut page = Page::new(report);
    sections::first_steady::add(&mut page, &subjects);
    sections::claims::add(&mut page);
    sections::iterations::add(&mut page, &subjects);
    sections::stages::add(&mut page);
    sections::allocation::add(&mut page);
    sections::transfer::add(&mut page);
    sections::memory::add(&mut page);
    sections::gaps::add(&mut page, &subjects);
    sections::gaps::add_method(&mut page);
    Frame {
        title: format!("preheat lab: {}", report.device.name),
        header: sections::header::html(report, &headline(report)),
        body: page.finish(),
        version: &report.preheat,
        ..Frame::default()
    }
    .html()
}
