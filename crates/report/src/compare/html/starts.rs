//! Every start as a dot: compares the difference between the sides with the spread of the
//! starts.

use maud::Markup;
use preheat_model::Quantity;
use preheat_model::compare::{Level, QuantityChange};

use super::ComparePage;
use crate::compare::words::{ends, value};
use crate::html::figure::{Figure, Table, grid};
use crate::html::scale::Axis;
use crate::html::svg::{Anchor, Mark, Svg};
use crate::units::ABSENT;

/// The quantities whose starts are shown.
const SHOWN: [Quantity; 3] = [Quantity::TimeToFirst, Quantity::First, Quantity::Steady];
/// The layout of a drawing.
const WIDTH: f64 = 360.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const ROW: f64 = 54.0;
/// The maximum number of starts per side.
const DRAWN: usize = 200;

/// Adds the section.
pub(super) fn add(page: &mut ComparePage) {
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
        for (at, start) in level.values.iter().enumerate().take(DRAWN) {
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
