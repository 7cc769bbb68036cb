//! Both timelines, one below the other on one axis. A script draws them from the data in the
//! page; without JavaScript they are a static picture.

use maud::{Markup, html};
use preheat_model::compare::CompareReport;
use preheat_model::run::{Cause, RunView, Segment};
use serde_json::{Value, json};

use super::ComparePage;
use crate::html::bands::{Bands, Layout, NARROW, WIDE};
use crate::html::figure::{Figure, Table};
use crate::html::look;
use crate::html::markup::{command_line, cut};
use crate::html::moving::{DETAIL, Names, chart, element, help, longest, micros, plain, segment};
use crate::html::page::note;
use crate::html::scale::{Axis, round_step};
use crate::html::svg::Svg;
use crate::units::duration;

/// The number of segments per path in the static picture: the longest ones.
const STILL: usize = 150;
/// The number of segments per path in the data table: the longest ones.
const LISTED: usize = 40;

/// Adds the section, with a note in place of missing timelines.
pub(super) fn add(page: &mut ComparePage, views: [Option<&RunView>; 2]) {
    let missing = missing(page.report, views);
    let sides: Vec<(&str, &RunView)> = ["base", "new"]
        .into_iter()
        .zip(views)
        .filter_map(|(name, view)| Some((name, view?)))
        .collect();
    let until = sides.iter().map(|(_, view)| end(view)).fold(0.0, f64::max);
    if sides.is_empty() || until <= 0.0 {
        page.section("timelines", "Timelines", "", note(&missing));
        return;
    }
    let causes: Vec<Cause> = sides
        .iter()
        .flat_map(|(_, view)| parts(view, usize::MAX))
        .map(|part| part.cause)
        .collect();
    let still = [WIDE, NARROW].map(|layout| {
        draw(layout, &sides, until).finish(
            &page.id(),
            layout.class,
            "The paths from exec to the end of the first iteration",
            "Each instant in the color of its cause, base above new.",
        )
    });
    let sentence = "With JavaScript, this chart can be zoomed.";
    let moving = chart("timelines-chart", sentence, &still);
    let figure = Figure {
        title: "From exec to the end of the first iteration".to_owned(),
        note: "The cause of the time at each instant, for the start of each side that is nearest \
               to the median. Both are on one axis."
            .to_owned(),
        key: look::key(&causes),
        drawings: vec![moving],
        data: table(&sides),
        ..Figure::default()
    };
    let content = html! { (figure.html()) (note(&missing)) (help()) };
    page.section("timelines", "Timelines", "", content);
}

/// The note on missing timelines; empty if there are none.
fn missing(report: &CompareReport, views: [Option<&RunView>; 2]) -> String {
    match views {
        [Some(_), Some(_)] => String::new(),
        [None, None] => {
            "No timelines: they need the recordings; the compared documents do not contain them."
                .to_owned()
        }
        [base, _] => {
            let (name, side) = match base {
                None => ("base", &report.base),
                Some(_) => ("new", &report.new),
            };
            format!(
                "No timeline for {name}: {} is not a recording and does not contain one.",
                cut(&side.source, 80)
            )
        }
    }
}

fn draw(layout: Layout, sides: &[(&str, &RunView)], until: f64) -> Svg {
    let layout = Layout {
        left: if layout.roomy { 70.0 } else { 4.0 },
        right: layout.width - 4.0,
        row: layout.row + 16.0,
        middle: layout.middle + 8.0,
        label: layout.label + if layout.roomy { 8.0 } else { 0.0 },
        ..layout
    };
    let step = round_step(until, layout.ticks);
    let rows = vec![true; sides.len()];
    let mut bands = Bands::new(layout, &rows, Axis::from_zero(until, step, duration));
    for (row, (name, view)) in sides.iter().enumerate() {
        bands.name(row, name);
        let top = bands.middle(row) - 11.0;
        for part in parts(view, STILL) {
            let (from, to) = (bands.axis.at(part.begin), bands.axis.at(part.end));
            let tooltip = format!(
                "{name}: {} {} {}",
                part.cause.as_str(),
                cut(&part.label, 80),
                duration(part.end - part.begin)
            );
            bands.svg.rect(
                &format!("bar {}", look::class(part.cause)),
                (from, top),
                ((to - from).max(0.6), 22.0),
                &tooltip,
            );
        }
        let at = bands.axis.at(end(view));
        bands
            .svg
            .line("first-line", (at, top - 3.0), (at, top + 26.0));
    }
    bands.svg
}

fn table(sides: &[(&str, &RunView)]) -> Table {
    let mut table = Table::new(&["side", "from", "to", "time", "cause", "main item"]);
    table.words = vec![4, 5];
    for (name, view) in sides {
        for part in parts(view, LISTED) {
            table.rows.push(vec![
                (*name).to_owned(),
                duration(part.begin),
                duration(part.end),
                duration(part.end - part.begin),
                part.cause.as_str().to_owned(),
                cut(&part.label, 90),
            ]);
        }
    }
    table
}

/// The maximum number of segments per path.
const SEGMENTS: usize = 1500;

/// The element that holds the data.
pub(super) fn block(report: &CompareReport, views: [Option<&RunView>; 2]) -> Markup {
    let mut names = Names::default();
    let mut sides: Vec<Value> = Vec::new();
    let until = views.into_iter().flatten().map(end).fold(0.0, f64::max);
    let about = [("base", &report.base), ("new", &report.new)];
    for (view, (name, side)) in views.into_iter().zip(about) {
        let Some(view) = view else { continue };
        let path: Vec<Value> = parts(view, SEGMENTS)
            .iter()
            .map(|part| segment(part, &mut names))
            .collect();
        let first = view
            .iterations
            .first()
            .filter(|(begin, _)| begin.is_finite());
        sides.push(json!({
            "name": name,
            "command": plain(&command_line(&side.command), DETAIL),
            "path": path,
            "first": micros(end(view)),
            "iteration": first.map(|(begin, _)| micros(*begin)),
        }));
    }
    element(&json!({
        "until": micros(until),
        "causes": Cause::ALL.map(Cause::as_str),
        "sides": sides,
        "names": names.all,
    }))
}

/// The end of the first iteration, or of the view if nothing repeats.
fn end(view: &RunView) -> f64 {
    let first = view.iterations.first().map(|(_, end)| *end);
    let end = first.filter(|end| end.is_finite()).unwrap_or(view.until);
    if end.is_finite() { end.max(0.0) } else { 0.0 }
}

/// The longest segments up to [`end`], in order.
fn parts(view: &RunView, most: usize) -> Vec<Segment> {
    let end = end(view);
    let inside: Vec<Segment> = view
        .path
        .iter()
        .filter(|part| part.begin < end)
        .map(|part| Segment {
            end: part.end.min(end),
            ..part.clone()
        })
        .collect();
    let longest = longest(&inside, most, |part| (part.begin, part.end));
    longest.into_iter().cloned().collect()
}
