//! Line plots with two axes.
//!
//! Iterations are plotted on a logarithmic axis, so buckets grow with the index: the first
//! iterations, which matter most, are all kept. Each bucket keeps its minimum and maximum,
//! so no outlier is lost.

use super::scale::Axis;
use super::svg::{Anchor, Mark, Point, Svg};

/// The size of every plot, equal so that plots side by side align.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 44.0;

/// A plot area with two axes.
pub(crate) struct Plot {
    svg: Svg,
    x: Axis,
    y: Axis,
}

/// A line with its points in the units of the axes.
pub(crate) struct Curve<'a> {
    pub class: &'a str,
    pub mark: Option<Mark>,
    pub points: &'a [Point],
}

impl Plot {
    /// Creates a plot; `across` and `up` are the names of the axes.
    pub fn new(x: Axis, y: Axis, across: &str, up: &str) -> Plot {
        let x = x.over(LEFT, WIDTH - RIGHT);
        let y = y.over(HEIGHT - BOTTOM, TOP);
        let mut svg = Svg::new(WIDTH, HEIGHT);
        for (value, name) in &y.ticks {
            let at = y.at(*value);
            svg.line("grid-line", (LEFT, at), (WIDTH - RIGHT, at));
            svg.text("tick", Anchor::End, (LEFT - 8.0, at + 4.0), name);
        }
        svg.line(
            "axis-line",
            (LEFT, HEIGHT - BOTTOM),
            (WIDTH - RIGHT, HEIGHT - BOTTOM),
        );
        for (value, name) in &x.ticks {
            let at = x.at(*value);
            svg.line(
                "axis-line",
                (at, HEIGHT - BOTTOM),
                (at, HEIGHT - BOTTOM + 4.0),
            );
            // A centered label at the very edge would be clipped.
            let anchor = if at > WIDTH - RIGHT - 12.0 {
                Anchor::End
            } else {
                Anchor::Middle
            };
            let edge = if anchor == Anchor::End {
                RIGHT - 2.0
            } else {
                0.0
            };
            svg.text("tick", anchor, (at + edge, HEIGHT - BOTTOM + 18.0), name);
        }
        svg.text("axis-name", Anchor::Start, (4.0, 14.0), up);
        svg.text(
            "axis-name",
            Anchor::End,
            (WIDTH - RIGHT, HEIGHT - 6.0),
            across,
        );
        Plot { svg, x, y }
    }

    fn place(&self, (x, y): Point) -> Point {
        (self.x.at(x), self.y.at(y))
    }

    /// Draws a line with a mark at each point; `tooltip` returns the text for a point.
    pub fn curve(&mut self, curve: &Curve, tooltip: impl Fn(Point) -> String) {
        let places: Vec<Point> = curve
            .points
            .iter()
            .map(|point| self.place(*point))
            .collect();
        self.svg.path(
            &format!("series {}", curve.class),
            std::slice::from_ref(&places),
        );
        if let Some(mark) = curve.mark {
            let class = format!("mark {}", curve.class);
            for (point, place) in curve.points.iter().zip(places) {
                self.svg.mark(mark, &class, place, &tooltip(*point));
            }
        }
    }

    /// Draws many lines of one class.
    pub fn bundle(&mut self, class: &str, lines: &[Vec<Point>]) {
        let places: Vec<Vec<Point>> = lines
            .iter()
            .map(|line| line.iter().map(|point| self.place(*point)).collect())
            .collect();
        self.svg.path(&format!("series {class}"), &places);
    }

    /// Draws a single mark.
    pub fn mark(&mut self, mark: Mark, class: &str, point: Point, title: &str) {
        let at = self.place(point);
        self.svg.mark(mark, &format!("mark {class}"), at, title);
    }

    /// Draws a horizontal line.
    pub fn level(&mut self, class: &str, value: f64) {
        let at = self.y.at(value);
        self.svg
            .line(&format!("series {class}"), (LEFT, at), (WIDTH - RIGHT, at));
    }

    /// Draws a vertical line.
    pub fn upright(&mut self, class: &str, value: f64) {
        let at = self.x.at(value);
        self.svg.line(class, (at, TOP), (at, HEIGHT - BOTTOM));
    }

    pub fn finish(&self, id: &str, title: &str, description: &str) -> String {
        self.svg.finish(id, "plot-chart", title, description)
    }
}

/// Returns about `limit` points of `values` at most, as (index, value), in order. NaN and
/// infinite values are omitted.
pub(crate) fn downsample(values: &[f64], limit: usize) -> Vec<(usize, f64)> {
    if values.len() <= limit {
        let all = values.iter().copied().enumerate();
        return all.filter(|(_, value)| value.is_finite()).collect();
    }
    let buckets = (limit / 2).max(1);
    let mut points = Vec::with_capacity(limit);
    let mut from = 0;
    for bucket in 1..=buckets {
        let edge = (values.len() as f64)
            .powf(bucket as f64 / buckets as f64)
            .round() as usize;
        // Each bucket has at least one value: the first buckets hold one iteration each.
        let to = if bucket == buckets {
            values.len()
        } else {
            edge.max(from + 1)
        };
        let to = to.min(values.len());
        let numbers = |at: &usize| values[*at].is_finite();
        let inside = || (from..to).filter(numbers).map(|at| (at, values[at]));
        let least = inside().min_by(|a, b| a.1.total_cmp(&b.1));
        let greatest = inside().max_by(|a, b| a.1.total_cmp(&b.1));
        match (least, greatest) {
            (Some(a), Some(b)) if a.0 == b.0 => points.push(a),
            (Some(a), Some(b)) => points.extend(if a.0 < b.0 { [a, b] } else { [b, a] }),
            _ => {}
        }
        from = to;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_all_of_few_points() {
        assert_eq!(downsample(&[3.0, f64::NAN, 1.0], 10), [(0, 3.0), (2, 1.0)]);
        assert_eq!(downsample(&[], 10), []);
    }

    #[test]
    fn keeps_the_first_and_all_extremes() {
        let mut values: Vec<f64> = (0..5000)
            .map(|at| 1.0 + f64::from(at % 7) / 100.0)
            .collect();
        values[0] = 250.0;
        values[3333] = 9.0;
        values[4999] = 0.1;
        let points = downsample(&values, 100);
        assert!(points.len() <= 100);
        for kept in [(0, 250.0), (3333, 9.0), (4999, 0.1)] {
            assert!(points.contains(&kept), "{kept:?}");
        }
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn omits_values_that_are_not_finite() {
        assert_eq!(downsample(&[f64::NAN; 50], 10), []);
        let mut values = vec![f64::NAN; 50];
        values[20] = 2.0;
        assert_eq!(downsample(&values, 10), [(20, 2.0)]);
    }
}
