//! Line plots with two axes, and the plot of every iteration of every start of a series.
//!
//! Iterations are plotted on a logarithmic axis, so buckets grow with the index: the first
//! iterations, which matter most, are all kept. Each bucket keeps its minimum and maximum,
//! so no outlier is lost.

use maud::Markup;
use preheat_model::stats::median;

use super::figure::{Figure, Table, legend};
use super::scale::{Axis, extent};
use super::svg::{Anchor, Mark, Point, Svg};
use crate::units::duration;

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

    pub fn finish(&self, id: &str, title: &str, description: &str) -> Markup {
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

/// The maximum number of starts after the first.
pub(crate) const STARTS: usize = 12;
/// The maximum number of rows in the data table.
const ROWS: usize = 40;
/// The usual maximum number of points per line.
pub(crate) const POINTS_OF_LINE: usize = 240;

/// A series to plot.
pub(crate) struct Series<'a> {
    /// The iterations of each start, beginning with the first start.
    pub iterations: &'a [Vec<f64>],
    pub steady: Option<f64>,
    /// The maximum number of points per line.
    pub limit: usize,
}

/// The legend of these plots; `several` is true if any of them has later starts.
pub(crate) fn starts_key(several: bool) -> Markup {
    let mut entries = vec![(None, "level", "steady".to_owned())];
    if several {
        let first = "the first start, which may have found cold disks and caches";
        entries.insert(0, (Some(Mark::Circle), "start", "later starts".to_owned()));
        entries.insert(0, (Some(Mark::Diamond), "first-start", first.to_owned()));
    }
    legend(&entries)
}

impl Series<'_> {
    /// Renders the figure; `None` if there is nothing to draw. `numbers` begins the caption.
    pub fn figure(&self, id: &str, title: &str, numbers: &str) -> Option<Markup> {
        let starts: Vec<&[f64]> = self
            .iterations
            .iter()
            .take(STARTS + 1)
            .map(Vec::as_slice)
            .collect();
        let lines: Vec<Vec<Point>> = starts.iter().map(|start| line(start, self.limit)).collect();
        let drawn: usize = lines.iter().map(Vec::len).sum();
        let all: usize = self.iterations.iter().map(Vec::len).sum();
        let longest = starts.iter().map(|start| start.len()).max()?;
        let steady = self
            .steady
            .filter(|steady| steady.is_finite() && *steady > 0.0);
        let times = || lines.iter().flatten().map(|(_, time)| *time).chain(steady);
        extent(times())?;
        let x = Axis::log_of([1.0, longest as f64].into_iter(), 8, |value| {
            format!("{value:.0}")
        })?;
        let mut plot = Plot::new(x, Axis::times(times(), 6)?, "iteration", "time");
        if let Some(steady) = steady {
            plot.level("level", steady);
        }
        plot.bundle("start", lines.get(1..).unwrap_or_default());
        plot.bundle("first-start", lines.get(..1).unwrap_or_default());
        for (index, line) in lines.iter().enumerate().rev() {
            let (mark, class, name) = match index {
                0 => (Mark::Diamond, "first-start", "the first start".to_owned()),
                _ => (Mark::Circle, "start", format!("start {}", index + 1)),
            };
            if let Some(point) = line.first().filter(|(at, _)| *at == 1.0) {
                let tooltip = format!("{name}: first iteration {}", duration(point.1));
                plot.mark(mark, class, *point, &tooltip);
            }
        }
        let count = self.iterations.len();
        let starts = if count == 1 { "start" } else { "starts" };
        let mut note = format!("{numbers} · {count} {starts} of {longest} iterations");
        if drawn < all {
            note.push_str(&format!(", {drawn} of {all} points shown"));
        }
        let figure = Figure {
            title: title.to_owned(),
            drawings: vec![plot.finish(id, title, &note)],
            note,
            data: self.table(),
            ..Figure::default()
        };
        Some(figure.html())
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            "start",
            "first",
            "second",
            "median of the rest",
            "fastest",
            "slowest",
            "iterations",
        ]);
        for (index, start) in self.iterations.iter().enumerate().take(ROWS) {
            let rest: Vec<f64> = start
                .iter()
                .skip(1)
                .copied()
                .filter(|time| time.is_finite())
                .collect();
            let (fastest, slowest) = extent(start.iter().copied()).unwrap_or((f64::NAN, f64::NAN));
            table.rows.push(vec![
                if index == 0 {
                    "first".to_owned()
                } else {
                    (index + 1).to_string()
                },
                duration(start.first().copied().unwrap_or(f64::NAN)),
                duration(start.get(1).copied().unwrap_or(f64::NAN)),
                duration(median(&rest).unwrap_or(f64::NAN)),
                duration(fastest),
                duration(slowest),
                start.len().to_string(),
            ]);
        }
        table
    }
}

/// The points of a start that a logarithmic plot can show, numbered from 1.
fn line(start: &[f64], limit: usize) -> Vec<Point> {
    let points = downsample(start, limit).into_iter();
    points
        .filter(|(_, time)| *time > 0.0)
        .map(|(at, time)| ((at + 1) as f64, time))
        .collect()
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
