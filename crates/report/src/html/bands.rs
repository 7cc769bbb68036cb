//! Charts made of rows: a label and, beside or below it, bars or marks to scale.
//!
//! Text must not shrink with the page, so each chart is drawn twice, for a wide and for a
//! narrow page; the style sheet shows one of them.

use maud::Markup;
use preheat_model::run::Cause;

use super::cause_style;
use super::figure::{Figure, Table};
use super::page::Page;
use super::scale::{Axis, round_step};
use super::svg::{Anchor, Svg};
use crate::units::duration;

/// The layout of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub class: &'static str,
    pub width: f64,
    /// The left and right edges of the plot area.
    pub left: f64,
    pub right: f64,
    /// The height of a row.
    pub row: f64,
    /// The distance from the top of the row to the middle of its bar.
    pub middle: f64,
    /// The distance from the top of the row to the baseline of the label.
    pub label: f64,
    /// The maximum number of labels on the axis.
    pub ticks: usize,
    /// True if there is space for text beside the plot area.
    pub roomy: bool,
}

/// The layout with labels on the left.
pub(crate) const WIDE: Layout = Layout {
    class: "wide",
    width: 1000.0,
    left: 250.0,
    right: 828.0,
    row: 26.0,
    middle: 13.0,
    label: 17.5,
    ticks: 9,
    roomy: true,
};

/// The layout with labels above the bars.
pub(crate) const NARROW: Layout = Layout {
    class: "narrow",
    width: 360.0,
    left: 10.0,
    right: 350.0,
    row: 46.0,
    middle: 32.0,
    label: 16.0,
    ticks: 5,
    roomy: false,
};

/// The space for the axis above the rows.
const TOP: f64 = 26.0;
/// The space below the rows.
const BOTTOM: f64 = 10.0;
/// The space before a row that begins a new group.
const GAP: f64 = 10.0;

/// A chart under construction.
pub(crate) struct Bands {
    pub svg: Svg,
    pub axis: Axis,
    pub layout: Layout,
    tops: Vec<f64>,
}

impl Bands {
    /// Creates a chart with a row for each of `rows`; true for a row that begins a new group.
    pub fn new(layout: Layout, rows: &[bool], axis: Axis) -> Bands {
        let axis = axis.over(layout.left, layout.right);
        let mut tops = Vec::with_capacity(rows.len());
        let mut end = TOP;
        for (index, new) in rows.iter().enumerate() {
            end += if *new && index > 0 { GAP } else { 0.0 };
            tops.push(end);
            end += layout.row;
        }
        let mut svg = Svg::new(layout.width, end + BOTTOM);
        for (value, name) in &axis.ticks {
            let at = axis.at(*value);
            svg.line("grid-line", (at, TOP - 6.0), (at, end));
            let anchor = match at {
                at if at > layout.width - 24.0 => Anchor::End,
                at if at < 24.0 => Anchor::Start,
                _ => Anchor::Middle,
            };
            svg.text("tick", anchor, (at, 14.0), name);
        }
        Bands {
            svg,
            axis,
            layout,
            tops,
        }
    }

    /// The vertical middle of the bar of a row.
    pub fn middle(&self, row: usize) -> f64 {
        self.tops[row] + self.layout.middle
    }

    /// Adds the label of a row.
    pub fn name(&mut self, row: usize, text: &str) {
        let layout = &self.layout;
        let (x, anchor) = if layout.roomy {
            (layout.left - 14.0, Anchor::End)
        } else {
            (layout.left, Anchor::Start)
        };
        self.svg
            .text("label", anchor, (x, self.tops[row] + layout.label), text);
    }

    /// Adds text at the right end of a row.
    pub fn end(&mut self, row: usize, strong: &str, faint: &str) {
        let (layout, y) = (&self.layout, self.tops[row] + self.layout.label);
        if layout.roomy {
            self.svg.text(
                "label strong",
                Anchor::End,
                (layout.right + 62.0, y),
                strong,
            );
            self.svg
                .text("tick", Anchor::Start, (layout.right + 70.0, y), faint);
        } else {
            self.svg
                .text("label strong", Anchor::End, (layout.right, y), strong);
        }
    }
}

// Stacked bars of causes: one of them, or a figure with one per row.

/// The position and name of a stacked bar.
pub(crate) struct Stack<'a> {
    pub axis: &'a Axis,
    pub top: f64,
    pub height: f64,
    /// The text before the cause in tooltips.
    pub name: &'a str,
}

impl Stack<'_> {
    /// Draws the parts from 0 on, with labels where they fit.
    pub fn draw(&self, svg: &mut Svg, parts: &[(Cause, f64)]) {
        let mut sum = 0.0;
        for (cause, seconds) in parts {
            let from = self.axis.at(sum);
            sum += seconds;
            let width = self.axis.at(sum) - from;
            let (name, time) = (cause.as_str(), duration(*seconds));
            let tooltip = match self.name {
                "" => format!("{name} {time}"),
                of => format!("{of}: {name} {time}"),
            };
            // A part that is too short to see is still drawn as a line.
            svg.rect(
                &format!("bar {}", cause_style::class(*cause)),
                (from, self.top),
                (width.max(0.6), self.height),
                &tooltip,
            );
            self.write(svg, *cause, &time, (from, width));
        }
    }

    fn write(&self, svg: &mut Svg, cause: Cause, time: &str, (from, width): (f64, f64)) {
        let middle = from + width / 2.0;
        let mut text = |text: &str, y: f64| {
            let class = format!("on-bar {}", cause_style::ink(cause));
            svg.text(&class, Anchor::Middle, (middle, y), text);
        };
        let fits = |text: &str| written(text) + 10.0 <= width;
        let name = cause.short();
        let center = self.top + self.height / 2.0;
        if self.height >= 36.0 && fits(name) && fits(time) {
            text(name, center - 4.0);
            text(time, center + 13.0);
        } else if fits(&format!("{name} {time}")) {
            text(&format!("{name} {time}"), center + 4.0);
        } else if fits(name) {
            text(name, center + 4.0);
        } else if fits(time) {
            text(time, center + 4.0);
        }
    }
}

/// The parts that can be drawn, in the usual order of a program's startup.
pub(crate) fn in_order(parts: impl Iterator<Item = (Cause, f64)>) -> Vec<(Cause, f64)> {
    let mut parts: Vec<(Cause, f64)> = parts
        .filter(|(_, seconds)| seconds.is_finite() && *seconds > 0.0)
        .collect();
    parts.sort_by_key(|(cause, _)| *cause);
    parts
}

/// The approximate width of a text on a bar.
pub(crate) fn written(text: &str) -> f64 {
    text.chars().count() as f64 * 6.4
}

/// A bar of a figure.
pub(crate) struct Bar {
    pub name: String,
    pub parts: Vec<(Cause, f64)>,
    pub total: f64,
    /// The interval of its length.
    pub sure: String,
    /// True if it begins a new group.
    pub new: bool,
}

/// Renders the bars with a title and a note.
pub(crate) fn bars<R>(
    page: &mut Page<R>,
    (title, note): (&str, &str),
    key: Markup,
    bars: &[Bar],
    data: Table,
) -> Markup {
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

/// The legend of the bars.
pub(crate) fn key(bars: &[Bar]) -> Markup {
    let causes: Vec<Cause> = bars
        .iter()
        .flat_map(|bar| bar.parts.iter().map(|(cause, _)| *cause))
        .collect();
    cause_style::key(&causes)
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
