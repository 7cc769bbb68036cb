//! Renders classified times as one self-contained HTML file.
//!
//! The page is bounded, however many benchmarks there are: the numbers of rows and plots are
//! limited, the problematic benchmarks come first, and the page states what it omits.

mod drawing;

pub use drawing::ClassifySketch;

use maud::{Markup, html};
use preheat_model::classify::{Benchmark, ClassifyReport};
use preheat_model::stats::{Class, Consistency};

use crate::classify::{self, CLASSES};
use crate::html::figure::{Table, key, list};
use crate::html::page::{Frame, Page, header, method};
use crate::units::{ABSENT, counted, duration, ratio, span, tie};

/// Style rules in addition to those of all pages.
const STYLE: &str = include_str!("style.css");

/// Renders the report as one self-contained HTML file. `sketches` has an entry per
/// benchmark; benchmarks without a sketch are not plotted.
pub fn classify_html(report: &ClassifyReport, sketches: &[Option<ClassifySketch>]) -> String {
    let mut page = Page::new(report);
    table(&mut page);
    drawing::add(&mut page, sketches);
    unread(&mut page);
    notes(&mut page);
    page.section("method", "Method", "", method(&METHOD));
    Frame {
        title: format!("preheat classify: {}", classify::headline(report)),
        style: STYLE,
        header: top(report),
        body: page.finish(),
        version: &report.preheat,
        ..Frame::default()
    }
    .html()
}

/// The maximum number of rows in the table of benchmarks.
const ROWS: usize = 2000;
/// The maximum number of files and notes to list.
const MAX_LISTED: usize = 200;

/// The CSS class of a class of behavior.
fn style(class: Class) -> String {
    class.as_str().replace(' ', "-")
}

/// The top of the page: the overall result, and what to discard.
fn top(report: &ClassifyReport) -> Markup {
    let facts = [
        counted(report.files, "file"),
        format!("seed {}", report.seed),
        format!("preheat {}", report.preheat),
    ];
    let content = html! {
        @for sentence in classify::discard(report) { p class="detail" { (tie(&sentence)) } }
        p class="run" { (facts.join(" · ")) }
        @if !report.unread.is_empty() {
            p class="warning" {
                (counted(report.unread.len(), "file"))
                " could not be read to the end; see "
                a href="#unread" { "not read" }
                "."
            }
        }
        (classes(report))
    };
    // Do not break the line within a class name.
    let headline = classify::headline(report).replace("cold-first", "cold\u{2011}first");
    header(
        Some("class-header"),
        "preheat classify",
        &format!("{headline}."),
        &content,
    )
}

/// The number of benchmarks in each class as a bar; empty for a single benchmark.
fn classes(report: &ClassifyReport) -> Markup {
    if report.benchmarks.len() < 2 {
        return Markup::default();
    }
    let counts = CLASSES.map(|class| (class, report.count(class)));
    let some = || counts.iter().filter(|(_, count)| *count > 0);
    let legend = some().map(|(class, count)| {
        html! {
            span class={ "square " (style(*class)) } {}
            (count) " " (class.as_str())
        }
    });
    html! {
        div class="classes" role="img" aria-label=(classify::headline(report)) {
            @for (class, count) in some() {
                span class=(style(*class)) style={ "flex:" (count) }
                    title={ (count) " " (class.as_str()) } {}
            }
        }
        (key(legend))
    }
}

/// The table of benchmarks.
fn table(page: &mut Page<ClassifyReport>) {
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
    let names = classify::names(report);
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
    let content = html! { div class="judged" { (table.html()) } };
    page.section("benchmarks", "Benchmarks", &lead, content);
}

fn row(name: &str, benchmark: &Benchmark) -> Vec<String> {
    let absent = || ABSENT.to_owned();
    let star = match benchmark.consistency {
        Consistency::Consistent => "",
        Consistency::GoodInconsistent | Consistency::BadInconsistent => " *",
    };
    let interval = benchmark.ratio.and_then(|r| span(r.low, r.high));
    vec![
        name.to_owned(),
        format!("{}{star}", benchmark.class),
        benchmark.discard.map_or_else(absent, |n| n.to_string()),
        duration(benchmark.first.value),
        benchmark.steady.map_or_else(absent, |s| duration(s.value)),
        benchmark.ratio.map_or_else(absent, |r| ratio(r.value)),
        interval.unwrap_or_default(),
        benchmark
            .excess
            .map_or_else(absent, |e| classify::time(e.value)),
        classify::extent(benchmark),
    ]
}

/// The files that could not be read.
fn unread(page: &mut Page<ClassifyReport>) {
    let unread = &page.report.unread;
    let items = unread
        .iter()
        .map(|unread| html! { b { (unread.file) } ": " (unread.why) });
    let lead = "Benchmarks read before the error are included above.";
    page.section("unread", "Not read", lead, first(items));
}

/// The notes.
fn notes(page: &mut Page<ClassifyReport>) {
    let report = page.report;
    let notes = classify::notes(report);
    let of_benchmarks = notes.iter().map(|(count, note)| {
        html! { b { (counted(*count, "benchmark")) } ": " (note) }
    });
    let of_files = report.notes.iter().map(|note| html! { (note) });
    let content = first(of_benchmarks.chain(of_files));
    page.section("notes", "Notes", "", content);
}

/// A list of the first items, and the number of the others.
fn first(items: impl Iterator<Item = Markup>) -> Markup {
    let mut items: Vec<Markup> = items.collect();
    if items.len() > MAX_LISTED {
        let more = items.len() - MAX_LISTED;
        items.truncate(MAX_LISTED);
        items.push(html! { (more) " more in --json" });
    }
    list("plain", items.into_iter())
}

/// The explanation of the method, the same for every report.
const METHOD: [(&str, &str); 5] = [
    (
        "A start is a fresh process; an iteration is the unit that it repeats.",
        " Each start is classified separately, then all starts of a benchmark together.",
    ),
    (
        "The first iteration is treated separately",
        " and compared directly with the steady ones. In the rest, PELT finds changepoints \
         with a Gaussian cost on the logarithm of the times. Walking back from the last \
         segment, segments within 5\u{a0}% of it belong to the steady state, which must \
         cover at least a quarter of the start.",
    ),
    (
        "Classes.",
        " Flat: full speed from the first iteration. Cold-first: only the first is slow. \
         Warmup: several are slow. Slowdown: it settles at a lower speed than it had \
         before. No steady state: it does not settle, or is too short to decide. A \
         benchmark has the most frequent class among its starts; on a tie, the worst.",
    ),
    (
        "Discard",
        " is the smallest number of iterations that covers 95\u{a0}% of the starts that \
         settle: all of them, if there are fewer than twenty.",
    ),
    (
        "Over the starts",
        " that settle, first, steady and ratio are geometric means, and the excess (the \
         extra time spent in warm-up) is an arithmetic mean. The 95\u{a0}% \
         intervals come from a seeded hierarchical bootstrap, which resamples starts, then \
         iterations within them. Fewer than three starts give no interval.",
    ),
];
