//! Renders a lab report as one self-contained HTML file. Each file is a part of the page; a
//! section without data adds nothing.

mod first_steady;
mod iterations;
mod stages;
mod sweeps;

use maud::{Markup, html};
use preheat_model::lab::{Claim, Evidence, LabReport, MeasuredDevice, Verdict};

use super::gaps::{Gap, failures, first_starts, skipped};
use super::headline::{Headline, headline};
use super::overview::{Subject, overview, starts_of_each};
use crate::html::figure::{Table, details, list};
use crate::html::page::{
    self, Frame, cards, command, fact, facts, header, machine, method, note, paragraph,
};
use crate::html::{command_line, is_empty};
use crate::lab::verdicts::{basis, basis_of, count, lack_of_starts, sign};
use crate::units::{ABSENT, bytes, number, tie};

/// The page of a lab report under construction.
type Page<'a> = page::Page<'a, LabReport>;

/// Renders the report as one self-contained HTML file.
pub fn lab_html(report: &LabReport) -> String {
    let subjects = overview(report);
    let mut page = Page::new(report);
    first_steady::add(&mut page, &subjects);
    add(&mut page);
    iterations::add(&mut page, &subjects);
    stages::add(&mut page);
    sweeps::allocation(&mut page);
    sweeps::transfer(&mut page);
    iterations::add_memory(&mut page);
    exceptions(&mut page, &subjects);
    add_method(&mut page);
    Frame {
        title: format!("preheat lab: {}", report.device.name),
        header: top(report, &headline(report)),
        body: page.finish(),
        version: &report.preheat,
        ..Frame::default()
    }
    .html()
}

/// The top of the page: the headline, notable observations, the device and the machine.
fn top(report: &LabReport, headline: &Headline) -> Markup {
    let ended_early = report.settings.ended_early.as_deref();
    let notable = report.notable.iter().map(|text| html! { (tie(text)) });
    let devices = std::iter::once(&report.device).chain(&report.other_devices);
    let mut all: Vec<Markup> = devices.map(device).collect();
    all.push(facts("machine", &report.machine.cpu, &machine_rows(report)));
    let content = html! {
        @if !headline.detail.is_empty() { p class="detail" { (headline.detail) "." } }
        p class="run" { (run(report).join(" · ")) }
        (paragraph("warning", ended_early.unwrap_or_default()))
        @if !report.notable.is_empty() {
            h2 class="small" { "Notable on this machine" }
            (list("notable", notable))
        }
        (cards(&all))
    };
    let text = format!("{}.", headline.text);
    header(None, "preheat lab", &text, &content)
}

fn device(device: &MeasuredDevice) -> Markup {
    let mut rows = vec![
        fact("driver", &*device.driver),
        fact("memory", bytes(device.memory)),
    ];
    rows.extend(device.facts.iter().cloned());
    facts(&device.kind, &device.name, &rows)
}

fn machine_rows(report: &LabReport) -> Vec<(String, String)> {
    let mut rows = machine(&report.machine);
    rows.extend(report.frameworks.iter().map(|framework| {
        let value = format!("{}, Python {}", framework.version, framework.python);
        (format!("{} on {}", framework.name, framework.device), value)
    }));
    rows
}

fn run(report: &LabReport) -> Vec<String> {
    let settings = &report.settings;
    let quick = if settings.quick { "quick, " } else { "" };
    vec![
        format!("{quick}{}", starts_of_each(report)),
        format!("seed {}", settings.seed),
        report.created.clone(),
        format!("preheat {}", report.preheat),
    ]
}

/// Adds the section on differing first starts, failures, and what was not measured.
fn exceptions(page: &mut Page, subjects: &[Subject]) {
    let starts = first_starts(subjects);
    let starts = starts
        .iter()
        .map(|(what, sentence)| html! { b { (what) } ": " (sentence) "." });
    let content = html! {
        (titled("The first start differed", starts))
        (titled("Failed", failures(page.report).iter().map(gap)))
        (titled("Not measured", skipped(page.report).iter().map(gap)))
    };
    page.section("gaps", "Exceptions", "", content);
}

fn gap(gap: &Gap) -> Markup {
    html! { b { (gap.what) } " (" (gap.subjects.join(", ")) "): " (gap.why) }
}

/// A list with a title; empty if there are no items.
fn titled(title: &str, items: impl Iterator<Item = Markup>) -> Markup {
    let list = list("plain", items);
    html! { @if !is_empty(&list) { h3 { (title) } (list) } }
}

/// Adds the section on the method, with the command to repeat the measurement.
fn add_method(page: &mut Page) {
    let line = command_line(&page.report.command);
    let content = html! {
        (method(&METHOD))
        @if !line.is_empty() { h3 { "Command" } (command(&line)) }
    };
    page.section("method", "Method", "", content);
}

/// The explanation of the method, the same for every report.
const METHOD: [(&str, &str); 5] = [
    (
        "A start is a fresh process.",
        " Each variant of each experiment runs in separate processes, so that nothing has \
         been initialized before. The order of the starts is shuffled with the seed.",
    ),
    (
        "The first start is reported separately.",
        " It may have found cold disks and caches. Medians and intervals cover the other \
         starts, if there are any.",
    ),
    (
        "Timing includes the device.",
        " Work on a device is queued, so preheat synchronizes before and after each timed \
         operation, unless the name of a series says otherwise.",
    ),
    (
        "First and steady.",
        " The first iteration is reported separately. Steady is the median after warm-up, \
         which ends at the last change of level; a series that never settles has no steady \
         state. The ratio is first ÷ steady.",
    ),
    (
        "Intervals",
        " are 95 % intervals from a seeded hierarchical bootstrap, which resamples starts, \
         then iterations within them. Fewer than three starts give no interval. A claim \
         holds, or does not hold, only if the interval is clear of the threshold, which the \
         evidence lists; otherwise it is inconclusive.",
    ),
];

// The claims: verdict, result, and the evidence in a collapsed table.

/// Adds the section.
fn add(page: &mut Page) {
    let claims = &page.report.claims;
    let lack = lack_of_starts(page.report).unwrap_or_default();
    let content = html! {
        @if !claims.is_empty() {
            p class="count" { (count(claims)) }
            (note(&lack))
            ol class="claims" { @for claim in claims { (item(claim)) } }
        }
    };
    page.section(
        "claims",
        "Claims",
        "Common claims about cold start, tested on this machine. A claim gets a verdict only if \
         the 95 % interval is clear of the threshold.",
        content,
    );
}

fn item(claim: &Claim) -> Markup {
    let basis = basis(claim);
    html! {
        li {
            span class="number" { (claim.id) }
            (badge(claim.verdict))
            div class="claim" {
                p class="text" { (claim.text) }
                (paragraph("sentence", &tie(&claim.sentence)))
                @if !basis.is_empty() { p class="basis" { (basis) "." } }
                @if !claim.evidence.is_empty() {
                    (details("Evidence", &evidence(&claim.evidence)))
                }
            }
        } "\n"
    }
}

/// A verdict with its symbol and color.
fn badge(verdict: Verdict) -> Markup {
    let class = match verdict {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold => "fails",
        Verdict::Depends => "depends",
        Verdict::Inconclusive => "open",
        Verdict::NotMeasurable => "unknown",
    };
    html! {
        span class={ "badge " (class) } {
            span aria-hidden="true" { (sign(verdict)) } " " (verdict.as_str())
        }
    }
}

fn evidence(all: &[Evidence]) -> Markup {
    let mut table = Table::new(&[
        "subject",
        "verdict",
        "comparison",
        "value",
        "95 %",
        "threshold",
        "summary",
        "series",
    ]);
    table.words = vec![1, 2, 6, 7];
    table.rows = all
        .iter()
        .map(|evidence| {
            let subject = match &evidence.framework {
                None => evidence.device.clone(),
                Some(framework) => format!("{framework} on {}", evidence.device),
            };
            let interval = match (evidence.value.low, evidence.value.high) {
                (Some(low), Some(high)) if low.is_finite() && high.is_finite() => {
                    format!("{} – {}", number(low), number(high))
                }
                _ => ABSENT.to_owned(),
            };
            vec![
                subject,
                evidence.verdict.as_str().to_owned(),
                evidence.quantity.clone(),
                number(evidence.value.value),
                interval,
                number(evidence.threshold),
                evidence.sentence.clone(),
                basis_of(evidence),
            ]
        })
        .collect();
    table.html()
}
