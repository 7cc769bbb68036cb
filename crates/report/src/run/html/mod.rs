//! Renders the report of a run as one self-contained HTML file.
//!
//! Text, tables and most drawings are static. Three charts are interactive, the timeline
//! and two flame graphs: their data is in the page as JSON (`data`), and a script
//! (`charts.js` and its parts) draws them. Without JavaScript, the page shows static
//! pictures or tables instead.
//!
//! `look` defines the color and pattern of each cause, `stack` draws stacked bars,
//! `headline` is the first sentence; each file in `sections` is one part of the page.

mod data;
mod headline;
mod sections;

use preheat_model::run::{Cause, IterationsBy, RunReport, RunView, StartReport};

use crate::html::PROGRAM_STYLE;
use crate::html::escape::command_line;
use crate::html::frame::Frame;
use crate::html::look;
use crate::html::moving::script;
use crate::html::page::Page;
use crate::html::stack::in_order;

/// Style rules in addition to those of all pages.
const STYLE: &str = include_str!("style.css");
/// The script that draws the charts.
const CHARTS: &str = include_str!("script/charts.js");

/// The page under construction.
type RunPage<'a> = Page<'a, RunReport>;

/// Renders the report as one self-contained HTML file.
pub fn run_html(report: &RunReport, view: &RunView) -> String {
    let mut page = Page::new(report);
    sections::regions::add(&mut page);
    sections::causes::add(&mut page);
    sections::timeline::add(&mut page, view);
    sections::first::add(&mut page);
    sections::starts::add(&mut page);
    sections::flame::imports(&mut page, view);
    sections::flame::functions(&mut page, view);
    sections::memory::add(&mut page, view);
    sections::remedies::add(&mut page);
    sections::notes::add(&mut page);
    sections::notes::add_method(&mut page);
    Frame {
        title: format!("preheat run: {}", command_line(&report.command)),
        style: &format!("{PROGRAM_STYLE}{STYLE}{}", look::rules()),
        header: format!("{}{}", look::patterns(), sections::header::html(report)),
        body: format!("{}{}", page.finish(), data::block(view)),
        script: &script(CHARTS),
        version: &report.preheat,
    }
    .html()
}

/// The end of the time to first.
fn first_of(report: &RunReport) -> &'static str {
    match report.iterations_by {
        IterationsBy::None => "the end of the program",
        _ => "the end of the first iteration",
    }
}

/// The causes of a start with a nonzero time, in the usual order of startup.
fn parts(start: &StartReport) -> Vec<(Cause, f64)> {
    let causes = start.causes.iter().map(|part| (part.cause, part.seconds));
    in_order(causes)
}
