//! Charts made of rows: a label and, beside or below it, bars or marks to scale.
//!
//! Text must not shrink with the page, so each chart is drawn twice, for a wide and for a
//! narrow page; the style sheet shows one of them.

use super::scale::Axis;
use super::svg::{Anchor, Svg};

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
