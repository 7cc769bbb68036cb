//! The report for a person with a browser: one file that needs no other.
//!
//! Nothing is loaded, nothing runs: text, tables and drawings, with a style sheet
//! for light, dark, phone and paper. The page forbids itself everything else (its
//! content security policy), so that a name in a report can never become a program.
//!
//! `svg`, `scale`, `plot` and `bands` draw; `figure` puts a drawing on the page
//! with its data; each file in `sections` is one part of the page.

mod bands;
mod downsample;
mod escape;
mod figure;
mod page;
mod plot;
mod scale;
mod sections;
mod svg;

use preheat_analyze::lab::LabReport;

use crate::headline::headline;
use crate::overview::overview;
use escape::escape;
use page::Page;

const STYLE: &str = include_str!("style.css");

/// The report as one self-contained HTML file.
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
    sections::method::add(&mut page);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{header}{body}\
         <footer>Written by preheat {version}. Times are in seconds and sizes in bytes in the \
         JSON document; here they are rounded to three digits.</footer>\n</body>\n</html>\n",
        title = escape(&format!("preheat lab: {}", report.device.name)),
        header = sections::header::html(report, &headline(report)),
        body = page.finish(),
        version = escape(&report.preheat),
    )
}
