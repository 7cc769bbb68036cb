//! Renders a comparison as one self-contained HTML file.
//!
//! Text, tables and most drawings are static. The two timelines are interactive: their data
//! is in the page as JSON, and a script draws them with the functions of the run page.
//! Without JavaScript the page shows a static picture.
//!
//! Each file is a part of the page. A section without data adds nothing.

mod causes;
mod quantities;
mod timelines;

use maud::{Markup, html};
use preheat_model::Quantity;
use preheat_model::compare::{CompareKind, CompareReport, Level, QuantityChange, Side, Verdict};
use preheat_model::run::RunView;

use super::margin;
use crate::compare::gate::{Decision, FLAG, gate};
use crate::compare::{change, percents, sentence, signed, starred, value, verdict};
use crate::html::figure::list;
use crate::html::moving::script;
use crate::html::page::{self, Frame, Page, cards, fact, facts, machine, method};
use crate::html::{PROGRAM_STYLE, cause_style};
use crate::html::{code, command_line, cut};
use crate::terminal::clean;
use crate::units::{ABSENT, TIE, bytes_f64, counted, duration, tie};

/// Style rules in addition to those of all program pages.
const STYLE: &str = include_str!("style.css");
/// The script that draws the timelines.
const CHARTS: &str = include_str!("script/timelines.js");

/// The page under construction.
type ComparePage<'a> = Page<'a, CompareReport>;

/// Renders the comparison as one self-contained HTML file. The views hold the timelines of
/// the two sides; a JSON document has none.
pub fn compare_html(
    report: &CompareReport,
    base: Option<&RunView>,
    new: Option<&RunView>,
) -> String {
    let mut page = Page::new(report);
    let views = [base, new].map(|view| view.filter(|view| !view.path.is_empty()));
    match report.kind {
        CompareKind::Lab => quantities::add_lab(&mut page),
        CompareKind::Runs => {
            quantities::add(&mut page);
            timelines::add(&mut page, views);
            causes::add(&mut page);
            timelines::add_starts(&mut page);
        }
    }
    notes(&mut page);
    let specific = match report.kind {
        CompareKind::Runs => &RUNS[..],
        CompareKind::Lab => &LAB,
    };
    let method = method(&[&METHOD, specific].concat());
    page.section("method", "How to read this", "", method);
    let moving = views.iter().any(Option::is_some) && report.kind == CompareKind::Runs;
    let (data, script) = match moving {
        true => (timelines::block(report, views), script(CHARTS)),
        false => (Markup::default(), String::new()),
    };
    Frame {
        title: format!("preheat compare: {}", clean(&report.headline.text)),
        style: &format!("{PROGRAM_STYLE}{STYLE}{}", cause_style::rules()),
        header: html! { (cause_style::patterns()) (top(report)) },
        body: html! { (page.finish()) (data) },
        script: &script,
        version: &report.preheat,
    }
    .html()
}

/// The CSS class that gives a verdict its color.
fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "holds",
        Verdict::Slower => "fails",
        Verdict::Same => "unknown",
        Verdict::Inconclusive => "open",
    }
}

/// The symbol shown with a verdict, so that it does not rely on color alone.
fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "▼",
        Verdict::Slower => "▲",
        Verdict::Same => "=",
        Verdict::Inconclusive => "?",
    }
}

/// Adds the notes, the definition of a regression, and the machines.
fn notes(page: &mut ComparePage) {
    let report = page.report;
    let mut gated: Vec<&str> = Vec::new();
    for quantity in report.quantities.iter().filter(|quantity| quantity.gated) {
        if !gated.contains(&quantity.name.as_str()) {
            gated.push(&quantity.name);
        }
    }
    let floors = &report.floors;
    let rules = [
        fact("beyond", margin(report.max_regression)),
        fact("and at least", duration(floors.seconds)),
        fact("steady", duration(floors.steady)),
        fact("memory", bytes_f64(floors.bytes)),
        fact("gated", gated.join(", ")),
    ];
    let on = |name: &str, side: &Side| facts(name, &side.machine.cpu, &machine(&side.machine));
    let mut all = vec![facts("regression", "Thresholds", &rules)];
    if report.kind == CompareKind::Runs && report.base.machine == report.new.machine {
        all.push(on("machine", &report.base));
    } else {
        all.push(on("machine of base", &report.base));
        all.push(on("machine of new", &report.new));
    }
    let notes = report.notes.iter().map(|note| code(&tie(&sentence(note))));
    let content = html! { (list("plain", notes)) (cards(&all)) };
    page.section("notes", "Notes", "", content);
}

/// The explanation for every comparison.
const METHOD: [(&str, &str); 4] = [
    (
        "Each start counts once.",
        " Iterations of one start are not independent, so each start gives one value for \
         each quantity. The very first start of a side is left out: it may have found cold \
         disks and caches.",
    ),
    (
        "Intervals",
        " are 95 % intervals by Welch’s method, which allows the two sides to vary \
         differently. Times, memory and ratios are compared by their logarithms; quantities \
         that can be zero, such as causes, by their difference. Fewer than three starts on \
         a side give no interval. When commands are run, the starts of the two sides are \
         interleaved, but not paired.",
    ),
    (
        "Verdicts.",
        " Slower or faster means that the change is significant, corrected for the number \
         of quantities (Holm’s method): if nothing changed, at most 5 % of comparisons \
         report a change. Same means that the whole interval lies within the margin. \
         Everything else is inconclusive, which proves nothing either way: more starts are \
         needed.",
    ),
    (
        "A regression",
        " has the verdict slower (or larger, for memory), a whole interval beyond the \
         margin, and a change of at least the floor. Only gated quantities can fail a \
         comparison.",
    ),
];

/// The explanation for comparisons of runs.
const RUNS: [(&str, &str); 2] = [
    (
        "Time to first",
        " runs from exec of the command to the end of its first iteration, or to the end of \
         the program if nothing repeats. The causes add up to it, so their differences add \
         up to its difference.",
    ),
    (
        "Items",
        ", such as modules and calls, come from one start of each side, the one nearest to \
         the median. A new module is listed, but not the modules that it imports.",
    ),
];

/// The explanation for comparisons of lab results.
const LAB: [(&str, &str); 1] = [(
    "Series",
    " are matched by experiment, device, variant, name and size. Series that only one \
         side has are not compared; a note lists them.",
)];

// The top of the page: the change and its cause, the decision, the most important
// quantities, and the two sides.

/// Renders the header.
fn top(report: &CompareReport) -> Markup {
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
            let verdict = match starred(quantity) {
                Some(word) => format!("{word}, but not after correction"),
                None => verdict(quantity),
            };
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
