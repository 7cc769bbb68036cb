//! The columns of the table: their widths, and the layout of a row.
//!
//! On a narrow terminal, columns are dropped or shortened in this order: the bar, long
//! classes, long labels, the interval, the class.

use crate::lab::overview::Group;
use crate::terminal::text::{clean, fit, width};
use crate::terminal::{Line, Screen, Style};
use crate::units::{ABSENT, ratio};

/// The minimum width of a terminal for showing bars.
const WIDE: usize = 100;
/// The width of a bar.
const BAR: usize = 16;
/// The length to which classes are cut before other columns are dropped.
const USUAL_CLASS: usize = 10;
/// The length to which labels are cut before other columns are dropped.
const USUAL_LABEL: usize = 15;
/// The smallest ratio that is shown in bold.
const STRIKING: f64 = 10.0;

/// The text of a row before alignment.
pub(super) struct Cells {
    pub label: String,
    pub first: Option<(String, &'static str)>,
    pub steady: Option<(String, &'static str)>,
    pub ratio: Option<f64>,
    pub interval: Option<(String, String)>,
    pub class: String,
    /// True if all starts are in this class; otherwise a star precedes it.
    pub consistent: bool,
    pub once: bool,
}

/// The width of each column; 0 for a column that is not shown.
pub(super) struct Columns {
    family: usize,
    label: usize,
    number: usize,
    unit: usize,
    ratio: usize,
    low: usize,
    high: usize,
    class: usize,
    bar: usize,
    /// The ratio that fills the bar.
    longest: f64,
}

impl Columns {
    /// Lays out the rows within `room` columns.
    pub fn new(all: &[&Cells], family: usize, room: usize) -> Columns {
        let longest = |of: &dyn Fn(&Cells) -> usize| all.iter().map(|c| of(c)).max().unwrap_or(0);
        let part = |cells: &Cells, of: fn(&(String, &'static str)) -> usize| {
            [&cells.first, &cells.steady]
                .into_iter()
                .flatten()
                .map(of)
                .max()
                .unwrap_or(1)
        };
        let mut columns = Columns {
            family,
            label: longest(&|c| width(&c.label)),
            number: longest(&|c| part(c, |(number, _)| width(number))).max(3),
            unit: longest(&|c| part(c, |(_, unit)| width(unit))).max(2),
            ratio: longest(&|c| c.ratio.map_or(0, |value| width(&ratio(value)))).max(5),
            low: longest(&|c| c.interval.as_ref().map_or(0, |(low, _)| width(low))),
            high: longest(&|c| c.interval.as_ref().map_or(0, |(_, high)| width(high))),
            class: longest(&|c| width(&c.class)).max(5),
            bar: BAR,
            longest: all.iter().filter_map(|c| c.ratio).fold(10.0, f64::max),
        };
        if room < WIDE || columns.total() > room {
            columns.bar = 0;
            columns.class = columns.class.min(USUAL_CLASS);
        }
        let whole = columns.label;
        columns.cut_label(room, USUAL_LABEL);
        if columns.total() > room {
            // Without the interval, longer labels fit again.
            (columns.low, columns.high) = (0, 0);
            columns.label = whole;
            columns.cut_label(room, USUAL_LABEL);
        }
        if columns.total() > room {
            columns.class = 0;
        }
        columns.cut_label(room, 4);
        columns
    }

    /// Returns true if the class, and so its star, is shown.
    pub fn shows_class(&self) -> bool {
        self.class > 0
    }

    /// Shortens the labels until the row fits, but not below `least`.
    fn cut_label(&mut self, room: usize, least: usize) {
        let over = self.total().saturating_sub(room);
        self.label = self.label.saturating_sub(over).max(self.label.min(least));
    }

    /// The total width to the left of the first time.
    fn left(&self) -> usize {
        2 + self.family + 1 + self.label
    }

    fn time(&self) -> usize {
        self.number + 1 + self.unit
    }

    fn interval(&self) -> usize {
        if self.low + self.high == 0 {
            0
        } else {
            self.low + 1 + self.high
        }
    }

    fn total(&self) -> usize {
        let gap = |width: usize| if width == 0 { 0 } else { width + 2 };
        self.left()
            + 2 * gap(self.time())
            + gap(self.ratio)
            + gap(self.interval()).saturating_sub(1)
            + gap(self.bar)
            + gap(self.class)
    }

    /// Prints the title of a subject and the names of the columns.
    pub fn heading(&self, screen: &mut Screen, title: &str) {
        let mut names = format!(
            "  {:>time$}  {:>time$}  {:>ratio$}",
            "first",
            "steady",
            "ratio",
            time = self.time(),
            ratio = self.ratio
        );
        if self.interval() > 0 {
            names.push_str(&format!(" {:^1$}", "95 %", self.interval()));
        }
        if self.bar > 0 {
            names.push_str(&format!("  {:<1$}", "ratio, log scale", self.bar));
        }
        if self.class > 0 {
            names.push_str("  class");
        }
        let title = (Style::Bold, title.to_owned());
        if width(&title.1) <= self.left() {
            let pad = self.left() - width(&title.1);
            screen.line(vec![title, (Style::Dim, " ".repeat(pad) + &names)]);
        } else {
            screen.line(vec![title]);
            screen.line(vec![(Style::Dim, " ".repeat(self.left()) + &names)]);
        }
    }

    /// Prints the rows of a group.
    pub fn group(&self, screen: &mut Screen, group: &Group, rows: &[Cells]) {
        let mut name = group.name;
        if !group.variant.is_empty() {
            screen.line(vec![(Style::Plain, format!("  {}", clean(&group.title())))]);
            name = "";
        }
        for cells in rows {
            screen.line(self.row(name, cells));
            name = "";
        }
    }

    fn row(&self, family: &str, cells: &Cells) -> Line {
        let label = fit(&cells.label, self.label);
        let steady = if cells.once {
            String::new()
        } else {
            self.time_cell(&cells.steady)
        };
        let ratio_text = match cells.ratio {
            Some(value) => ratio(value),
            None if cells.once => String::new(),
            None => ABSENT.to_owned(),
        };
        let striking = cells.ratio.is_some_and(|value| value >= STRIKING);
        let mut line = vec![
            (
                Style::Plain,
                format!("  {family:<0$} {label:<1$}", self.family, self.label),
            ),
            (Style::Plain, format!("  {}", self.time_cell(&cells.first))),
            (Style::Plain, format!("  {steady:>0$}", self.time())),
            (
                if striking { Style::Bold } else { Style::Plain },
                format!("  {ratio_text:>0$}", self.ratio),
            ),
        ];
        if self.interval() > 0 {
            let text = match &cells.interval {
                Some((low, high)) => format!(" {low:>0$}–{high:<1$}", self.low, self.high),
                None => " ".repeat(self.interval() + 1),
            };
            line.push((Style::Dim, text));
        }
        if self.bar > 0 {
            let bar = cells
                .ratio
                .map_or(String::new(), |value| bar(value, self.longest, self.bar));
            line.push((Style::Dim, format!("  {bar:<0$}", self.bar)));
        }
        if self.class > 0 {
            let style = if cells.once { Style::Dim } else { Style::Plain };
            let star = if cells.consistent { ' ' } else { '*' };
            line.push((style, format!(" {star}{}", fit(&cells.class, self.class))));
        }
        line
    }

    /// A time with its number and unit aligned to their columns.
    fn time_cell(&self, parts: &Option<(String, &'static str)>) -> String {
        let (number, unit) = match parts {
            Some((number, unit)) => (number.as_str(), *unit),
            None => (ABSENT, ""),
        };
        format!("{number:>0$} {unit:<1$}", self.number, self.unit)
    }
}

/// A bar proportional to the logarithm of `value`, in eighths of a column.
fn bar(value: f64, longest: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = (value.max(1.0).ln() / longest.ln()).clamp(0.0, 1.0);
    let eighths = (share * columns as f64 * 8.0).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_logarithmic() {
        assert_eq!(bar(1.0, 100.0, 8), "");
        assert_eq!(bar(0.5, 100.0, 8), "");
        assert_eq!(bar(10.0, 100.0, 8), "████");
        assert_eq!(bar(100.0, 100.0, 8), "████████");
        assert_eq!(bar(1e9, 100.0, 2), "██");
        assert_eq!(bar(10.0, 100.0, 1), "▌");
    }
}
