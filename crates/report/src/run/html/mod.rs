//! The report of a run for a person with a browser: one file that needs no other.
//!
//! Text, tables and most drawings are in the page as they are. Three drawings move, the
//! time line and two flame graphs: their data is in the page as JSON (`data`), and a script
//! of our own (`charts.js` and its parts) draws them. Without it, what it would show is
//! there as a still picture or a table.
//!
//! `look` gives each cause its colour and pattern, `stack` draws causes side by side,
//! `headline` is its first sentence, `words` what the sections share; each file in `sections` is one part of the
//! page.

mod data;
mod headline;
mod sections;
mod words;

use preheat_model::run::{RunReport, RunView};

use crate::html::PROGRAM_STYLE;
use crate::html::command::command_line;
use crate::html::frame::Frame;
use crate::html::look;
use crate::html::moving::script;
use crate::html::page::Page;

/// Rules beside those of every page.
const STYLE: &str = include_str!("style.css");
/// What its drawings show.
const CHARTS: &str = include_str!("script/charts.js");

/// The page while it grows.
type RunPage<'a> = Page<'a, RunReport>;

/// The report as one self-contained HTML file.
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
    sections::method::add(&mut page);
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
