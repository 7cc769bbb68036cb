//! A small table. Columns are as wide as their content; the first one is truncated if the
//! table is too wide.

use crate::terminal::cells::middle;
use crate::terminal::{Screen, Style, pad, width};

/// A column.
pub(super) struct Column {
    pub name: &'static str,
    pub right: bool,
}

/// Rows of text.
pub(super) struct Grid {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<(Style, String)>>,
}

impl Grid {
    /// The width of the widest cell in each column.
    fn widths(&self) -> Vec<usize> {
        let of = |at: usize| self.rows.iter().filter_map(move |row| row.get(at));
        (self.columns.iter().enumerate())
            .map(|(at, column)| {
                let cells = of(at).map(|(_, text)| width(text));
                cells.chain([width(column.name)]).max().unwrap_or(0)
            })
            .collect()
    }

    /// The space that is left for the first column.
    pub fn room_of_first(&self, room: usize) -> usize {
        let others: usize = self.widths().iter().skip(1).map(|width| width + 2).sum();
        room.saturating_sub(others + 2)
    }

    /// Removes a column.
    pub fn remove(&mut self, name: &str) {
        if let Some(at) = self.columns.iter().position(|column| column.name == name) {
            self.columns.remove(at);
            self.rows.iter_mut().for_each(|row| {
                row.remove(at);
            });
        }
    }

    /// Prints the header and the rows, indented by two.
    pub fn show(&self, screen: &mut Screen) {
        let mut widths = self.widths();
        let first = self.room_of_first(screen.terminal.width);
        if let Some(width) = widths.first_mut() {
            *width = (*width).min(first.max(8));
        }
        let set = |at: usize, text: &str| {
            let text = middle(text, widths[at]);
            let gap = "  ";
            match self.columns[at].right {
                true => format!("{gap}{text:>0$}", widths[at]),
                false => format!("{gap}{}", pad(&text, widths[at])),
            }
        };
        let head: String = (self.columns.iter().enumerate())
            .map(|(at, column)| set(at, column.name))
            .collect();
        screen.line(vec![(Style::Dim, head)]);
        for row in &self.rows {
            let cells = row.iter().enumerate();
            screen.line(
                cells
                    .map(|(at, (style, text))| (*style, set(at, text)))
                    .collect(),
            );
        }
    }
}
