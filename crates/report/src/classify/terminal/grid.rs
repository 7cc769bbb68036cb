//! A small table. Columns are as wide as their content; the first one is truncated if the
//! table is too wide.

use crate::terminal::{Screen, Style, width};

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
            let text = shortened(text, widths[at]);
            let gap = "  ";
            match self.columns[at].right {
                true => format!("{gap}{text:>0$}", widths[at]),
                false => format!("{gap}{text:<0$}", widths[at]),
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

/// Truncates `text` in the middle, since names differ at their ends.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    let count = width(text);
    if count <= limit {
        return text.to_owned();
    }
    if limit < 3 {
        return text.chars().take(limit).collect();
    }
    let tail = (limit - 1) / 2;
    let head = limit - 1 - tail;
    let mut cut: String = text.chars().take(head).collect();
    cut.push('…');
    cut.extend(text.chars().skip(count - tail));
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_in_the_middle() {
        assert_eq!(shortened("abcdefghij", 10), "abcdefghij");
        assert_eq!(shortened("abcdefghij", 7), "abc…hij");
        assert_eq!(shortened("abcdefghij", 6), "abc…ij");
        assert_eq!(shortened("abc", 2), "ab");
        assert_eq!(shortened("µµµµµ", 3), "µ…µ");
    }
}
