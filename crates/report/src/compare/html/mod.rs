//! A comparison for a person with a browser: one file that needs no other.
//!
//! Text, tables and most drawings are in the page as they are. One drawing moves, the
//! two time lines: their data is in the page as JSON (`data`), and a script of our own
//! draws them with the tools of the page of a run. Without it there is a still picture.
//!
//! `field` places differences around a line at zero, `rows` is the table of quantities
//! with these; each file in `sections` is one part of the page.

mod data;
mod field;
mod rows;
mod sections;

use preheat_analyze::compare::{CompareKind, CompareReport, Verdict};
use preheat_analyze::run::RunView;

use crate::html::PROGRAM_STYLE;
use crate::html::frame::Frame;
use crate::html::look;
use crate::html::moving::script;
use crate::html::page::Page;
use crate::terminal::clean;

/// Rules beside those of every page about programs.
const STYLE: &str = include_str!("style.css");
/// What its drawing shows.
const CHARTS: &str = include_str!("script/timelines.js");

/// The page while it grows.
type ComparePage<'a> = Page<'a, CompareReport>;

/// The comparison as one self-contained HTML file. The views are the time lines of the
/// two; a document alone has none.
pub fn compare_html(
    report: &CompareReport,
    base: Option<&RunView>,
    new: Option<&RunView>,
) -> String {
    let mut page = Page::new(report);
    let views = [base, new].map(|view| view.filter(|view| !view.path.is_empty()));
    match report.kind {
        CompareKind::Lab => sections::lab::add(&mut page),
        CompareKind::Runs => {
            sections::quantities::add(&mut page);
            sections::timelines::add(&mut page, views);
            sections::causes::add(&mut page);
            sections::starts::add(&mut page);
        }
    }
    sections::notes::add(&mut page);
    sections::method::add(&mut page);
    let moving = views.iter().any(Option::is_some) && report.kind == CompareKind::Runs;
    let (data, script) = match moving {
        true => (data::block(report, views), script(CHARTS)),
        false => (String::new(), String::new()),
    };
    Frame {
        title: format!("preheat compare: {}", clean(&report.headline.text)),
        style: &format!("{PROGRAM_STYLE}{STYLE}{}", look::rules()),
        header: format!("{}{}", look::patterns(), sections::header::html(report)),
        body: format!("{}{data}", page.finish()),
        script: &script,
        version: &report.preheat,
    }
    .html()
}

/// The class that gives a verdict its colour.
fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "holds",
        Verdict::Slower => "fails",
        Verdict::Same => "unknown",
        Verdict::Inconclusive => "open",
    }
}

/// A sign beside its word, so that colours are not needed.
fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "▼",
        Verdict::Slower => "▲",
        Verdict::Same => "=",
        Verdict::Inconclusive => "?",
    }
}
