//! The notes, the conditions of the recording, and the explanation of the page.

use super::super::RunPage;
use crate::html::escape::{code, escape};
use crate::html::page::facts;
use crate::run::words::counted;
use crate::units::{bytes, tie};

/// Adds the section.
pub(in crate::run::html) fn add(page: &mut RunPage) {
    let report = page.report;
    let notes: String = report
        .notes
        .iter()
        .map(|note| format!("<li>{}</li>", code(&escape(&tie(note)))))
        .collect();
    let mut html = match notes.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"plain\">{notes}</ul>"),
    };
    let row = |name: &str, value: String| (name.to_owned(), value);
    let settings = &report.settings;
    let how = [
        row("requested starts", counted(settings.starts, "start")),
        row("iterations", settings.iterations.clone()),
        row("iteration", report.iteration.clone()),
        row(
            "synchronized",
            match settings.synchronize {
                true => "at the end of each iteration",
                false => "only by the program itself",
            }
            .to_owned(),
        ),
        row("limit", format!("{} per process", bytes(settings.limit))),
        row("seed", settings.seed.to_string()),
        row("directory", report.directory.clone()),
    ];
    let machine = &report.machine;
    let where_ = [
        row("cores", machine.cores.to_string()),
        row("memory", bytes(machine.memory)),
        row("system", machine.os.clone()),
        row("kernel", machine.kernel.clone()),
    ];
    let mut cards = facts("machine", &machine.cpu, &where_);
    cards.push_str(&facts("settings", "How it was run", &how));
    if !report.environment.is_empty() {
        cards.push_str(&facts(
            "environment",
            "Environment variables",
            &report.environment,
        ));
    }
    html.push_str(&format!("<div class=\"facts\">{cards}</div>"));
    page.section("notes", "Notes", "", &html);
}

/// The explanation of the method, the same for every report.
const METHOD: &str = "\
<p><b>Time to first</b> is the time from exec of the command to the end of its first iteration, or to \
the end of the program if nothing repeats.</p>\
<p><b>First and steady.</b> An iteration is the unit that the program repeats. The first one is \
reported separately. Steady is the median after warm-up, which ends at the last change of level; a \
series that never settles has no steady state.</p>\
<p><b>A cause</b> is where time went. At each instant, the cause is that of the thread that runs the \
iterations; while that thread waits for another, it is what the other one is doing. So the causes \
add up to the time to first. Work that a steady iteration does too is not part of the cold start; it \
is shown as steady work.</p>\
<p><b>A start is a fresh process.</b> The first start is reported separately: it may have found cold \
disks and caches. Numbers are those of the other starts, if there are any. Timeline, imports and \
memory are those of the start nearest to the median.</p>\
<p><b>Temperatures.</b> Process: a fresh process; everything may be cached. Disk: the files it reads \
are first evicted from the page cache. Caches: kernel and compile caches start empty. Bytecode: \
Python finds no bytecode. No temperature includes another.</p>\
<p><b>Intervals</b> are 95 % intervals from a seeded hierarchical bootstrap, which resamples starts, \
then iterations within them. Fewer than three starts give no interval.</p>\
<p><b>Device work</b> is queued. Unless each iteration is synchronized, it ends when the program \
continues, which may be before the device is done.</p>";

/// Adds the section.
pub(in crate::run::html) fn add_method(page: &mut RunPage) {
    page.section(
        "method",
        "How to read this",
        "",
        &format!("<div class=\"method\">{METHOD}</div>"),
    );
}
