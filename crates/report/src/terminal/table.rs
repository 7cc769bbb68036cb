//! The layout of tables. Each column is as wide as its content; columns are two spaces apart, after
//! an indent of two spaces that can hold a mark.

use super::cells::{is_words, middle};
use super::text::{fit, pad, width};
use super::{Line, Screen, Style};

/// The space before the first column, and between columns.
const GAP: usize = 2;
/// The width that the first column keeps on a narrow terminal, unless a table keeps more.
const MIN_FIRST: usize = 8;

/// A column.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub name: &'static str,
    /// True if its cells are right-aligned.
    pub right: bool,
}

/// A left-aligned column.
pub(crate) fn left(name: &'static str) -> Column {
    Column { name, right: false }
}

/// A right-aligned column.
pub(crate) fn right(name: &'static str) -> Column {
    Column { name, right: true }
}

/// A cell with its style.
pub(crate) type Cell = (Style, String);

struct Row {
    /// At most as wide as the indent.
    mark: (Style, &'static str),
    cells: Vec<Cell>,
    /// Lines below the row.
    below: Vec<Line>,
}

/// A table. The first column is truncated if the table is too wide.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
    least_first: usize,
}

impl Table {
    pub fn new(columns: &[Column]) -> Table {
        Table {
            columns: columns.to_vec(),
            rows: Vec::new(),
            least_first: MIN_FIRST,
        }
    }

    /// Keeps at least this width of the first column. The end of a row is truncated instead.
    pub fn keep_first(&mut self, columns: usize) {
        self.least_first = columns;
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.marked((Style::Plain, ""), cells);
    }

    /// Adds a row with a mark in front of it.
    pub fn marked(&mut self, mark: (Style, &'static str), cells: Vec<Cell>) {
        self.rows.push(Row {
            mark,
            cells,
            below: Vec::new(),
        });
    }

    /// Adds a line below the last row.
    pub fn below(&mut self, line: Line) {
        if let Some(row) = self.rows.last_mut() {
            row.below.push(line);
        }
    }

    /// Inserts a column, with a cell for each row.
    pub fn insert(&mut self, at: usize, column: Column, cells: impl IntoIterator<Item = Cell>) {
        self.columns.insert(at, column);
        for (row, cell) in self.rows.iter_mut().zip(cells) {
            row.cells.insert(at, cell);
        }
    }

    /// Adds a last column, with a cell for each row.
    pub fn append(&mut self, column: Column, cells: impl IntoIterator<Item = Cell>) {
        self.insert(self.columns.len(), column, cells);
    }

    /// Removes a column.
    pub fn remove(&mut self, name: &str) {
        if let Some(at) = self.columns.iter().position(|column| column.name == name) {
            self.columns.remove(at);
            self.rows.iter_mut().for_each(|row| {
                row.cells.remove(at);
            });
        }
    }

    /// The width of the widest cell in each column.
    fn widths(&self) -> Vec<usize> {
        let of = |at: usize| self.rows.iter().filter_map(move |row| row.cells.get(at));
        (self.columns.iter().enumerate())
            .map(|(at, column)| {
                let cells = of(at).map(|(_, text)| width(text));
                cells.chain([width(column.name)]).max().unwrap_or(0)
            })
            .collect()
    }

    /// The width of a whole row.
    pub fn width(&self) -> usize {
        self.widths().iter().map(|width| GAP + width).sum()
    }

    /// The space that is left for the first column.
    pub fn room_of_first(&self, room: usize) -> usize {
        let others: usize = self.widths().iter().skip(1).map(|width| GAP + width).sum();
        room.saturating_sub(GAP + others)
    }

    /// Prints the header, unless no column has a name, and the rows.
    pub fn show(&self, screen: &mut Screen) {
        let mut widths = self.widths();
        let first = self.room_of_first(screen.terminal.width);
        if let Some(width) = widths.first_mut() {
            *width = (*width).min(first.max(self.least_first));
        }
        let set = |at: usize, text: &str| {
            let text = match is_words(text) {
                true => fit(text, widths[at]),
                false => middle(text, widths[at]),
            };
            match self.columns[at].right {
                true => format!("{}{text}", " ".repeat(widths[at] - width(&text))),
                false => pad(&text, widths[at]),
            }
        };
        let gap = " ".repeat(GAP);
        if self.columns.iter().any(|column| !column.name.is_empty()) {
            let head: String = (self.columns.iter().enumerate())
                .map(|(at, column)| format!("{gap}{}", set(at, column.name)))
                .collect();
            screen.line(vec![(Style::Dim, head)]);
        }
        for row in &self.rows {
            let mut line: Line = vec![(row.mark.0, pad(row.mark.1, GAP))];
            for (at, (style, text)) in row.cells.iter().enumerate() {
                let gap = if at == 0 { "" } else { &gap };
                let text = format!("{gap}{}", set(at, text));
                // Equal styles need no new escape sequence.
                match line.last_mut() {
                    Some((last, piece)) if last == style => piece.push_str(&text),
                    _ => line.push((*style, text)),
                }
            }
            screen.line(line);
            row.below.iter().for_each(|line| screen.line(line.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Terminal;
    use super::*;

    fn at(width: usize) -> String {
        let mut table = Table::new(&[left("name"), right("time")]);
        table.row(vec![
            (Style::Plain, "torch._dynamo.utils".into()),
            (Style::Dim, "2 s".into()),
        ]);
        table.below(vec![(Style::Dim, "    of it 1 s".into())]);
        table.marked(
            (Style::Red, "✗"),
            vec![(Style::Plain, "訓練".into()), (Style::Dim, "120 ms".into())],
        );
        let mut screen = Screen::new(&Terminal {
            width,
            color: false,
            unicode: true,
        });
        table.show(&mut screen);
        screen.finish()
    }

    #[test]
    fn columns_are_as_wide_as_their_content() {
        let expected = "  name                   time
  torch._dynamo.utils     2 s
    of it 1 s
✗ 訓練                 120 ms
";
        assert_eq!(at(80), expected);
    }

    #[test]
    fn the_first_column_is_cut_on_a_narrow_terminal() {
        let expected = "  name           time
  torch…utils     2 s
    of it 1 s
✗ 訓練         120 ms
";
        assert_eq!(at(21), expected);
    }
}
