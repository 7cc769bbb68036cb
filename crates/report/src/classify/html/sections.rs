//! The text and tables of the page.

use preheat_model::classify::{Benchmark, ClassifyReport};
use preheat_model::stats::{Class, Consistency};

use crate::classify::words::{self, CLASSES};
use crate::html::escape::escape;
use crate::html::figure::Table;
use crate::html::page::Page;
use crate::units::{ABSENT, duration, ratio, span, tie};

/// The maximum number of rows in the table of benchmarks.
const ROWS: usize = 2000;
/// The maximum number of files and notes to list.
const LISTED: usize = 200;

/// The CSS class of a class of behaviour.
fn style(class: Class) -> String {
    class.as_str().replace(' ', "-")
}

/// The top of the page: the overall result, and what to discard.
pub(super) fn header(report: &ClassifyReport) -> String {
    let mut html = format!(
        "<header class=\"class-header\">\n<p class=\"eyebrow\">preheat classify</p>\n<h1>{}.</h1>\n",
        // Do not break the line within a class name.
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

/// The number of benchmarks in each class as a bar; empty for a single benchmark.
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

/// The table of benchmarks.
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
        "The warm-up of each benchmark, and how many iterations of each start to discard. A \
                    star means that not every start is in this class."
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
        duration(benchmark.first.estimate),
        benchmark
            .steady
            .map_or_else(absent, |s| duration(s.estimate)),
        benchmark.ratio.map_or_else(absent, |r| ratio(r.estimate)),
        interval.unwrap_or_default(),
        benchmark
            .excess
            .map_or_else(absent, |e| words::time(e.estimate)),
        words::extent(benchmark),
    ]
}

/// The files that could not be read.
pub(super) fn unread(page: &mut Page<ClassifyReport>) {
    let unread = &page.report.unread;
    let items = unread.iter().take(LISTED).map(|unread| {
        let (file, why) = (escape(&unread.file), escape(&unread.why));
        format!("<li><b>{file}</b>: {why}</li>")
    });
    let lead = "Benchmarks read before the error are included above.";
    let html = list(items.collect(), unread.len());
    page.section("unread", "Not read", lead, &html);
}

/// The notes.
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
    let items = of_benchmarks.chain(of_files).take(LISTED).collect();
    page.section("notes", "Notes", "", &list(items, all));
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

/// The explanation of the method, the same for every report.
const METHOD: &str = "\
<p><b>A start is a fresh process; an iteration is the unit that it repeats.</b> Each start is \
classified separately, then all starts of a benchmark together.</p>\
<p><b>The first iteration is treated separately</b> and compared directly with the steady ones. In \
the rest, PELT finds changepoints with a Gaussian cost on the logarithm of the times. Walking back \
from the last segment, segments within 5\u{a0}% of it belong to the steady state, which must cover at \
least a quarter of the start.</p>\
<p><b>Classes.</b> Flat: full speed from the first iteration. Cold-first: only the first is slow. \
Warmup: several are slow. Slowdown: it settles at a lower speed than it had before. No steady state: \
it does not settle, or is too short to decide. A benchmark has the most frequent class among its \
starts; on a tie, the worst.</p>\
<p><b>Discard</b> is the smallest number of iterations that covers 95\u{a0}% of the starts that \
settle: all of them, if there are fewer than twenty.</p>\
<p><b>Over the starts</b> that settle, first, steady and ratio are geometric means, and the excess \
(the time that warm-up cost beyond steady) is an arithmetic mean. The 95\u{a0}% intervals come from a \
seeded hierarchical bootstrap, which resamples starts, then iterations within them. Fewer than three \
starts give no interval.</p>";

/// The section on the method.
pub(super) fn method(page: &mut Page<ClassifyReport>) {
    let html = format!("<div class=\"method\">{METHOD}</div>");
    page.section("method", "Method", "", &html);
}
