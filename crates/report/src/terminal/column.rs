//! The columns of a table: alignment, gaps, and their widths on narrow terminals.

use super::text::{self, fit, pad};

/// The space before the first column, and usually between columns.
pub(super) const GAP: usize = 2;
/// The full width of the first column, for [`Column::cut_below`]: it is not cut before the other
/// column is.
pub(crate) const WHOLE: usize = usize::MAX;

#[derive(Clone, Copy)]
enum Align {
    Left,
    Right,
    Center,
}

/// The greatest width of a column if the first column of the table would otherwise be narrower
/// than `first`. A width of 0 drops the column.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    pub first: usize,
    pub width: usize,
}

/// A column.
#[derive(Clone)]
pub(crate) struct Column {
    pub(super) name: &'static str,
    align: Align,
    /// The space before it, unless it is the first.
    pub(super) gap: usize,
    /// The greatest widths of this column on narrow terminals.
    pub(super) limits: Vec<Limit>,
    /// The cells of the next column need not be aligned ([`Column::ragged`]).
    pub(super) is_ragged: bool,
}

impl Column {
    fn new(name: &'static str, align: Align) -> Column {
        Column {
            name,
            align,
            gap: GAP,
            limits: Vec::new(),
            is_ragged: false,
        }
    }

    /// Sets the space before the column.
    pub fn gap(mut self, width: usize) -> Column {
        self.gap = width;
        self
    }

    /// Drops the column if the first one would otherwise be narrower than `first`. Columns with
    /// a greater `first` are dropped earlier, those with the same one together.
    pub fn drop_below(self, first: usize) -> Column {
        self.cut_below(first, 0)
    }

    /// Cuts the column to `width` if the first one would otherwise be narrower than `first`.
    pub fn cut_below(mut self, first: usize, width: usize) -> Column {
        self.limits.push(Limit { first, width });
        self
    }

    /// Lets the cells of the next column begin further left in rows that would not fit
    /// otherwise. Only the last column but one can be ragged.
    pub fn ragged(mut self) -> Column {
        self.is_ragged = true;
        self
    }

    /// Cuts and pads a cell to this width.
    pub(super) fn set(&self, text: &str, width: usize) -> String {
        let text = fit(text, width);
        let space = width - text::width(&text);
        let before = match self.align {
            Align::Left => 0,
            Align::Right => space,
            Align::Center => space / 2,
        };
        pad(&format!("{}{text}", " ".repeat(before)), width)
    }
}

/// A left-aligned column.
pub(crate) fn left(name: &'static str) -> Column {
    Column::new(name, Align::Left)
}

/// A right-aligned column.
pub(crate) fn right(name: &'static str) -> Column {
    Column::new(name, Align::Right)
}

/// A centered column.
pub(crate) fn center(name: &'static str) -> Column {
    Column::new(name, Align::Center)
}
