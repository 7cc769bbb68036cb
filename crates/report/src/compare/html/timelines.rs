//! Both timelines, one below the other on one axis. A script draws them from the data in the
//! page; without JavaScript they are a static picture.

use maud::{Markup, html};
use preheat_model::Quantity;
use preheat_model::compare::{CompareReport, Level, QuantityChange};
use preheat_model::run::{Cause, RunView, Segment};
use serde_json::{Value, json};

use super::ComparePage;
use crate::compare::{ends, value};
use crate::html::bands::{Bands, Layout, NARROW, WIDE};
use crate::html::cause_style;
use crate::html::figure::{Figure, Table, grid};
use crate::html::moving::{DETAIL, Names, chart, element, help, longest, micros, plain, segment};
use crate::html::page::note;
use crate::html::scale::{Axis, round_step};
use crate::html::svg::{Anchor, Mark, Svg};
use crate::html::{command_line, cut};
use crate::units::{ABSENT, duration};

/// The number of segments per path in the static picture: the longest ones.
const MAX_DRAWN_SEGMENTS: usize = 150;
/// The number of segments per path in the data table: the longest ones.
const MAX_LISTED_SEGMENTS: usize = 40;

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
        key: cause_style::key(&causes),
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
        for part in parts(view, MAX_DRAWN_SEGMENTS) {
            let (from, to) = (bands.axis.at(part.begin), bands.axis.at(part.end));
            let tooltip = format!(
                "{name}: {} {} {}",
                part.cause.as_str(),
                cut(&part.label, 80),
                duration(part.end - part.begin)
            );
            bands.svg.rect(
                &format!("bar {}", cause_style::class(part.cause)),
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
        for part in parts(view, MAX_LISTED_SEGMENTS) {
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

// Every start as a dot: compares the difference between the sides with the spread of the
// starts.

/// The quantities whose starts are shown.
const SHOWN: [Quantity; 3] = [Quantity::TimeToFirst, Quantity::First, Quantity::Steady];
/// The layout of a drawing.
const WIDTH: f64 = 360.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const ROW: f64 = 54.0;
/// The maximum number of starts per side.
const MAX_DRAWN_STARTS: usize = 200;

/// Adds the section.
pub(super) fn add_starts(page: &mut ComparePage) {
    let report = page.report;
    let figures: Vec<Markup> = SHOWN
        .iter()
        .filter_map(|id| report.quantities.iter().find(|quantity| quantity.id == *id))
        .filter_map(|quantity| figure(page, quantity))
        .collect();
    let lead = "Each dot is a counted start; the line below the dots is their mean with its 95 % \
                interval. The very first start of a side is left out: it may have found cold disks \
                and caches.";
    page.section("starts", "Starts", lead, grid(&figures));
}

fn figure(page: &mut ComparePage, quantity: &QuantityChange) -> Option<Markup> {
    let sides: Vec<(&str, &Level)> = [("base", &quantity.base), ("new", &quantity.new)]
        .into_iter()
        .filter_map(|(name, level)| Some((name, level.as_ref()?)))
        .collect();
    let unit = quantity.unit;
    let all = sides.iter().flat_map(|(_, level)| {
        let mean = &level.mean;
        let ends = [Some(mean.value), mean.low, mean.high];
        level
            .values
            .iter()
            .copied()
            .chain(ends.into_iter().flatten())
    });
    let axis = Axis::between(all, 4, |at| value(at, unit))?.over(LEFT, WIDTH - RIGHT);
    let bottom = TOP + ROW * sides.len() as f64;
    let mut svg = Svg::new(WIDTH, bottom + 6.0);
    for (at, name) in &axis.ticks {
        let x = axis.at(*at);
        svg.line("grid-line", (x, TOP - 8.0), (x, bottom));
        let anchor = match x {
            x if x > WIDTH - 30.0 => Anchor::End,
            _ => Anchor::Middle,
        };
        svg.text("tick", anchor, (x, 16.0), name);
    }
    let mut data = Table::new(&["side", "start", "value"]);
    for (row, (name, level)) in sides.iter().enumerate() {
        let middle = TOP + ROW * (row as f64 + 0.5) - 6.0;
        svg.text("label", Anchor::Start, (4.0, middle + 5.0), name);
        for (at, start) in level.values.iter().enumerate().take(MAX_DRAWN_STARTS) {
            data.rows.push(vec![
                (*name).to_owned(),
                (at + 1).to_string(),
                value(*start, unit),
            ]);
            if !start.is_finite() {
                continue;
            }
            // Offset the dots vertically, so that nearby starts do not overlap.
            let offset = [0.0, -7.0, 7.0, -3.5, 3.5][at % 5];
            let tooltip = format!("{name}, start {}: {}", at + 1, value(*start, unit));
            let class = format!("mark of-{name}");
            let position = (axis.at(*start), middle + offset);
            svg.mark(Mark::Circle, &class, position, &tooltip);
        }
        mean(&mut svg, &axis, level, middle + 20.0);
    }
    let description = sides
        .iter()
        .map(|(name, level)| format!("{name}: {}.", value(level.mean.value, unit)))
        .collect::<Vec<_>>()
        .join(" ");
    let title = quantity.name.clone();
    let figure = Figure {
        note: match sides.as_slice() {
            [(_, base), (_, new)] => format!(
                "{} → {}",
                value(base.mean.value, unit),
                value(new.mean.value, unit)
            ),
            _ => ABSENT.to_owned(),
        },
        drawings: vec![svg.finish(&page.id(), "strip", &title, &description)],
        data,
        title,
        ..Figure::default()
    };
    Some(figure.html())
}

fn mean(svg: &mut Svg, axis: &Axis, level: &Level, y: f64) {
    if let Some((low, high)) = ends(&level.mean) {
        let (from, to) = (axis.at(low.min(high)), axis.at(low.max(high)));
        svg.line("mean-line", (from, y), (to, y));
        for x in [from, to] {
            svg.line("mean-line", (x, y - 3.0), (x, y + 3.0));
        }
    }
    if level.mean.value.is_finite() {
        let x = axis.at(level.mean.value);
        svg.line("mean-line strong-line", (x, y - 6.0), (x, y + 6.0));
    }
}
