//! The text and tables: the decision, each remedy, and how to read the page.

use preheat_model::run::Temperature;
use preheat_model::tried::{Kept, TriedReport, TriedVariant};

use super::TriedPage;
use crate::html::escape::command_line;
use crate::html::escape::cut;
use crate::html::escape::escape;
use crate::html::page::facts;
use crate::terminal::clean;
use crate::tried::words;
use crate::units::{ABSENT, bytes, duration, ratio, tie};

/// The top of the page: the improvement, the decision, and where it was measured.
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

/// The improvement by the kept remedies, as far as they are compared with plain starts.
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
            format!("No remedy reduces {from} significantly.")
        }
        (Some(from), ..) => format!("Plain: {from}; remedies that help are kept."),
    }
}

/// The predicted and the measured saving of each remedy.
pub(super) fn remedies(page: &mut TriedPage) {
    let report = page.report;
    let beside = report.remedies.iter().any(|of| of.with_others.is_some());
    let mut head = vec!["remedy", "predicted", "alone"];
    head.extend(beside.then_some("added to the others"));
    head.push("kept");
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
         <tbody>{rows}</tbody></table></div>{}",
        (words::held(report)
            .into_iter()
            .chain(words::variables(report)))
        .map(|text| format!("<p>{}</p>", escape(&text)))
        .collect::<String>()
    );
    let lead = "The time that each remedy saves per start, with 95 % intervals. Predictions come from \
                a recording of a plain start, made before any remedy was measured.";
    page.section("remedies", "Predicted and measured", lead, &html);
}

/// The remedies that were not measured, and the notes.
pub(super) fn notes(page: &mut TriedPage) {
    let report = page.report;
    let tried = report.not_tried.iter().map(|other| {
        let (id, why) = (words::remedy(&other.id), clean(&other.why));
        format!(
            "<li><b>{}</b> was not measured: {}</li>",
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
<p><b>Each start counts once.</b> Its time runs from exec of the command to the end of the first \
iteration, or to the end of the program if nothing repeats. Times are compared on a logarithmic scale: \
means are geometric, and 95 % intervals use Welch’s method.</p>\
<p><b>Kept</b> are the remedy that saves most alone, if its saving is significant, and every remedy \
that adds a significant saving to all others together. A saving is significant if chance alone would \
produce it in fewer than one of twenty measurements, corrected for the number of remedies (Holm’s \
method), and if it is at least half a percent of a plain start. A remedy that makes later iterations \
significantly slower, so that 1,000 of them (or all, if there are more) lose what it saves, is not kept.</p>\
<p><b>Baselines.</b> Remedies for a cold disk or empty caches are compared with plain starts under \
the same conditions, which are restored before each start.</p>";

/// The section on the method.
pub(super) fn method(page: &mut TriedPage) {
    let html = format!("<div class=\"method\">{METHOD}</div>");
    page.section("method", "How to read this", "", &html);
}
