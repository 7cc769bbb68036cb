//! The causes of the time to first: one bar, and a row per cause that expands to its items.

use preheat_model::run::{Cause, CauseReport, Item};

use super::super::RunPage;
use super::super::first_of;
use crate::html::escape::cut;
use crate::html::escape::escape;
use crate::html::figure::{Figure, Table, folded};
use crate::html::look::{self, key};
use crate::html::scale::{Axis, round_step};
use crate::html::stack::{Stack, in_order};
use crate::html::svg::{Anchor, Svg};
use crate::run::words::{counted, percent, waited};
use crate::units::{ABSENT, bytes, duration, tie};

/// Causes below this share are folded away.
const SMALL: f64 = 0.005;

/// Adds the section.
pub(in crate::run::html) fn add(page: &mut RunPage) {
    let report = page.report;
    if report.causes.is_empty() {
        return;
    }
    let parts = in_order(report.causes.iter().map(|c| (c.cause, c.seconds)));
    let mut html = bar(page, &parts);
    let largest = report
        .causes
        .iter()
        .map(|cause| cause.share)
        .filter(|share| share.is_finite())
        .fold(0.0, f64::max);
    let (small, large): (Vec<&CauseReport>, Vec<&CauseReport>) =
        report.causes.iter().partition(|cause| cause.share < SMALL);
    let rows = |causes: &[&CauseReport]| -> String {
        let rows: String = causes.iter().map(|c| row(c, largest)).collect();
        format!("<ul class=\"causes\">{rows}</ul>")
    };
    if !large.is_empty() {
        html.push_str(&rows(&large));
    }
    if !small.is_empty() {
        let sum: f64 = small.iter().map(|cause| cause.seconds).sum();
        let others = format!(
            "{}, {} in total",
            counted(small.len(), "smaller cause"),
            duration(sum)
        );
        html.push_str(&folded(&others, &rows(&small)));
    }
    let lead = format!(
        "From exec to {}, each instant has one cause: nothing is counted twice, and the rest is \
         shown as unexplained. Expand a row to see its items.",
        first_of(report)
    );
    page.section("causes", "Causes", &lead, &html);
}

fn bar(page: &mut RunPage, parts: &[(Cause, f64)]) -> String {
    let total: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
    if total <= 0.0 {
        return String::new();
    }
    let title = "Time to first by cause, in the usual order of startup";
    let description = parts
        .iter()
        .map(|(cause, seconds)| format!("{} {}", cause.as_str(), duration(*seconds)))
        .collect::<Vec<_>>()
        .join(", ");
    let draw = |width: f64, ticks: usize| {
        let step = round_step(total, ticks);
        let axis = Axis::from_zero(total, step, duration).over(0.0, width);
        let mut svg = Svg::new(width, 74.0);
        let stack = Stack {
            axis: &axis,
            top: 0.0,
            height: 50.0,
            name: "",
        };
        stack.draw(&mut svg, parts);
        for (value, name) in &axis.ticks {
            let at = axis.at(*value);
            svg.line("axis-line", (at, 50.0), (at, 55.0));
            let anchor = match at {
                at if at < 12.0 => Anchor::Start,
                at if at > width - 20.0 => Anchor::End,
                _ => Anchor::Middle,
            };
            svg.text("tick", anchor, (at, 69.0), name);
        }
        svg
    };
    let drawings = [("wide", 1000.0, 9), ("narrow", 360.0, 4)].map(|(class, width, ticks)| {
        draw(width, ticks).finish(&page.id(), class, title, &description)
    });
    let causes: Vec<Cause> = parts.iter().map(|(cause, _)| *cause).collect();
    Figure {
        key: key(&causes),
        drawings: drawings.to_vec(),
        ..Figure::default()
    }
    .html()
}

fn row(cause: &CauseReport, largest: f64) -> String {
    let width = match cause.share / largest {
        part if part.is_finite() => part.clamp(0.0, 1.0) * 100.0,
        _ => 0.0,
    };
    let memory = match cause.device_bytes {
        Some(size) => format!(
            "<span class=\"bytes\">{} on the device</span>",
            escape(&tie(&bytes(size)))
        ),
        None => "<span class=\"bytes\"></span>".to_owned(),
    };
    let line = format!(
        "{}<span class=\"cause\">{}</span><span class=\"time\">{}</span>\
         <span class=\"share\" aria-hidden=\"true\"><span class=\"{}\" style=\"width:{width:.1}%\"></span></span>\
         <span class=\"percent\">{}</span>{memory}<span class=\"why\">{}</span>",
        look::square(cause.cause),
        escape(cause.cause.as_str()),
        escape(&tie(&duration(cause.seconds))),
        look::class(cause.cause),
        escape(&tie(&percent(cause.share))),
        escape(cause.cause.explanation()),
    );
    if cause.items.is_empty() {
        return format!("<li><div class=\"line\">{line}</div></li>\n");
    }
    format!(
        "<li><details><summary class=\"line\">{line}</summary>{}</details></li>\n",
        items(cause)
    )
}

fn items(cause: &CauseReport) -> String {
    let has = |of: fn(&Item) -> bool| cause.items.iter().any(of);
    let (nested, waiting, sized) = (
        has(|item| item.inclusive > item.seconds * 1.001),
        has(|item| waited(item.waiting, item.seconds).is_some()),
        has(|item| item.bytes.is_some()),
    );
    let mut head = vec!["item", if nested { "own" } else { "time" }];
    head.extend(nested.then_some("total"));
    head.extend(waiting.then_some("waiting"));
    head.push(match cause.cause {
        Cause::PythonImports | Cause::BytecodeCompilation => "modules",
        _ => "count",
    });
    head.extend(sized.then_some("bytes"));
    head.push("details");
    let mut table = Table::new(&head);
    table.words = vec![head.len() - 1];
    for item in &cause.items {
        let mut row = vec![cut(&item.name, 90), duration(item.seconds)];
        row.extend(nested.then(|| duration(item.inclusive)));
        row.extend(waiting.then(|| {
            let waited = waited(item.waiting, item.seconds);
            waited.map_or(String::new(), duration)
        }));
        row.push(item.count.to_string());
        row.extend(sized.then(|| item.bytes.map_or(ABSENT.to_owned(), bytes)));
        row.push(cut(&item.detail, 200));
        table.rows.push(row);
    }
    let shown = cause.items.len() as u64;
    let left = match cause.items_in_all.saturating_sub(shown) {
        0 => String::new(),
        left => {
            let (them, are) = match left {
                1 => ("one", "is"),
                _ => ("ones", "are"),
            };
            format!("<p class=\"note\">{left} smaller {them} {are} not shown.</p>")
        }
    };
    format!("<div class=\"items\">{}{left}</div>", table.html())
}
