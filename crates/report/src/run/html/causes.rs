//! The causes of the time to first: one bar, and a row per cause that expands to its items.

use maud::{Markup, html};
use preheat_model::run::{Cause, CauseReport, Item};

use super::{RunPage, first_of};
use crate::html::bands::{Stack, in_order};
use crate::html::cause_style::{self, key};
use crate::html::cut;
use crate::html::figure::{Figure, Table, folded, list};
use crate::html::page::note;
use crate::html::scale::{Axis, round_step};
use crate::html::svg::{Anchor, Svg};
use crate::run::text::waited;
use crate::units::{ABSENT, bytes, counted, duration, percent, tie};

/// Causes below this share are folded away.
const FOLDED_BELOW: f64 = 0.005;

/// Adds the section.
pub(super) fn add(page: &mut RunPage) {
    let report = page.report;
    if report.causes.is_empty() {
        return;
    }
    let parts = in_order(report.causes.iter().map(|c| (c.cause, c.seconds)));
    let bar = bar(page, &parts);
    let largest = report
        .causes
        .iter()
        .map(|cause| cause.share)
        .filter(|share| share.is_finite())
        .fold(0.0, f64::max);
    let (small, large): (Vec<&CauseReport>, Vec<&CauseReport>) = report
        .causes
        .iter()
        .partition(|cause| cause.share < FOLDED_BELOW);
    let rows =
        |causes: &[&CauseReport]| list("causes", causes.iter().map(|cause| row(cause, largest)));
    let sum: f64 = small.iter().map(|cause| cause.seconds).sum();
    let others = format!(
        "{}, {} in total",
        counted(small.len(), "smaller cause"),
        duration(sum)
    );
    let content = html! { (bar) (rows(&large)) (folded(&others, &rows(&small))) };
    let lead = format!(
        "From exec to {}, each instant has one cause: nothing is counted twice, and the rest is \
         shown as unexplained. Expand a row to see its items.",
        first_of(report)
    );
    page.section("causes", "Causes", &lead, content);
}

fn bar(page: &mut RunPage, parts: &[(Cause, f64)]) -> Markup {
    let total: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
    if total <= 0.0 {
        return Markup::default();
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

fn row(cause: &CauseReport, largest: f64) -> Markup {
    let width = match cause.share / largest {
        part if part.is_finite() => part.clamp(0.0, 1.0) * 100.0,
        _ => 0.0,
    };
    let line = html! {
        (cause_style::square(cause.cause))
        span class="cause" { (cause.cause.as_str()) }
        span class="time" { (tie(&duration(cause.seconds))) }
        span class="share" aria-hidden="true" {
            span class=(cause_style::class(cause.cause)) style=(format_args!("width:{width:.1}%")) {}
        }
        span class="percent" { (tie(&percent(cause.share))) }
        span class="bytes" {
            @if let Some(size) = cause.device_bytes { (tie(&bytes(size))) " on the device" }
        }
        span class="why" { (cause.cause.explanation()) }
    };
    html! {
        @if cause.items.is_empty() {
            div class="line" { (line) }
        } @else {
            details { summary class="line" { (line) } (items(cause)) }
        }
    }
}

fn items(cause: &CauseReport) -> Markup {
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
        1 => "1 smaller one is not shown.".to_owned(),
        left => format!("{left} smaller ones are not shown."),
    };
    html! { div class="items" { (table.html()) (note(&left)) } }
}
