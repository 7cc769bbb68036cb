//! What is said in words and tables: the decision, each remedy, and how to read the page.

use preheat_analyze::run::Temperature;
use preheat_analyze::tried::{Kept, TriedReport, TriedVariant};

use super::TriedPage;
use crate::html::command::command_line;
use crate::html::cut::cut;
use crate::html::escape::escape;
use crate::html::facts::facts;
use crate::terminal::clean;
use crate::tried::words;
use crate::units::{ABSENT, bytes, duration, ratio, tie};

/// The top of the page: what it brought, what was decided, what was measured where.
pub(super) fn header(report: &TriedReport) -> String {
    let look = match report.kept.is_empty() {
        true => "open",
        false => "holds",
    };
    let row = |name: &str, value: String| (name.to_owned(), value);
    let mut rows = vec![
        row("starts", words::about(report)),
        row("measured", report.created.clone()),
        row("by", format!("preheat {}", report.preheat)),
    ];
    if let Some(machine) = &report.machine {
        let cores = format!("{} cores, {}", machine.cores, bytes(machine.memory));
        rows.push(row("machine", format!("{}, {cores}", machine.cpu)));
        rows.push(row(
            "system",
            format!("{}, kernel {}", machine.os, machine.kernel),
        ));
    }
    let command = cut(&clean(&command_line(&report.command)), 300);
    format!(
        "<header class=\"run-header\">\n<p class=\"eyebrow\">preheat start --measure</p>\n<h1>{}</h1>\n\
         <p class=\"gate {look}\"><span>{}</span></p>\n<div class=\"facts\">{}</div>\n</header>\n",
        escape(&tie(&headline(report))),
        escape(&words::decision(report)).replace("`preheat start`", "<code>preheat start</code>"),
        facts("command", &command, &rows)
    )
}

/// What the kept remedies bring: those among them that plain starts are compared with.
fn headline(report: &TriedReport) -> String {
    let alike = |of: &&TriedVariant| of.against == Temperature::Process;
    let mut all = report.variants.iter().filter(alike);
    let plain = all.clone().find(|of| of.remedies.is_empty());
    let tried = |id: &&String| all.clone().any(|of| of.remedies.contains(id));
    let wanted: Vec<&String> = report.kept.iter().filter(tried).collect();
    let kept = all.find(|of| {
        let same = of.remedies.iter().all(|id| wanted.contains(&id));
        !wanted.is_empty() && same && of.remedies.len() == wanted.len()
    });
    let time = |of: &TriedVariant| of.time_to_first.map(|time| duration(time.value));
    let from = plain.and_then(time);
    match (from, kept.and_then(time), kept.and_then(|of| of.times)) {
        (None, ..) => "No start could be measured.".to_owned(),
        (Some(from), _, _) if report.interrupted => format!("Interrupted; plain: {from}."),
        (Some(from), Some(to), Some(times)) => {
            format!("{} as fast: {from} → {to}.", ratio(times.value))
        }
        (Some(from), ..) if report.kept.is_empty() => {
            format!("No remedy was shown to make {from} shorter.")
        }
        (Some(from), ..) => format!("Plain: {from}; what pays is kept."),
    }
}

/// What was predicted for each remedy, and what was measured.
pub(super) fn remedies(page: &mut TriedPage) {
    let report = page.report;
    let beside = report.remedies.iter().any(|of| of.with_others.is_some());
    let head = [
        "remedy",
        "predicted",
        "alone",
        "added to the others",
        "kept",
    ];
    let cell = |text: &str| format!("<td class=\"n\">{}</td>", escape(text));
    let rows: String = (report.remedies.iter())
        .map(|of| {
            let predicted = of
                .predicted
                .map(|seconds| format!("−{}", duration(seconds)));
            let absent = || ABSENT.to_owned();
            let mut row = format!("<th scope=\"row\">{}</th>", escape(&words::remedy(&of.id)));
            row.push_str(&cell(&predicted.unwrap_or_else(absent)));
            row.push_str(&cell(&of.alone.map_or_else(absent, words::saved)));
            if beside {
                row.push_str(&cell(&of.with_others.map_or_else(absent, words::saved)));
            }
            let look = match of.kept {
                kept if kept.is_kept() => "holds",
                Kept::Costs | Kept::Slows => "fails",
                _ => "open",
            };
            let kept = escape(words::kept(of.kept));
            format!("<tr>{row}<td><span class=\"badge {look}\">{kept}</span></td></tr>")
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    let heads: String = (head.iter())
        .filter(|name| beside || !name.starts_with("added"))
        .map(|name| {
            let class = match *name {
                "remedy" | "kept" => "",
                _ => " class=\"n\"",
            };
            format!("<th scope=\"col\"{class}>{name}</th>")
        })
        .collect();
    let html = format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"tried\"><thead><tr>{heads}</tr></thead>\
         <tbody>{rows}</tbody></table></div>"
    );
    let lead = "Seconds that each remedy takes off a start, with 95 % intervals. Predicted is what a \
                recorded plain start let expect, before anything was tried.";
    page.section("remedies", "Predicted and measured", lead, &html);
}

/// What was not tried, and what else is to be known.
pub(super) fn notes(page: &mut TriedPage) {
    let report = page.report;
    let tried = report.not_tried.iter().map(|other| {
        let (id, why) = (words::remedy(&other.id), clean(&other.why));
        format!(
            "<li><b>{}</b> was not tried: {}</li>",
            escape(&id),
            escape(&why)
        )
    });
    let notes = (report.notes.iter()).map(|note| format!("<li>{}</li>", escape(&clean(note))));
    let items: String = tried.chain(notes).collect();
    if !items.is_empty() {
        let html = format!("<ul class=\"plain\">{items}</ul>");
        page.section("notes", "Notes", "", &html);
    }
}

const METHOD: &str = "\
<p><b>A start is what counts once.</b> Its time goes from exec of the command to the end of its first \
iteration; where nothing repeats, to the end of the program. Times are compared by their logarithms: \
means are geometric ones, intervals are 95 % intervals of Welch’s method.</p>\
<p><b>Kept</b> is what saves most alone, if it is clear that it saves something, and whatever clearly \
adds to all others together. Clear means: with regard to how many are looked at (Holm’s adjustment) \
chance would do it in less than one of twenty measurements, and it saves at least half a percent of a \
plain start. What makes the iterations after the first clearly slower is not kept.</p>\
<p><b>Against what.</b> What helps a cold disk or empty caches is compared with plain starts that found \
those, which are made so before each start.</p>";

/// How to read the page.
pub(super) fn method(page: &mut TriedPage) {
    let html = format!("<div class=\"method\">{METHOD}</div>");
    page.section("method", "How to read this", "", &html);
}
