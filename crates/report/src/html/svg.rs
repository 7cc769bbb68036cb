//! Writes SVG drawings. Shapes have only a class; colors, fonts and dashes come from the
//! style sheet. Chart libraries (plotters, charming) write colors into the shapes, so that a page
//! cannot switch to dark mode, and no descriptions for screen readers.

use std::fmt::Write;

use maud::{Markup, html};

use super::append;

/// The shape of a point, so that points do not differ by color alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Circle,
    Square,
    Diamond,
    Triangle,
}

/// The alignment of a text relative to its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing of a given size; the page scales it.
pub(crate) struct Svg {
    pub width: f64,
    pub height: f64,
    body: Markup,
}

/// A position.
pub(crate) type Point = (f64, f64);

impl Svg {
    pub fn new(width: f64, height: f64) -> Svg {
        Svg {
            width,
            height,
            body: Markup::default(),
        }
    }

    pub fn line(&mut self, class: &str, from: Point, to: Point) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(place);
        self.push(&html! { line class=(class) x1=(x1) y1=(y1) x2=(x2) y2=(y2) {} });
    }

    pub fn text(&mut self, class: &str, anchor: Anchor, at: Point, text: &str) {
        let anchor = match anchor {
            Anchor::Start => None,
            Anchor::Middle => Some("middle"),
            Anchor::End => Some("end"),
        };
        let (x, y) = (place(at.0), place(at.1));
        self.push(&html! { text class=(class) x=(x) y=(y) text-anchor=[anchor] { (text) } });
    }

    pub fn rect(&mut self, class: &str, at: Point, size: Point, title: &str) {
        let [x, y, w, h] = [at.0, at.1, size.0, size.1].map(place);
        self.push(&html! {
            rect class=(class) x=(x) y=(y) width=(w) height=(h) { (hover(title)) }
        });
    }

    /// Draws a line through all points of each run.
    pub fn path(&mut self, class: &str, runs: &[Vec<Point>]) {
        let mut d = String::new();
        for run in runs {
            for (index, (x, y)) in run.iter().enumerate() {
                let command = if index == 0 { 'M' } else { 'L' };
                let _ = write!(d, "{command}{} {}", place(*x), place(*y));
            }
        }
        if !d.is_empty() {
            self.push(&html! { path class=(class) d=(d) {} });
        }
    }

    pub fn mark(&mut self, mark: Mark, class: &str, at: Point, title: &str) {
        self.push(&shape(mark, class, at, title));
    }

    fn push(&mut self, shape: &Markup) {
        append(&mut self.body, shape);
    }

    /// Renders the element with a title and a description for screen readers. `id` must be
    /// unique on the page.
    pub fn finish(&self, id: &str, class: &str, title: &str, description: &str) -> Markup {
        html! {
            svg class={ "chart " (class) }
                viewBox={ "0 0 " (place(self.width)) " " (place(self.height)) }
                role="img" aria-labelledby={ (id) "-t " (id) "-d" } {
                title id={ (id) "-t" } { (title) }
                desc id={ (id) "-d" } { (description) }
                (self.body)
            }
        }
    }
}

/// A sample of a line and its mark, for a legend.
pub(crate) fn swatch(mark: Option<Mark>, class: &str) -> Markup {
    html! {
        svg class="swatch" viewBox="0 0 28 14" aria-hidden="true" {
            line class={ "series " (class) } x1="1" y1="7" x2="27" y2="7" {}
            @if let Some(mark) = mark {
                (shape(mark, &format!("mark {class}"), (14.0, 7.0), ""))
            }
        }
    }
}

fn shape(mark: Mark, class: &str, (x, y): Point, title: &str) -> Markup {
    let corners: &[Point] = match mark {
        Mark::Circle => &[],
        Mark::Square => &[(-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)],
        Mark::Diamond => &[(0.0, -5.8), (5.8, 0.0), (0.0, 5.8), (-5.8, 0.0)],
        Mark::Triangle => &[(0.0, -5.2), (5.0, 4.0), (-5.0, 4.0)],
    };
    let points: Vec<String> = corners
        .iter()
        .map(|(dx, dy)| format!("{},{}", place(x + dx), place(y + dy)))
        .collect();
    html! {
        @if points.is_empty() {
            circle class=(class) cx=(place(x)) cy=(place(y)) r="4.5" { (hover(title)) }
        } @else {
            polygon class=(class) points=(points.join(" ")) { (hover(title)) }
        }
    }
}

/// A tooltip, unless it is empty.
fn hover(title: &str) -> Markup {
    html! { @if !title.is_empty() { title { (title) } } }
}

/// Formats a coordinate with one decimal, which is precise enough and keeps the page small.
pub(crate) fn place(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_finite() {
        assert_eq!(place(1.0), "1");
        assert_eq!(place(1.26), "1.3");
        assert_eq!(place(-0.01), "0");
        assert_eq!(place(f64::NAN), "0");
    }

    #[test]
    fn drawings_have_a_title_and_are_escaped() {
        let mut svg = Svg::new(10.0, 5.0);
        svg.text("label", Anchor::End, (1.0, 2.0), "<a&b>");
        svg.mark(Mark::Diamond, "mark first", (3.0, 3.0), "\"x\"");
        svg.path("series", &[vec![(0.0, 0.0), (1.0, 1.5)], vec![]]);
        let text = svg.finish("c1", "wide", "T<", "D").into_string();
        assert!(text.contains("aria-labelledby=\"c1-t c1-d\""));
        assert!(text.contains("<title id=\"c1-t\">T&lt;</title>"));
        assert!(text.contains(">&lt;a&amp;b&gt;</text>"));
        assert!(text.contains("<title>&quot;x&quot;</title></polygon>"));
        assert!(text.contains("d=\"M0 0L1 1.5\""));
    }
}
