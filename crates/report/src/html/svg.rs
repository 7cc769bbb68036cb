//! Writes SVG drawings. Shapes have only a class; colors, fonts and dashes come from the
//! style sheet.

use std::fmt::Write;

use super::escape::escape;

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
    body: String,
}

/// A position.
pub(crate) type Point = (f64, f64);

impl Svg {
    pub fn new(width: f64, height: f64) -> Svg {
        Svg {
            width,
            height,
            body: String::new(),
        }
    }

    pub fn line(&mut self, class: &str, from: Point, to: Point) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(place);
        self.push(format_args!(
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
        ));
    }

    pub fn text(&mut self, class: &str, anchor: Anchor, at: Point, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y) = (place(at.0), place(at.1));
        let text = escape(text);
        self.push(format_args!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{text}</text>"
        ));
    }

    pub fn rect(&mut self, class: &str, at: Point, size: Point, title: &str) {
        let [x, y, w, h] = [at.0, at.1, size.0, size.1].map(place);
        let title = hover(title);
        self.push(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\">{title}</rect>"
        ));
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
            self.push(format_args!("<path class=\"{class}\" d=\"{d}\"/>"));
        }
    }

    pub fn mark(&mut self, mark: Mark, class: &str, at: Point, title: &str) {
        let title = hover(title);
        let shape = shape(mark, class, at);
        let name = shape
            .split(' ')
            .next()
            .unwrap_or_default()
            .trim_start_matches('<')
            .to_owned();
        self.push(format_args!("{shape}>{title}</{name}>"));
    }

    fn push(&mut self, shape: std::fmt::Arguments) {
        // Writing to a String cannot fail.
        let _ = self.body.write_fmt(shape);
    }

    /// Renders the element with a title and a description for screen readers. `id` must be
    /// unique on the page.
    pub fn finish(&self, id: &str, class: &str, title: &str, description: &str) -> String {
        format!(
            "<svg class=\"chart {class}\" viewBox=\"0 0 {} {}\" role=\"img\" \
             aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title>\
             <desc id=\"{id}-d\">{}</desc>{}</svg>",
            place(self.width),
            place(self.height),
            escape(title),
            escape(description),
            self.body
        )
    }
}

/// A sample of a line and its mark, for a legend.
pub(crate) fn swatch(mark: Option<Mark>, class: &str) -> String {
    let line = format!("<line class=\"series {class}\" x1=\"1\" y1=\"7\" x2=\"27\" y2=\"7\"/>");
    let mark = mark.map_or(String::new(), |mark| {
        format!("{}/>", shape(mark, &format!("mark {class}"), (14.0, 7.0)))
    });
    format!("<svg class=\"swatch\" viewBox=\"0 0 28 14\" aria-hidden=\"true\">{line}{mark}</svg>")
}

/// The opening tag of a shape, without its closing bracket.
fn shape(mark: Mark, class: &str, (x, y): Point) -> String {
    let polygon = |points: &[Point]| {
        let points: Vec<String> = points
            .iter()
            .map(|(dx, dy)| format!("{},{}", place(x + dx), place(y + dy)))
            .collect();
        format!("<polygon class=\"{class}\" points=\"{}\"", points.join(" "))
    };
    match mark {
        Mark::Circle => {
            format!(
                "<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"4.5\"",
                place(x),
                place(y)
            )
        }
        Mark::Square => polygon(&[(-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)]),
        Mark::Diamond => polygon(&[(0.0, -5.8), (5.8, 0.0), (0.0, 5.8), (-5.8, 0.0)]),
        Mark::Triangle => polygon(&[(0.0, -5.2), (5.0, 4.0), (-5.0, 4.0)]),
    }
}

fn hover(title: &str) -> String {
    if title.is_empty() {
        String::new()
    } else {
        format!("<title>{}</title>", escape(title))
    }
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
        let text = svg.finish("c1", "wide", "T<", "D");
        assert!(text.contains("aria-labelledby=\"c1-t c1-d\""));
        assert!(text.contains("<title id=\"c1-t\">T&lt;</title>"));
        assert!(text.contains(">&lt;a&amp;b&gt;</text>"));
        assert!(text.contains("<title>&quot;x&quot;</title></polygon>"));
        assert!(text.contains("d=\"M0 0L1 1.5\""));
    }
}
