//! Renders a lab report as one self-contained HTML file, and holds the tools that all pages
//! share.
//!
//! A page loads nothing and runs nothing from the report: it has text, tables and drawings,
//! and a style sheet for light mode, dark mode, phones and printing. `frame` is the document
//! with its content security policy.
//!
//! `svg`, `scale`, `plot`, `series` and `bands` draw; `figure` adds a caption and the data to
//! a drawing; each file in `sections` is one part of the lab page.

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
mod sections;
pub(crate) mod series;
pub(crate) mod stack;
pub(crate) mod svg;

use preheat_model::lab::LabReport;

use crate::headline::headline;
use crate::overview::overview;
use frame::Frame;
use page::Page;

/// Style rules shared by the pages about programs.
pub(crate) const PROGRAM_STYLE: &str = include_str!("program.css");

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
