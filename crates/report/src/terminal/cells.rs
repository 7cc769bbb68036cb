//! The cells of all tables: durations, bars and truncated names.

use super::text::{fit, split_at_column, width};
use crate::units::{ABSENT, duration_parts};

/// Formats durations for a column: numbers right-aligned, units left-aligned, equal widths.
pub(crate) fn durations(seconds: impl IntoIterator<Item = f64>) -> Vec<String> {
    let parts: Vec<(String, &str)> = seconds
        .into_iter()
        .map(|value| duration_parts(value).unwrap_or((ABSENT.to_owned(), "")))
        .collect();
    let longest =
        |of: &dyn Fn(&(String, &str)) -> usize| parts.iter().map(of).max().unwrap_or_default();
    let number = longest(&|part| width(&part.0));
    let unit = longest(&|part| width(part.1));
    parts
        .iter()
        .map(|(value, name)| format!("{value:>number$} {name:<unit$}"))
        .collect()
}

/// A bar that is `value / longest` of `columns` long, in eighths of a column. Every value
/// above 0 shows at least an eighth.
pub(crate) fn bar(value: f64, longest: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = value / longest;
    if !(share > 0.0 && share.is_finite()) {
        return String::new();
    }
    let eighths = (share.min(1.0) * columns as f64 * 8.0).round().max(1.0) as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// Truncates `text` to `limit` columns in the middle, since names differ at their ends.
pub(crate) fn middle(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    if limit == 0 {
        return String::new();
    }
    let tail = (limit - 1) / 2;
    let head = limit - 1 - tail;
    let (left, _) = split_at_column(text, head);
    // The shortest beginning whose rest fits.
    let mut rests = text.char_indices().map(|(at, _)| &text[at..]);
    let right = rests.find(|rest| width(rest) <= tail);
    format!(
        "{}…{}",
        left.trim_end(),
        right.unwrap_or_default().trim_start()
    )
}

/// Returns true if a name is made of words, and is not a path or a signature.
pub(crate) fn is_words(text: &str) -> bool {
    text.contains(' ') && !text.contains(['/', ':', '<', '('])
}

/// Truncates a name to `limit` columns: a path in the middle, words after a whole word.
pub(crate) fn name(text: &str, limit: usize) -> String {
    if !is_words(text) {
        return middle(text, limit);
    }
    let cut = fit(text, limit);
    match (cut.strip_suffix('…'), cut.rsplit_once(' ')) {
        (Some(left), Some((words, _))) if !text[left.len()..].starts_with(' ') => {
            format!("{words}…")
        }
        _ => cut,
    }
}

/// Bars on both sides of a line at zero, decreases to the left and increases to the right: the
/// widths of the sides in columns, and the value of one column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sides {
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
    fn durations_are_aligned() {
        assert_eq!(
            durations([2.4, 0.1204, f64::NAN]),
            ["2.40 s ", " 120 ms", "   –   "]
        );
        assert!(durations([]).is_empty());
    }

    #[test]
    fn bars_have_eighths_and_small_values_stay_visible() {
        assert_eq!(bar(4.0, 4.0, 3), "███");
        assert_eq!(bar(2.0, 4.0, 3), "█▌");
        assert_eq!(bar(0.0001, 4.0, 3), "▏");
        assert_eq!(bar(0.0, 4.0, 3), "");
        assert_eq!(bar(-1.0, 4.0, 3), "");
        assert_eq!(bar(1.0, 0.0, 3), "");
        assert_eq!(bar(9.0, 4.0, 2), "██");
    }

    #[test]
    fn truncates_names_in_the_middle() {
        assert_eq!(middle("torch._dynamo", 13), "torch._dynamo");
        assert_eq!(middle("torch._dynamo.utils", 11), "torch…utils");
        assert_eq!(middle("abcdef", 1), "…");
        assert_eq!(middle("abcdef", 2), "a…");
        assert_eq!(middle("abcdef", 0), "");
        assert_eq!(middle("訓練/計画.py", 8), "訓練….py");
    }

    #[test]
    fn truncates_words_at_word_boundaries() {
        assert_eq!(name("Python's own start", 18), "Python's own start");
        assert_eq!(name("Python's own start", 16), "Python's own…");
        assert_eq!(name("Python's own start", 13), "Python's own…");
        assert_eq!(name("torch._dynamo.utils", 11), "torch…utils");
        assert_eq!(name("void f<int, float>(int)", 11), "void…(int)");
        assert_eq!(name("a bc", 0), "");
    }

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
