//! The top of the page: the change and its cause, the decision, the most important
//! quantities, and the two sides.

use preheat_model::Quantity;
use preheat_model::compare::{CompareKind, CompareReport, Level, QuantityChange, Side, Verdict};

use super::super::class;
use crate::compare::gate::{Decision, FLAG, gate};
use crate::compare::words::{change, percents, sentence, signed, value, verdict};
use crate::html::escape::command_line;
use crate::html::escape::cut;
use crate::html::escape::escape;
use crate::html::page::facts;
use crate::run::words::counted;
use crate::terminal::clean;
use crate::units::{ABSENT, TIE, tie};

/// Renders the header.
pub(in crate::compare::html) fn html(report: &CompareReport) -> String {
    let (decision, text) = gate(report);
    let look = match decision {
        Decision::Regressed => "fails",
        Decision::Inconclusive => "open",
        Decision::Passed => "holds",
    };
    let mut html = format!(
        "<header class=\"run-header\">\n<p class=\"eyebrow\">preheat compare</p>\n<h1>{}</h1>\n\
         <p class=\"gate {look}\"><span>{}</span></p>\n",
        escape(&tie(&sentence(&cut(&report.headline.text, 300)))),
        escape(&tie(&cut(&text, 600))).replace(FLAG, &format!("<code>{FLAG}</code>")),
    );
    let tiles = tiles(report);
    if !tiles.is_empty() {
        html.push_str(&format!("<div class=\"tiles\">{tiles}</div>\n"));
    }
    html.push_str(&format!(
        "<div class=\"facts\">{}{}</div>\n</header>\n",
        side("base", &report.base),
        side("new", &report.new)
    ));
    html
}

/// The most important quantities of a run.
fn tiles(report: &CompareReport) -> String {
    if report.kind == CompareKind::Lab {
        return String::new();
    }
    let find = |of: Quantity| report.quantities.iter().find(|quantity| quantity.id == of);
    let memory = find(Quantity::DeviceMemory).or_else(|| find(Quantity::HostMemory));
    [
        find(Quantity::TimeToFirst),
        find(Quantity::First),
        find(Quantity::Steady),
        memory,
    ]
    .into_iter()
    .flatten()
    .map(tile)
    .collect()
}

fn tile(quantity: &QuantityChange) -> String {
    let level = |level: &Option<Level>| match level {
        Some(level) => value(level.mean.value, quantity.unit),
        None => ABSENT.to_owned(),
    };
    let (was, is) = (level(&quantity.base), level(&quantity.new));
    let big = match (quantity.verdict, &quantity.difference) {
        (Verdict::Same, _) => quantity.verdict.word(quantity.unit).to_owned(),
        (_, Some(by)) => signed(by.value, quantity.unit),
        (_, None) => ABSENT.to_owned(),
    };
    // Do not break the line between a number and its interval.
    let change = change(quantity).replace(' ', &TIE.to_string());
    let more = match (quantity.verdict, &quantity.relative) {
        (Verdict::Same, Some(part)) => match percents(part) {
            Some(within) => format!("{was} → {is}, {within} %"),
            None => format!("{was} → {is}"),
        },
        _ => {
            let verdict = verdict(quantity).replace(" *", ", but not after correction");
            let parts = [format!("{was} → {is}"), change, verdict];
            let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            parts.join(", ")
        }
    };
    format!(
        "<section class=\"tile\"><p class=\"name\">{}</p><p class=\"big {}\">{}</p>\
         <p class=\"more\">{}</p></section>",
        escape(&quantity.name),
        class(quantity.verdict),
        escape(&tie(&big)),
        escape(&tie(&more))
    )
}

fn side(name: &str, side: &Side) -> String {
    let row = |name: &str, value: String| (name.to_owned(), value);
    let starts = match side.starts == side.counted_starts {
        true => counted(side.starts, "start"),
        false => format!(
            "{} of {}",
            side.counted_starts,
            counted(side.starts, "start")
        ),
    };
    let rows = [
        row("command", cut(&clean(&command_line(&side.command)), 300)),
        row("counted", starts),
        row("iteration", cut(&clean(&side.iteration), 120)),
        row("device", side.device.clone().unwrap_or_default()),
        row("machine", side.machine.cpu.clone()),
        row("recorded", side.created.clone()),
        row("by", format!("preheat {}", side.preheat)),
    ];
    facts(name, &clean(&side.source), &rows)
}
