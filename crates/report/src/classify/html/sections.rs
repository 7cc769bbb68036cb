//! The parts of the page that are words and tables.

use preheat_analyze::classify::{Benchmark, ClassifyReport};
use preheat_analyze::stats::{Class, Consistency};

use crate::classify::words::{self, CLASSES};
use crate::html::escape::escape;
use crate::html::figure::Table;
use crate::html::page::Page;
use crate::units::{ABSENT, duration, ratio, span, tie};

/// So many benchmarks have a row.
const ROWS: usize = 2000;
/// So many files and notes are told.
const TOLD: usize = 200;

/// The class as the style sheet calls it.
fn style(class: Class) -> String {
    class.as_str().replace(' ', "-")
}

/// The top of the page: what it shows, and what to discard.
pub(super) fn header(report: &ClassifyReport) -> String {
    let mut html = format!(
        "<header class=\"class-header\">\n<p class=\"eyebrow\">preheat classify</p>\n<h1>{}.</h1>\n",
        // A class stays on one line.
        escape(&words::headline(report)).replace("cold-first", "cold\u{2011}first")
    );
    for sentence in words::discard(report) {
        let sentence = escape(&tie(&sentence));
        html.push_str(&format!("<p class=\"detail\">{sentence}</p>\n"));
    }
    let facts = [
        words::count(report.files, "file", "files"),
        format!("seed {}", report.seed),
        format!("preheat {}", report.preheat),
    ];
    let facts = escape(&facts.join(" · "));
    html.push_str(&format!("<p class=\"run\">{facts}</p>\n"));
    if !report.unread.is_empty() {
        let files = words::count(report.unread.len(), "file", "files");
        html.push_str(&format!(
            "<p class=\"warning\">{files} could not be read to the end; see <a href=\"#unread\">not read</a>.</p>\n"
        ));
    }
    html.push_str(&classes(report));
    html + "</header>\n"
}

/// How many are of each class, as a bar. One benchmark needs none.
fn classes(report: &ClassifyReport) -> String {
    if report.benchmarks.len() < 2 {
        return String::new();
    }
    let some = || {
        let counts = CLASSES.map(|class| (class, report.count(class)));
        counts.into_iter().filter(|(_, count)| *count > 0)
    };
    let parts: String = some()
        .map(|(class, count)| {
            let style = style(class);
            format!(
                "<span class=\"{style}\" style=\"flex:{count}\" title=\"{count} {class}\"></span>"
            )
        })
        .collect();
    let legend: String = some()
        .map(|(class, count)| {
            let style = style(class);
            format!("<li><span class=\"square {style}\"></span>{count} {class}</li>")
        })
        .collect();
    format!(
        "<div class=\"classes\" role=\"img\" aria-label=\"{}\">{parts}</div>\n\
         <ul class=\"legend\">{legend}</ul>\n",
        escape(&words::headline(report))
    )
}

/// Every benchmark, a row each.
pub(super) fn table(page: &mut Page<ClassifyReport>) {
    let report = page.report;
    let mut table = Table::new(&[
        "benchmark",
        "class",
        "discard",
        "first",
        "steady",
        "ratio",
        "95 %",
        "excess",
        "measured",
    ]);
    table.words = vec![1, 8];
    let names = words::names(report);
    let rows = names.iter().zip(&report.benchmarks).take(ROWS);
    table.rows = rows.map(|(name, b)| row(name, b)).collect();
    if table.rows.is_empty() {
        return;
    }
    let mut lead =
        "What warm-up is, and how many iterations of each start to discard so that what \
                    is left is steady. A star says that not all starts behave so."
            .to_owned();
    if report.benchmarks.len() > ROWS {
        let all = report.benchmarks.len();
        lead.push_str(&format!(
            " The first {ROWS} of {all} benchmarks are shown; --json has all."
        ));
    }
    let html = format!("<div class=\"judged\">{}</div>", table.html());
    page.section("benchmarks", "Benchmarks", &lead, &html);
}

fn row(name: &str, benchmark: &Benchmark) -> Vec<String> {
    let absent = || ABSENT.to_owned();
    let star = match benchmark.consistency {
        Consistency::Consistent => "",
        _ => " *",
    };
    let interval = benchmark.ratio.and_then(|r| span(r.low, r.high));
    vec![
        name.to_owned(),
        format!("{}{star}", benchmark.class),
        benchmark.discard.map_or_else(absent, |n| n.to_string()),
        duration(benchmark.first.median),
        benchmark.steady.map_or_else(absent, |s| duration(s.median)),
        benchmark.ratio.map_or_else(absent, |r| ratio(r.median)),
        interval.unwrap_or_default(),
        benchmark
            .excess
            .map_or_else(absent, |e| words::time(e.median)),
        words::extent(benchmark),
    ]
}

/// What could not be read.
pub(super) fn unread(page: &mut Page<ClassifyReport>) {
    let unread = &page.report.unread;
    let items = unread.iter().take(TOLD).map(|unread| {
        let (file, why) = (escape(&unread.file), escape(&unread.why));
        format!("<li><b>{file}</b>: {why}</li>")
    });
    let lead = "What was read of these files before is judged above.";
    let html = list(items.collect(), unread.len());
    page.section("unread", "Not read", lead, &html);
}

/// What is worth knowing.
pub(super) fn notes(page: &mut Page<ClassifyReport>) {
    let report = page.report;
    let notes = words::notes(report);
    let of_benchmarks = notes.iter().map(|(count, note)| {
        let count = words::count(*count, "benchmark", "benchmarks");
        format!("<li><b>{count}</b>: {}</li>", escape(note))
    });
    let of_files = report
        .notes
        .iter()
        .map(|note| format!("<li>{}</li>", escape(note)));
    let all = notes.len() + report.notes.len();
    let items = of_benchmarks.chain(of_files).take(TOLD).collect();
    page.section("notes", "Worth knowing", "", &list(items, all));
}

fn list(items: Vec<String>, all: usize) -> String {
    if items.is_empty() {
        return String::new();
    }
    let more = match all - items.len() {
        0 => String::new(),
        more => format!("<li>{more} more in --json</li>"),
    };
    format!("<ul class=\"plain\">{}{more}</ul>", items.concat())
}

/// What holds for every report.
const METHOD: &str = "\
<p><b>A start is a fresh process; an iteration is what it repeats.</b> Each start is judged by \
itself, then all starts of a benchmark together.</p>\
<p><b>The first iteration is a quantity of its own</b>, compared with the steady ones directly. On \
what follows it, changepoints are found by PELT with a Gaussian cost on the logarithm of the \
times. Walking back from the last segment, segments within 5\u{a0}% of it belong to the steady state, \
which must be a quarter of the start at least.</p>\
<p><b>Classes.</b> Flat: as fast from the first iteration on as ever after. Cold-first: only the \
first is slow. Warmup: several are. Slowdown: it settles at a speed below one that it had before. No \
steady state: it does not settle, or is too short to tell. A benchmark has the class that most of its \
starts have, of equally frequent ones the worst.</p>\
<p><b>Discard</b> is the least number of iterations that covers 95\u{a0}% of the starts that settle: all of \
them, up to nineteen.</p>\
<p><b>Over starts</b>, first, steady and ratio are geometric means, and the excess (what warm-up cost \
over steady) is a mean, of the starts that settle. Intervals are 95\u{a0}% intervals of a hierarchical \
bootstrap: starts are drawn again, then iterations within them, by the seed. With fewer than three \
starts there is none.</p>";

/// How it was judged.
pub(super) fn method(page: &mut Page<ClassifyReport>) {
    let html = format!("<div class=\"method\">{METHOD}</div>");
    page.section("method", "How it was judged", "", &html);
}
