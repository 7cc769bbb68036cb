//! A plot of every iteration of every start of a series, with its data.

use preheat_model::stats::median;

use super::figure::{Figure, Table, legend};
use super::plot::Plot;
use super::plot::downsample;
use super::scale::{Axis, extent};
use super::svg::{Mark, Point};
use crate::units::duration;

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
pub(crate) fn key(several: bool) -> String {
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
    pub fn figure(&self, id: &str, title: &str, numbers: &str) -> Option<String> {
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
