//! Renders a comparison as one self-contained HTML file.
//!
//! Text, tables and most drawings are static. The two timelines are interactive: their data
//! is in the page as JSON (`data`), and a script draws them with the functions of the run
//! page. Without JavaScript the page shows a static picture.
//!
//! `field` plots differences around zero, `rows` is the table of quantities with these
//! plots; each file in `sections` is one part of the page.

mod data;
mod field;
mod rows;
mod sections;

use preheat_model::compare::{CompareKind, CompareReport, Verdict};
use preheat_model::run::RunView;

use crate::html::PROGRAM_STYLE;
use crate::html::frame::Frame;
use crate::html::look;
use crate::html::moving::script;
use crate::html::page::Page;
use crate::terminal::clean;

/// Style rules in addition to those of all program pages.
const STYLE: &str = include_str!("style.css");
/// The script that draws the timelines.
const CHARTS: &str = include_str!("script/timelines.js");

/// The page under construction.
type ComparePage<'a> = Page<'a, CompareReport>;

/// Renders the comparison as one self-contained HTML file. The views hold the timelines of
/// the two sides; a JSON document has none.
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
    sections::notes::add_method(&mut page);
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

/// The CSS class that gives a verdict its color.
fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "holds",
        Verdict::Slower => "fails",
        Verdict::Same => "unknown",
        Verdict::Inconclusive => "open",
    }
}

/// The symbol shown with a verdict, so that it does not rely on color alone.
fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "▼",
        Verdict::Slower => "▲",
        Verdict::Same => "=",
        Verdict::Inconclusive => "?",
    }
}
