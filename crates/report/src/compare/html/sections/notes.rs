//! The notes, the definition of a regression, and the machines.

use preheat_model::compare::{CompareKind, Side};

use super::super::ComparePage;
use crate::compare::words::{margin, sentence};
use crate::html::code::code;
use crate::html::escape::escape;
use crate::html::facts::facts;
use crate::units::{bytes, bytes_f64, duration, tie};

/// Adds the section.
pub(in crate::compare::html) fn add(page: &mut ComparePage) {
    let report = page.report;
    let notes: String = report
        .notes
        .iter()
        .map(|note| format!("<li>{}</li>", code(&escape(&tie(&sentence(note))))))
        .collect();
    let mut html = match notes.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"plain\">{notes}</ul>"),
    };
    let row = |name: &str, value: String| (name.to_owned(), value);
    let mut gated: Vec<&str> = Vec::new();
    for quantity in report.quantities.iter().filter(|quantity| quantity.gated) {
        if !gated.contains(&quantity.name.as_str()) {
            gated.push(&quantity.name);
        }
    }
    let floors = &report.floors;
    let rules = [
        row("beyond", margin(report.max_regression)),
        row("and at least", duration(floors.seconds)),
        row("steady", duration(floors.steady)),
        row("memory", bytes_f64(floors.bytes)),
        row("gated", gated.join(", ")),
    ];
    let machine = |name: &str, side: &Side| {
        let machine = &side.machine;
        let rows = [
            row("cores", machine.cores.to_string()),
            row("memory", bytes(machine.memory)),
            row("system", machine.os.clone()),
            row("kernel", machine.kernel.clone()),
        ];
        facts(name, &machine.cpu, &rows)
    };
    let mut cards = facts("regression", "Thresholds", &rules);
    if report.kind == CompareKind::Runs && report.base.machine == report.new.machine {
        cards.push_str(&machine("machine", &report.base));
    } else {
        cards.push_str(&machine("machine of base", &report.base));
        cards.push_str(&machine("machine of new", &report.new));
    }
    html.push_str(&format!("<div class=\"facts\">{cards}</div>"));
    page.section("notes", "Notes", "", &html);
}
