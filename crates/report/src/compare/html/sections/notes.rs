//! The notes, the definition of a regression, the machines and the method.

use preheat_model::compare::{CompareKind, Side};

use super::super::ComparePage;
use crate::compare::words::{margin, sentence};
use crate::html::escape::{code, escape};
use crate::html::page::facts;
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

/// The explanation for every comparison.
const METHOD: &str = "\
<p><b>Each start counts once.</b> Iterations of one start are not independent, so each start gives \
one value for each quantity. The very first start of a side is left out: it may have found cold disks \
and caches.</p>\
<p><b>Intervals</b> are 95 % intervals by Welch’s method, which allows the two sides to vary \
differently. Times, memory and ratios are compared by their logarithms; quantities that can be zero, \
such as causes, by their difference. Fewer than three starts on a side give no interval. When commands \
are run, the starts of the two sides are interleaved, but not paired.</p>\
<p><b>Verdicts.</b> Slower or faster means that the change is significant, corrected for the number \
of quantities (Holm’s method): if nothing changed, at most 5 % of comparisons report a change. Same \
means that the whole interval lies within the margin. Everything else is inconclusive, which proves \
nothing either way: more starts are needed.</p>\
<p><b>A regression</b> has the verdict slower (or larger, for memory), a whole interval beyond the \
margin, and a change of at least the floor. Only gated quantities can fail a comparison.</p>";

/// The explanation for comparisons of runs.
const RUNS: &str = "\
<p><b>Time to first</b> runs from exec of the command to the end of its first iteration, or to the \
end of the program if nothing repeats. The causes add up to it, so their differences add up to its \
difference.</p>\
<p><b>Items</b>, such as modules and calls, come from one start of each side, the one nearest to \
the median. A new module is listed, but not the modules that it imports.</p>";

/// The explanation for comparisons of lab results.
const LAB: &str = "\
<p><b>Series</b> are matched by experiment, device, variant, name and size. Series that only one \
side has are not compared; a note lists them.</p>";

/// Adds the section.
pub(in crate::compare::html) fn add_method(page: &mut ComparePage) {
    let specific = match page.report.kind {
        CompareKind::Runs => RUNS,
        CompareKind::Lab => LAB,
    };
    page.section(
        "method",
        "How to read this",
        "",
        &format!("<div class=\"method\">{METHOD}{specific}</div>"),
    );
}
