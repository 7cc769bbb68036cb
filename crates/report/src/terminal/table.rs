//! The layout of all tables. Each column is as wide as its content, after an indent of two
//! spaces that can hold a mark. Columns without content are not shown.
//!
//! On a narrow terminal, the first column is cut. A [`Column`] can be cut or dropped instead,
//! before the first one becomes narrower than a given width. Libraries such as `comfy-table` wrap
//! cells when a terminal is narrow, but do not drop columns.

use super::cells::{is_words, middle};
use super::column::GAP;
use super::text::{fit, pad, split_at_column, width, wrap};
use super::{Line, Screen, Style};

pub(crate) use super::column::{Column, WHOLE, center, left, right};

/// The width that the first column keeps on a narrow terminal, unless a table keeps more.
const MIN_FIRST: usize = 8;

/// A cell with its style.
pub(crate) type Cell = (Style, String);

struct Row {
    /// At most as wide as the indent.
    mark: (Style, &'static str),
    cells: Vec<Cell>,
}

enum Entry {
    Heading(String),
    Row(Row),
    Line(Line),
}

/// The display of a cell in the first column that is wider than the column.
#[derive(Clone, Copy)]
pub(crate) enum Overflow {
    /// Cuts words at the end, and other names in the middle.
    Cut,
    /// Cuts in the middle of the text after a prefix of this width.
    CutAfter(usize),
    /// Moves the cell to separate lines above its row, where it is wrapped. If the table is too
    /// wide, cells wider than `usual` do not widen the column.
    Above { usual: usize },
}

/// A table.
pub(crate) struct Table {
    columns: Vec<Column>,
    entries: Vec<Entry>,
    min_first: usize,
    overflow: Overflow,
}

impl Table {
    pub fn new(columns: &[Column]) -> Table {
        Table {
            columns: columns.to_vec(),
            entries: Vec::new(),
            min_first: MIN_FIRST,
            overflow: Overflow::Cut,
        }
    }

    /// Sets the least width of the first column. If a row does not fit, its end is truncated.
    pub fn min_first_width(&mut self, width: usize) {
        self.min_first = width;
    }

    /// Sets how to show a cell of the first column that is wider than the column.
    pub fn overflow(&mut self, overflow: Overflow) {
        self.overflow = overflow;
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.marked((Style::Plain, ""), cells);
    }

    /// Adds a row with a mark in front of it.
    pub fn marked(&mut self, mark: (Style, &'static str), cells: Vec<Cell>) {
        self.entries.push(Entry::Row(Row { mark, cells }));
    }

    /// Adds a title that replaces the name of the first column, after an empty line.
    pub fn heading(&mut self, title: String) {
        self.entries.push(Entry::Heading(title));
    }

    /// Adds a line between rows.
    pub fn line(&mut self, line: Line) {
        self.entries.push(Entry::Line(line));
    }

    /// Inserts a column, with a cell for each row.
    pub fn insert(&mut self, at: usize, column: Column, cells: impl IntoIterator<Item = Cell>) {
        self.columns.insert(at, column);
        let rows = self.entries.iter_mut().filter_map(|entry| match entry {
            Entry::Row(row) => Some(row),
            _ => None,
        });
        for (row, cell) in rows.zip(cells) {
            row.cells.insert(at, cell);
        }
    }

    /// Adds a last column, with a cell for each row.
    pub fn append(&mut self, column: Column, cells: impl IntoIterator<Item = Cell>) {
        self.insert(self.columns.len(), column, cells);
    }

    /// The width of a whole row.
    pub fn width(&self) -> usize {
        let widths = self.content_widths();
        GAP + widths.first().copied().unwrap_or(0) + self.rest(&widths)
    }

    /// Returns true if the column is shown on a terminal of this width.
    pub fn shows(&self, name: &str, terminal_width: usize) -> bool {
        let mut columns = self.columns.iter().zip(self.widths(terminal_width));
        columns.any(|(column, width)| column.name == name && width > 0)
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Row(row) => Some(row),
            _ => None,
        })
    }

    /// The widths of all cells in the column at this index.
    fn cell_widths(&self, at: usize) -> impl Iterator<Item = usize> {
        let cells = self.rows().filter_map(move |row| row.cells.get(at));
        cells.map(|(_, text)| width(text))
    }

    /// The width that each column needs for its content; 0 for a column without content.
    fn content_widths(&self) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        let widths = columns.map(|(at, column)| match self.cell_widths(at).max() {
            None | Some(0) => 0,
            Some(widest) => widest.max(width(column.name)),
        });
        widths.collect()
    }

    /// The width of a column with the gap before it.
    fn with_gap(&self, at: usize, width: usize) -> usize {
        match width {
            0 => 0,
            width => self.columns[at].gap + width,
        }
    }

    /// The width of everything after the first column. With a ragged column, the last two columns
    /// take only as much as the widest row needs for both.
    fn rest(&self, widths: &[usize]) -> usize {
        let column = |at: usize| self.with_gap(at, widths[at]);
        let all = (1..widths.len()).map(column).sum();
        let Some(ragged) = self.ragged(widths) else {
            return all;
        };
        let ends = self.rows().map(|row| {
            let cell = |at: usize| row.cells.get(at).map_or(0, |(_, text)| width(text));
            self.with_gap(ragged, cell(ragged)) + self.with_gap(ragged + 1, cell(ragged + 1))
        });
        let name = |at: usize| self.with_gap(at, width(self.columns[at].name));
        let ends = ends.fold(name(ragged) + name(ragged + 1), usize::max);
        all - column(ragged) - column(ragged + 1) + ends
    }

    /// The ragged column, if it is shown.
    fn ragged(&self, widths: &[usize]) -> Option<usize> {
        let at = self.columns.len().checked_sub(2)?;
        (self.columns[at].is_ragged && widths[at] > 0).then_some(at)
    }

    /// The width that remains for the first column on a terminal of this width.
    fn width_of_first(&self, widths: &[usize], terminal_width: usize) -> usize {
        terminal_width.saturating_sub(GAP + self.rest(widths))
    }

    /// The width of each column on a terminal of this width; 0 for a column that is not shown.
    fn widths(&self, terminal_width: usize) -> Vec<usize> {
        let mut widths = self.content_widths();
        let Some(mut whole) = widths.first().copied() else {
            return widths;
        };
        if let Overflow::Above { usual } = self.overflow
            && self.width_of_first(&widths, terminal_width) < whole
        {
            let usual = self.cell_widths(0).filter(|width| *width <= usual);
            whole = usual.max().unwrap_or(MIN_FIRST);
        }
        let limits = self.columns.iter().flat_map(|column| &column.limits);
        let mut firsts: Vec<usize> = limits.map(|limit| limit.first).collect();
        firsts.sort_unstable_by(|a, b| b.cmp(a));
        for first in firsts {
            if self.width_of_first(&widths, terminal_width) >= whole.min(first) {
                break;
            }
            for (width, column) in widths.iter_mut().zip(&self.columns) {
                let limits = column.limits.iter().filter(|limit| limit.first == first);
                *width = limits.fold(*width, |width, limit| width.min(limit.width));
            }
        }
        widths[0] = whole.min(
            self.width_of_first(&widths, terminal_width)
                .max(self.min_first),
        );
        widths
    }

    /// Prints the headings and the rows; without headings, the names of the columns first.
    pub fn show(&self, screen: &mut Screen) {
        let widths = self.widths(screen.terminal.width);
        let is_heading = |entry: &Entry| matches!(entry, Entry::Heading(_));
        if !self.entries.iter().any(is_heading) {
            self.show_names(screen, &widths, None);
        }
        for entry in &self.entries {
            match entry {
                Entry::Heading(title) => {
                    screen.blank();
                    self.show_names(screen, &widths, Some(title));
                }
                Entry::Row(row) => self.show_row(screen, &widths, row),
                Entry::Line(line) => screen.line(line.clone()),
            }
        }
    }

    /// Prints the names of the columns, with a title in place of the first name.
    fn show_names(&self, screen: &mut Screen, widths: &[usize], title: Option<&str>) {
        let columns = self.columns.iter().zip(widths);
        let names: String = (columns.skip(1).filter(|(_, width)| **width > 0))
            .map(|(column, width)| " ".repeat(column.gap) + &column.set(column.name, *width))
            .collect();
        let (Some(column), Some(first)) = (self.columns.first(), widths.first()) else {
            return;
        };
        let mut before = match title {
            Some(_) => " ".repeat(GAP + first),
            None => " ".repeat(GAP) + &column.set(column.name, *first),
        };
        let mut line = Line::new();
        if let Some(title) = title {
            line.push((Style::Bold, title.to_owned()));
            if width(title) <= GAP + first {
                before = " ".repeat(GAP + first - width(title));
            } else {
                screen.line(std::mem::take(&mut line));
            }
        }
        line.push((Style::Dim, before + &names));
        if line.iter().any(|(_, text)| !text.trim().is_empty()) {
            screen.line(line);
        }
    }

    fn show_row(&self, screen: &mut Screen, widths: &[usize], row: &Row) {
        let terminal_width = screen.terminal.width;
        let mut line: Line = vec![(row.mark.0, pad(row.mark.1, GAP))];
        if let Overflow::Above { .. } = self.overflow
            && let Some((style, name)) = row.cells.first()
            && width(name) > widths[0]
        {
            let limit = terminal_width.saturating_sub(GAP);
            for part in wrap(name, limit, limit) {
                line.push((*style, part));
                screen.line(line);
                line = vec![(Style::Plain, " ".repeat(GAP))];
            }
        }
        let mut used = GAP;
        for (at, (style, text)) in row.cells.iter().enumerate() {
            let column = &self.columns[at];
            let (gap, text) = match at {
                0 => (0, cut_first(text, widths[0], self.overflow)),
                _ => (column.gap, text.clone()),
            };
            // Skip cells beyond the edge of the terminal: they would only add an ellipsis.
            if at > 0 && (widths[at] == 0 || used + gap >= terminal_width) {
                continue;
            }
            let mut cell_width = widths[at];
            if self.ragged(widths) == Some(at)
                && let Some((_, last)) = row.cells.get(at + 1)
            {
                let after = gap + self.with_gap(at + 1, width(last));
                let remaining = terminal_width.saturating_sub(used + after);
                cell_width = cell_width.min(remaining).max(width(&text));
            }
            used += gap + cell_width;
            let text = " ".repeat(gap) + &column.set(&text, cell_width);
            // Equal styles need no new escape sequence.
            match line.last_mut() {
                Some((last, piece)) if last == style => piece.push_str(&text),
                _ => line.push((*style, text)),
            }
        }
        screen.line(line);
    }
}

/// Cuts a cell of the first column to a width of `limit`; empty if it is shown above its row.
fn cut_first(text: &str, limit: usize, overflow: Overflow) -> String {
    match overflow {
        Overflow::Above { .. } if width(text) > limit => String::new(),
        Overflow::CutAfter(prefix) if prefix + MIN_FIRST <= limit => {
            let (prefix, rest) = split_at_column(text, prefix);
            format!("{prefix}{}", middle(rest, limit - width(prefix)))
        }
        Overflow::Cut if !is_words(text) => middle(text, limit),
        _ => fit(text, limit),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Terminal;
    use super::*;

    fn plain(cells: &[&str]) -> Vec<Cell> {
        let cells = cells.iter();
        cells
            .map(|text| (Style::Plain, (*text).to_owned()))
            .collect()
    }

    fn shown(table: &Table, width: usize) -> String {
        let mut screen = Screen::new(&Terminal {
            width,
            color: false,
            unicode: true,
        });
        table.show(&mut screen);
        screen.finish()
    }

    fn names_and_times() -> Table {
        let mut table = Table::new(&[left("name"), right("time")]);
        table.row(plain(&["torch._dynamo.utils", "2 s"]));
        table.line(vec![(Style::Dim, "    of it 1 s".into())]);
        table.marked((Style::Red, "✗"), plain(&["訓練", "120 ms"]));
        table
    }

    #[test]
    fn columns_are_as_wide_as_their_content() {
        let expected = "  name                   time
  torch._dynamo.utils     2 s
    of it 1 s
✗ 訓練                 120 ms
";
        assert_eq!(shown(&names_and_times(), 80), expected);
    }

    #[test]
    fn the_first_column_is_cut_on_a_narrow_terminal() {
        let expected = "  name           time
  torch…utils     2 s
    of it 1 s
✗ 訓練         120 ms
";
        assert_eq!(shown(&names_and_times(), 21), expected);
    }

    #[test]
    fn columns_without_content_are_omitted() {
        let mut table = Table::new(&[left("name"), right("time"), left("class")]);
        table.row(plain(&["a", "", "flat"]));
        assert_eq!(shown(&table, 80), "  name  class\n  a     flat\n");
        assert!(!table.shows("time", 80) && table.shows("class", 80));
    }

    #[test]
    fn columns_are_dropped_and_cut_in_the_order_of_their_limits() {
        let mut table = Table::new(&[
            left(""),
            left("").drop_below(6),
            left("").drop_below(4),
            left("").gap(1).cut_below(WHOLE, 5).drop_below(4),
        ]);
        table.min_first_width(0);
        table.row(plain(&["iteration", "123", "456", "unchanged"]));
        for (width, row) in [
            (31, "  iteration  123  456 unchanged"),
            (30, "  iteration  123  456 unch…"),
            (24, "  ite…on  123  456 unch…"),
            (23, "  iteration  456 unch…"),
            (17, "  it…n  456 unch…"),
            (16, "  iteration"),
        ] {
            assert_eq!(shown(&table, width).trim_end(), row, "{width}");
        }
    }

    #[test]
    fn a_heading_replaces_the_name_of_the_first_column() {
        let mut table = Table::new(&[left(""), right("time"), center("95 %").gap(1)]);
        table.heading("cuda".to_owned());
        table.row(plain(&["create stream", "2 ms", "1.50–2.50"]));
        table.heading("torch 2.11.0 on cuda".to_owned());
        table.row(plain(&["import", "3 s", ""]));
        let expected = "cuda             time   95 %
  create stream  2 ms 1.50–2.50

torch 2.11.0 on cuda
                 time   95 %
  import          3 s
";
        assert_eq!(shown(&table, 80), expected);
    }

    #[test]
    fn a_prefix_is_not_cut() {
        let mut table = Table::new(&[left(""), left("")]);
        table.overflow(Overflow::CutAfter(8));
        table.row(plain(&[
            "first   launch · cache empty: long, no sync",
            "1 s",
        ]));
        let width = table.width();
        assert!(shown(&table, width).contains("empty: long"));
        assert_eq!(shown(&table, 37), "  first   launch · ca…g, no sync  1 s\n");
        assert_eq!(shown(&table, 20), "  first   laun…  1 s\n");
    }

    #[test]
    fn a_long_name_stands_above_its_row() {
        let mut table = Table::new(&[left(""), right("base")]);
        table.overflow(Overflow::Above { usual: 10 });
        table.row(plain(&["excess", "1 s"]));
        table.marked((Style::Red, "✗"), plain(&["train.py:17–23 → 22–28", "2 s"]));
        let expected = "                          base
  excess                   1 s
✗ train.py:17–23 → 22–28   2 s
";
        assert_eq!(shown(&table, 30), expected);
        let expected = "          base
  excess   1 s
✗ train.py:17–23 →
  22–28
           2 s
";
        assert_eq!(shown(&table, 23), expected);
    }

    #[test]
    fn a_long_last_cell_begins_further_left() {
        let mut table = Table::new(&[left(""), left("relative").ragged(), left("")]);
        table.row(plain(&["time", "+27 % (26 to 28)", "slower"]));
        table.row(plain(&["excess", "0 %", "unchanged"]));
        let expected = "          relative
  time    +27 % (26 to 28)  slower
  excess  0 %               unchanged
";
        assert_eq!(shown(&table, 80), expected);
        let expected = "          relative
  time    +27 % (26 to 28)  slower
  excess  0 %            unchanged
";
        assert_eq!(shown(&table, 34), expected);
    }
}
