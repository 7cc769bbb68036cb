//! The table of quantities: name, base, new, change, relative change, verdict.
//!
//! On a narrow terminal, columns are dropped or shortened in this order: the change, long
//! names of series, the relative change, then base and new. Other long names, which are those
//! of timed regions, get a separate line above their numbers instead: both ends matter.

use preheat_model::compare::{Level, QuantityChange, Unit, Verdict};

use super::super::words::{change, changed, interval, percents, signed, value, verdict};
use super::style_of;
use crate::terminal::cells::middle;
use crate::terminal::{Screen, Style, fit, width};
use crate::units::ABSENT;

/// The header of the relative changes.
const RELATIVE: &str = "relative (95 %)";
/// The length to which names are cut before other columns are dropped.
const USUAL_NAME: usize = 20;
/// The length to which names are cut before both levels are dropped.
const SHORT_NAME: usize = 16;
/// The minimum length of a name.
const MIN_NAME: usize = 8;

/// The name of a row.
pub(super) enum Name {
    /// A quantity of a run, or a timed region.
    Quantity(String),
    /// A quantity of a lab series, and the series.
    Series(String, String),
}

impl Name {
    fn width(&self) -> usize {
        match self {
            Name::Quantity(name) => width(name),
            Name::Series(quantity, series) => width(quantity) + 2 + width(series),
        }
    }

    /// Truncates the name to `limit` columns. Series differ at their ends, so the middle of
    /// the series is cut.
    fn cut(&self, limit: usize) -> String {
        match self {
            Name::Quantity(name) => fit(name, limit),
            Name::Series(quantity, series) if width(quantity) + 2 + MIN_NAME <= limit => {
                let series = middle(series, limit - width(quantity) - 2);
                format!("{quantity}  {series}")
            }
            Name::Series(quantity, series) => fit(&format!("{quantity}  {series}"), limit),
        }
    }
}

/// A value, and the width of its unit with the space before it.
struct Value {
    text: String,
    unit: usize,
}

impl Value {
    fn of(level: &Option<Level>, unit: Unit) -> Value {
        let Some(level) = level else {
            let text = ABSENT.to_owned();
            return Value { text, unit: 0 };
        };
        let text = value(level.mean.value, unit);
        let unit = match unit {
            _ if text == ABSENT => 0,
            Unit::Seconds | Unit::Bytes => 1 + width(unit.shown_in(level.mean.value).1),
            Unit::Ratio | Unit::Iterations | Unit::Count | Unit::ExitCode => 0,
        };
        Value { text, unit }
    }
}

/// A row before alignment.
pub(super) struct Row {
    name: Name,
    base: Value,
    new: Value,
    change: String,
    relative: String,
    verdict: String,
    of: Verdict,
    regressed: bool,
}

impl Row {
    /// Creates the row of a quantity.
    pub fn new(name: Name, quantity: &QuantityChange) -> Row {
        let by = quantity
            .difference
            .map_or(String::new(), |by| signed(by.value, quantity.unit));
        let within = match (&quantity.relative, &quantity.difference) {
            (Some(part), _) => percents(part).map(|ends| format!("{ends} %")),
            (None, by) => by.and_then(|by| interval(&by, quantity.unit)),
        };
        let relative = match (quantity.verdict, within) {
            // Show only the interval; the change is in the previous column.
            (Verdict::Same | Verdict::Inconclusive, Some(within)) => within,
            _ => change(quantity),
        };
        Row {
            name,
            base: Value::of(&quantity.base, quantity.unit),
            new: Value::of(&quantity.new, quantity.unit),
            change: match quantity.verdict {
                Verdict::Same => String::new(),
                _ => by,
            },
            relative,
            verdict: verdict(quantity),
            of: quantity.verdict,
            regressed: quantity.regressed,
        }
    }

    /// Removes the verdict, for tables whose title states it.
    pub fn without_verdict(mut self) -> Row {
        self.verdict.clear();
        self
    }
}

/// The rows and the widths of their columns; 0 for a column that is not shown.
pub(super) struct Table {
    rows: Vec<Row>,
    name: usize,
    base: usize,
    new: usize,
    change: usize,
    relative: usize,
}

impl Table {
    /// Lays out the rows within `room` columns.
    pub fn new(mut rows: Vec<Row>, room: usize) -> Table {
        align(&mut rows, |row| &mut row.base);
        align(&mut rows, |row| &mut row.new);
        let widest = |of: &dyn Fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0);
        let mut table = Table {
            name: widest(&|row| row.name.width()),
            base: widest(&|row| width(&row.base.text)).max(4),
            new: widest(&|row| width(&row.new.text)).max(3),
            change: match widest(&|row| width(&row.change)) {
                0 => 0,
                some => some.max(6),
            },
            relative: widest(&|row| width(&row.relative)),
            rows,
        };
        let long = |row: &Row| match &row.name {
            Name::Quantity(name) => width(name) > USUAL_NAME,
            Name::Series(..) => false,
        };
        if table.total() > room && table.rows.iter().any(long) {
            let short = table.rows.iter().filter(|row| !long(row));
            table.name = short.map(|row| row.name.width()).max().unwrap_or(MIN_NAME);
        }
        if table.total() > room {
            table.change = 0;
        }
        table.cut_name(room, USUAL_NAME);
        if table.total() > room {
            table.relative = 0;
        }
        table.cut_name(room, SHORT_NAME);
        if table.total() > room {
            (table.base, table.new) = (0, 0);
        }
        table.cut_name(room, MIN_NAME);
        table
    }

    /// The total width to the left of the relative change.
    fn left(&self) -> usize {
        2 + self.name + gap(self.base) + gap(self.new) + gap(self.change)
    }

    /// The width of the longest row. A verdict may be left of its column.
    fn total(&self) -> usize {
        let right = |row: &Row| {
            let relative = match self.relative {
                0 => 0,
                _ => width(&row.relative),
            };
            gap(relative) + gap(width(&row.verdict))
        };
        let heading = match self.relative {
            0 => 0,
            _ => gap(width(RELATIVE)),
        };
        self.left() + self.rows.iter().map(right).fold(heading, usize::max)
    }

    fn cut_name(&mut self, room: usize, least: usize) {
        let over = self.total().saturating_sub(room);
        self.name = self.name.saturating_sub(over).max(self.name.min(least));
    }

    /// Prints the heading and the rows.
    pub fn show(&self, screen: &mut Screen, title: &str) {
        let mut heading = vec![(
            Style::Bold,
            format!("{:<1$}", fit(title, self.name + 2), self.name + 2),
        )];
        for (text, column) in [
            ("base", self.base),
            ("new", self.new),
            ("change", self.change),
        ] {
            heading.push((Style::Dim, right(text, column)));
        }
        if self.relative > 0 {
            heading.push((Style::Dim, format!("  {RELATIVE}")));
        }
        screen.line(heading);
        for row in &self.rows {
            self.row(screen, row);
        }
    }

    fn row(&self, screen: &mut Screen, row: &Row) {
        let style = match row.of {
            Verdict::Same => Style::Dim,
            _ => Style::Plain,
        };
        let strong = if changed(row.of) {
            style_of(row.of)
        } else {
            style
        };
        let sign = if row.regressed { "✗ " } else { "  " };
        let sign = (style_of(row.of), sign.to_owned());
        let mut line = match &row.name {
            Name::Quantity(name) if width(name) > self.name && self.name >= MIN_NAME => {
                let room = screen.terminal.width.saturating_sub(2);
                screen.line(vec![sign, (style, region(name, room))]);
                vec![(style, " ".repeat(2 + self.name))]
            }
            name => {
                let name = name.cut(self.name);
                vec![sign, (style, format!("{name:<0$}", self.name))]
            }
        };
        line.extend([
            (style, right(&row.base.text, self.base)),
            (style, right(&row.new.text, self.new)),
            (strong, right(&row.change, self.change)),
        ]);
        if self.relative > 0 {
            let after = self.left() + gap(width(&row.verdict));
            let room = screen.terminal.width.saturating_sub(after + 2);
            let column = self.relative.min(room);
            line.push((style, format!("  {:<column$}", row.relative)));
        }
        line.push((style_of(row.of), format!("  {}", row.verdict)));
        screen.line(line);
    }
}

/// Truncates the name of a region or a pair of them, `train.py:17–23 → warm.py:22–28`, to
/// `limit` columns: the files are cut, the lines are not.
fn region(name: &str, limit: usize) -> String {
    let over = width(name).saturating_sub(limit);
    if over == 0 {
        return name.to_owned();
    }
    let parts: Vec<&str> = name.split(" → ").collect();
    let files = parts
        .iter()
        .filter(|part| part.contains(':'))
        .count()
        .max(1);
    let each = over.div_ceil(files);
    let shorter = |part: &&str| match part.split_once(':') {
        Some((file, lines)) => {
            let file = middle(file, width(file).saturating_sub(each).max(1));
            format!("{file}:{lines}")
        }
        None => (*part).to_owned(),
    };
    let parts: Vec<String> = parts.iter().map(shorter).collect();
    fit(&parts.join(" → "), limit)
}

fn gap(column: usize) -> usize {
    if column == 0 { 0 } else { column + 2 }
}

fn right(text: &str, column: usize) -> String {
    match column {
        0 => String::new(),
        column => format!("  {text:>column$}"),
    }
}

/// Pads the values on the right so that their units align.
fn align(rows: &mut [Row], of: impl Fn(&mut Row) -> &mut Value) {
    let longest = rows.iter_mut().map(|row| of(row).unit).max().unwrap_or(0);
    for row in rows {
        let value = of(row);
        value.text.push_str(&" ".repeat(longest - value.unit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_keeps_its_lines() {
        let name = "train.py:17–23 → train_warm.py:22–28";
        assert_eq!(region(name, 40), name);
        assert_eq!(region(name, 30), "tr…py:17–23 → train…m.py:22–28");
        assert_eq!(region("a_long_name.py:17–23", 14), "a_lo….py:17–23");
        assert!(width(&region(name, 9)) <= 9);
    }

    #[test]
    fn truncates_the_middle_of_a_series() {
        let name = Name::Series(
            "first ".to_owned(),
            "launch · cache empty: long, no sync".to_owned(),
        );
        assert_eq!(name.cut(60), "first   launch · cache empty: long, no sync");
        assert_eq!(name.cut(30), "first   launch · ca…g, no sync");
        let name = Name::Quantity("peak device memory".to_owned());
        assert_eq!(name.cut(10), "peak devi…");
    }
}
