//! Stacked bars of causes, one per row.

use preheat_model::run::Cause;

use super::super::RunPage;
use crate::html::bands::{Bands, Layout, NARROW, WIDE};
use crate::html::figure::{Figure, Table};
use crate::html::look;
use crate::html::scale::{Axis, round_step};
use crate::html::stack::Stack;
use crate::html::svg::Svg;
use crate::units::duration;

/// A bar to draw.
pub(super) struct Bar {
    pub name: String,
    pub parts: Vec<(Cause, f64)>,
    pub total: f64,
    /// The interval of its length.
    pub sure: String,
    /// True if it begins a new group.
    pub new: bool,
}

/// Renders the bars with a title and a note.
pub(super) fn figure(
    page: &mut RunPage,
    (title, note): (&str, &str),
    key: String,
    bars: &[Bar],
    data: Table,
) -> String {
    let sum = |bar: &Bar| bar.parts.iter().map(|(_, seconds)| seconds).sum::<f64>();
    let longest = bars.iter().map(sum).fold(0.0, f64::max);
    if longest <= 0.0 {
        let figure = Figure {
            title: title.to_owned(),
            note: "There is nothing to draw.".to_owned(),
            data,
            ..Figure::default()
        };
        return figure.html();
    }
    let description = bars
        .iter()
        .map(|bar| format!("{}: {}.", bar.name, duration(bar.total)))
        .collect::<Vec<_>>()
        .join(" ");
    let drawings = [WIDE, NARROW].map(|layout| {
        draw(layout, bars, longest).finish(&page.id(), layout.class, title, &description)
    });
    Figure {
        title: title.to_owned(),
        note: note.to_owned(),
        key,
        drawings: drawings.to_vec(),
        data,
        ..Figure::default()
    }
    .html()
}

pub(super) fn key(bars: &[Bar]) -> String {
    let causes: Vec<Cause> = bars
        .iter()
        .flat_map(|bar| bar.parts.iter().map(|(cause, _)| *cause))
        .collect();
    look::key(&causes)
}

fn draw(layout: Layout, bars: &[Bar], longest: f64) -> Svg {
    let step = round_step(longest, layout.ticks.min(6));
    let news: Vec<bool> = bars.iter().map(|bar| bar.new).collect();
    let mut bands = Bands::new(layout, &news, Axis::from_zero(longest, step, duration));
    for (row, bar) in bars.iter().enumerate() {
        bands.name(row, &bar.name);
        bands.end(row, &duration(bar.total), &bar.sure);
        let stack = Stack {
            axis: &bands.axis,
            top: bands.middle(row) - 9.0,
            height: 18.0,
            name: &bar.name,
        };
        stack.draw(&mut bands.svg, &bar.parts);
    }
    bands.svg
}
