//! The top of the page: the change and its cause, the decision, the most important
//! quantities, and the two sides.

use maud::{Markup, html};
use preheat_model::Quantity;
use preheat_model::compare::{CompareKind, CompareReport, Level, QuantityChange, Side, Verdict};

use super::class;
use crate::compare::gate::{Decision, FLAG, gate};
use crate::compare::words::{change, percents, sentence, signed, value, verdict};
use crate::html::markup::{code, command_line, cut};
use crate::html::page::{self, cards, fact, facts};
use crate::run::words::counted;
use crate::terminal::clean;
use crate::units::{ABSENT, TIE, tie};

/// Renders the header.
pub(super) fn top(report: &CompareReport) -> Markup {
    let (decision, text) = gate(report);
    let color = match decision {
        Decision::Regressed => "fails",
        Decision::Inconclusive => "open",
        Decision::Passed => "holds",
    };
    let text = tie(&cut(&text, 600)).replace(FLAG, &format!("`{FLAG}`"));
    let tiles = tiles(report);
    let content = html! {
        (page::gate(color, &code(&text)))
        @if !tiles.is_empty() {
            div class="tiles" { @for tile in &tiles { (tile) } }
        }
        (cards(&[side("base", &report.base), side("new", &report.new)]))
    };
    let headline = tie(&sentence(&cut(&report.headline.text, 300)));
    page::header(Some("run-header"), "preheat compare", &headline, &content)
}

/// The most important quantities of a run.
fn tiles(report: &CompareReport) -> Vec<Markup> {
    if report.kind == CompareKind::Lab {
        return Vec::new();
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

fn tile(quantity: &QuantityChange) -> Markup {
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
    page::tile(&quantity.name, &big, Some(class(quantity.verdict)), &more)
}

fn side(name: &str, side: &Side) -> Markup {
    let starts = match side.starts == side.counted_starts {
        true => counted(side.starts, "start"),
        false => format!(
            "{} of {}",
            side.counted_starts,
            counted(side.starts, "start")
        ),
    };
    let rows = [
        fact("command", cut(&clean(&command_line(&side.command)), 300)),
        fact("counted", starts),
        fact("iteration", cut(&clean(&side.iteration), 120)),
        fact("device", side.device.clone().unwrap_or_default()),
        fact("machine", side.machine.cpu.clone()),
        fact("recorded", side.created.clone()),
        fact("by", format!("preheat {}", side.preheat)),
    ];
    facts(name, &clean(&side.source), &rows)
}
