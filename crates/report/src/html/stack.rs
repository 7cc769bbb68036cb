//! A stacked bar of causes.

use preheat_model::run::Cause;

use super::look;
use crate::html::scale::Axis;
use crate::html::svg::{Anchor, Svg};
use crate::units::duration;

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
                &format!("bar {}", look::class(*cause)),
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
            let class = format!("on-bar {}", look::ink(cause));
            svg.text(&class, Anchor::Middle, (middle, y), text);
        };
        let fits = |text: &str| written(text) + 10.0 <= width;
        let name = cause.short();
        let centre = self.top + self.height / 2.0;
        if self.height >= 36.0 && fits(name) && fits(time) {
            text(name, centre - 4.0);
            text(time, centre + 13.0);
        } else if fits(&format!("{name} {time}")) {
            text(&format!("{name} {time}"), centre + 4.0);
        } else if fits(name) {
            text(name, centre + 4.0);
        } else if fits(time) {
            text(time, centre + 4.0);
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
