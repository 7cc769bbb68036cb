//! Renders the report of a run as one self-contained HTML file.
//!
//! Text, tables and most drawings are static. Three charts are interactive, the timeline
//! and two flame graphs: their data is in the page as JSON, and a script (`charts.js` and its
//! parts) draws them.
//!
//! `headline` is the first sentence, and each other file is a part of the page. A section
//! without data adds nothing.

mod causes;
mod charts;
mod first;
mod header;
mod headline;
mod memory;
mod regions;
mod remedies;
mod starts;

use maud::html;
use preheat_model::run::{Cause, IterationsBy, RunReport, RunView, StartReport};

use crate::html::PROGRAM_STYLE;
use crate::html::figure::list;
use crate::html::look;
use crate::html::markup::{code, command_line};
use crate::html::moving::script;
use crate::html::page::{Frame, Page, cards, fact, facts, machine, method};
use crate::html::stack::in_order;
use crate::run::words::counted;
use crate::units::{bytes, tie};

/// Style rules in addition to those of all pages.
const STYLE: &str = include_str!("style.css");
/// The script that draws the charts.
const CHARTS: &str = include_str!("script/charts.js");

/// The page under construction.
type RunPage<'a> = Page<'a, RunReport>;

/// Renders the report as one self-contained HTML file.
pub fn run_html(report: &RunReport, view: &RunView) -> String {
    let mut page = Page::new(report);
    regions::add(&mut page);
    causes::add(&mut page);
    charts::timeline(&mut page, view);
    first::add(&mut page);
    starts::add(&mut page);
    charts::imports(&mut page, view);
    charts::functions(&mut page, view);
    memory::add(&mut page, view);
    remedies::add(&mut page);
    notes(&mut page);
    page.section("method", "How to read this", "", method(&METHOD));
    Frame {
        title: format!("preheat run: {}", command_line(&report.command)),
        style: &format!("{PROGRAM_STYLE}{STYLE}{}", look::rules()),
        header: html! { (look::patterns()) (header::top(report)) },
        body: html! { (page.finish()) (charts::data_block(view)) },
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

/// Adds the notes, and the conditions of the recording.
fn notes(page: &mut RunPage) {
    let report = page.report;
    let settings = &report.settings;
    let how = [
        fact("requested starts", counted(settings.starts, "start")),
        fact("iterations", &*settings.iterations),
        fact("iteration", &*report.iteration),
        fact(
            "synchronized",
            match settings.synchronize {
                true => "at the end of each iteration",
                false => "only by the program itself",
            },
        ),
        fact("limit", format!("{} per process", bytes(settings.limit))),
        fact("seed", settings.seed.to_string()),
        fact("directory", &*report.directory),
    ];
    let mut all = vec![
        facts("machine", &report.machine.cpu, &machine(&report.machine)),
        facts("settings", "How it was run", &how),
    ];
    if !report.environment.is_empty() {
        let title = "Environment variables";
        all.push(facts("environment", title, &report.environment));
    }
    let notes = report.notes.iter().map(|note| code(&tie(note)));
    let content = html! { (list("plain", notes)) (cards(&all)) };
    page.section("notes", "Notes", "", content);
}

/// The explanation of the method, the same for every report.
const METHOD: [(&str, &str); 7] = [
    (
        "Time to first",
        " is the time from exec of the command to the end of its first iteration, or to the \
         end of the program if nothing repeats.",
    ),
    (
        "First and steady.",
        " An iteration is the unit that the program repeats. The first one is reported \
         separately. Steady is the median after warm-up, which ends at the last change of \
         level; a series that never settles has no steady state.",
    ),
    (
        "A cause",
        " is where time went. At each instant, the cause is that of the thread that runs \
         the iterations; while that thread waits for another, it is what the other one is \
         doing. So the causes add up to the time to first. Work that a steady iteration \
         does too is not part of the cold start; it is shown as steady work.",
    ),
    (
        "A start is a fresh process.",
        " The first start is reported separately: it may have found cold disks and caches. \
         Numbers are those of the other starts, if there are any. Timeline, imports and \
         memory are those of the start nearest to the median.",
    ),
    (
        "Temperatures.",
        " Process: a fresh process; everything may be cached. Disk: the files it reads are \
         first evicted from the page cache. Caches: kernel and compile caches start empty. \
         Bytecode: Python finds no bytecode. No temperature includes another.",
    ),
    (
        "Intervals",
        " are 95 % intervals from a seeded hierarchical bootstrap, which resamples starts, \
         then iterations within them. Fewer than three starts give no interval.",
    ),
    (
        "Device work",
        " is queued. Unless each iteration is synchronized, it ends when the program \
         continues, which may be before the device is done.",
    ),
];
