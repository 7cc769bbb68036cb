//! Bars on both sides of a line at zero: decreases to the left, increases to the right.

use crate::terminal::cells::bar;

/// The widths of the two sides in columns, and the value of one column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sides {
    pub left: usize,
    pub right: usize,
    column: f64,
}

impl Sides {
    /// Divides `columns` columns so that the longest bar on each side fits and both sides
    /// share one scale.
    pub fn new(values: impl Iterator<Item = f64>, columns: usize) -> Sides {
        let (less, more) = values
            .filter(|value| value.is_finite())
            .fold((0.0_f64, 0.0_f64), |(less, more), value| {
                (less.max(-value), more.max(value))
            });
        let column = (less + more) / columns.max(1) as f64;
        if !(column > 0.0 && column.is_finite()) {
            return Sides {
                left: 0,
                right: columns,
                column: f64::INFINITY,
            };
        }
        // Every value other than 0 gets at least one column.
        let least = |value: f64| usize::from(value > 0.0).min(columns);
        let most = (columns - least(more)).max(least(less));
        let left = ((less / column).round() as usize).clamp(least(less), most);
        Sides {
            left,
            right: columns - left,
            column,
        }
    }

    /// The bar of a value, padded to the width of both sides and the line between them.
    pub fn bar(&self, value: f64) -> String {
        let (less, more) = match value {
            value if value < 0.0 => (backward(-value / self.column, self.left), String::new()),
            value => {
                let longest = self.right as f64 * self.column;
                (String::new(), bar(value, longest, self.right))
            }
        };
        format!("{less:>0$}│{more:<1$}", self.left, self.right)
    }
}

/// A right-aligned bar in half columns; every value above 0 shows at least a half.
fn backward(columns: f64, most: usize) -> String {
    if !(columns > 0.0 && columns.is_finite()) {
        return String::new();
    }
    let halves = ((columns * 2.0).round() as usize).clamp(1, most * 2);
    let half = if halves % 2 == 1 { "▐" } else { "" };
    format!("{half}{}", "█".repeat(halves / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_share_one_scale() {
        let sides = Sides::new([3.0, -1.0, 0.0].into_iter(), 8);
        assert_eq!((sides.left, sides.right), (2, 6));
        assert_eq!(sides.bar(3.0), "  │██████");
        assert_eq!(sides.bar(-1.0), "██│      ");
        assert_eq!(sides.bar(-0.7), "▐█│      ");
        assert_eq!(sides.bar(0.0), "  │      ");
        assert_eq!(sides.bar(f64::NAN), "  │      ");
    }

    #[test]
    fn small_values_stay_visible() {
        let sides = Sides::new([100.0, -0.1].into_iter(), 8);
        assert_eq!((sides.left, sides.right), (1, 7));
        assert_eq!(sides.bar(-0.1), "▐│       ");
        assert_eq!(sides.bar(0.1), " │▏      ");
    }

    #[test]
    fn each_side_keeps_at_least_one_column() {
        let sides = Sides::new([-100.0, 0.1].into_iter(), 8);
        assert_eq!((sides.left, sides.right), (7, 1));
        assert_eq!(sides.bar(-100.0), "███████│ ");
        assert_eq!(sides.bar(0.1), "       │▏");
    }

    #[test]
    fn zero_has_no_bar() {
        let sides = Sides::new([0.0, f64::NAN].into_iter(), 4);
        assert_eq!(sides.bar(0.0), "│    ");
        assert_eq!(Sides::new([1.0, -1.0].into_iter(), 0).bar(1.0), "│");
    }
}
