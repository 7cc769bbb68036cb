//! Renders the report of a run as one self-contained HTML file.
//!
//! Text, tables and most drawings are static. Three charts are interactive, the timeline
//! and two flame graphs: their data is in the page as JSON, and a script (`charts.js` and its
//! parts) draws them.
//!
//! Each file is a part of the page. A section without data adds nothing.

mod causes;
mod charts;
mod first;
mod header;
mod memory;
mod regions;
mod starts;

use maud::{Markup, html};
use preheat_model::run::{Cause, EndOfTime, Remedy, RunReport, RunView, StartReport};

use crate::html::bands::in_order;
use crate::html::figure::{key, list};
use crate::html::moving::script;
use crate::html::page::{Frame, Page, cards, fact, facts, machine, method};
use crate::html::{PROGRAM_STYLE, cause_style};
use crate::html::{code, command_line};
use crate::units::{bytes, counted, duration, percent, tie};

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
    add(&mut page);
    notes(&mut page);
    page.section("method", "How to read this", "", method(&METHOD));
    Frame {
        title: format!("preheat run: {}", command_line(&report.command)),
        style: &format!("{PROGRAM_STYLE}{STYLE}{}", cause_style::rules()),
        header: html! { (cause_style::patterns()) (header::top(report)) },
        body: html! { (page.finish()) (charts::data_block(view)) },
        script: &script(CHARTS),
        version: &report.preheat,
    }
    .html()
}

/// The end of the time to first.
fn first_of(report: &RunReport) -> &'static str {
    match report.iterations_by.end_of_time() {
        EndOfTime::Program => "the end of the program",
        EndOfTime::FirstIteration => "the end of the first iteration",
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
        fact("iterations", settings.iterations.to_string()),
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

// The remedies, one card each, in the order of the report.

/// Adds the section.
fn add(page: &mut RunPage) {
    let report = page.report;
    if report.remedies.is_empty() {
        return;
    }
    let total = report.time_to_first.value;
    page.section(
        "remedies",
        "Remedies",
        "Remedies that would remove part of the cold start, then those that shorten only later \
         work, then those that would not help. Each saving is predicted separately: savings of \
         remedies for the same cause do not add up.",
        html! {
            div class="cards" { @for remedy in &report.remedies { (card(remedy, total)) } }
        },
    );
}

fn card(remedy: &Remedy, total: f64) -> Markup {
    let legend = key(remedy.causes.iter().map(|cause| cause_style::named(*cause)));
    html! {
        article class="card" {
            h3 { (remedy.title) }
            p class="saving" {
                @for (at, saving) in savings(remedy, total).iter().enumerate() {
                    @if at > 0 { br; }
                    (saving)
                }
            }
            p { (code(&tie(&remedy.what))) }
            @if !remedy.assumption.is_empty() {
                p class="assumption" { "Assumes: " (code(&tie(&remedy.assumption))) }
            }
            (legend)
        }
    }
}

/// The lines of a card about what a remedy saves.
fn savings(remedy: &Remedy, total: f64) -> Vec<Markup> {
    let saved = |number: &str, of: &str| {
        html! {
            b { "−" (tie(number)) }
            @if !of.is_empty() { " " span class="of" { (of) } }
        }
    };
    let mut lines = Vec::new();
    if remedy.helps && remedy.saving.is_finite() && remedy.saving > 0.0 {
        let of = match remedy.saving / total {
            share if share.is_finite() => {
                format!("{} of the time to first", tie(&percent(share)))
            }
            _ => String::new(),
        };
        lines.push(saved(&duration(remedy.saving), &of));
    }
    if let Some(later) = remedy.later.as_ref().filter(|_| remedy.helps) {
        lines.push(saved(&duration(later.seconds), &format!("of {}", later.of)));
    }
    if !remedy.helps {
        lines.push(html! { span class="of" { "would not help here" } });
    }
    if let Some(size) = remedy.saving_bytes {
        lines.push(saved(&bytes(size), "on the device"));
    }
    lines
}
