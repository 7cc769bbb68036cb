//! Wraps, pads and truncates text. Width is counted in columns of a terminal: names of
//! programs and files may contain wide characters, which take two.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::units::{TIE, tie};

/// The width of a text in columns of a terminal.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The longest beginning of `text` that is at most `limit` columns wide, and the rest.
pub(super) fn split_at_column(text: &str, limit: usize) -> (&str, &str) {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > limit
    });
    text.split_at(end.map_or(text.len(), |(at, _)| at))
}

/// `text` followed by spaces up to `columns`. A `{:<columns$}` would count characters.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(missing))
}

/// Removes control characters and repeated spaces: names and messages come from drivers and
/// programs, and could otherwise reconfigure the terminal.
pub(crate) fn clean(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    spaced
        .split(' ')
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Wraps `text`: the first line at most `first` wide, the others at most `rest`. Numbers stay
/// with their units, and words wider than a line are broken.
pub(super) fn wrap(text: &str, first: usize, rest: usize) -> Vec<String> {
    let (first, rest) = (first.max(1), rest.max(1));
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in tie(&clean(text)).split(' ') {
        let word = word.replace(TIE, " ");
        let mut word = word.as_str();
        loop {
            let limit = if lines.is_empty() { first } else { rest };
            let used = width(&line);
            let gap = usize::from(used > 0);
            if used + gap + width(word) <= limit {
                if gap == 1 {
                    line.push(' ');
                }
                line.push_str(word);
                break;
            }
            if used == 0 && width(word) > rest.max(limit) {
                // At least one character, or a wide one in a narrow line would never end.
                let one = word.chars().next().and_then(|c| c.width()).unwrap_or(1);
                let (begin, end) = split_at_column(word, limit.max(one));
                line.push_str(begin);
                word = end;
            }
            lines.push(std::mem::take(&mut line));
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// Wraps `text` after `lead` to `columns` columns, with later lines indented by the width of
/// `lead`.
pub fn hanging(lead: &str, text: &str, columns: usize) -> Vec<String> {
    let indent = width(lead);
    let room = columns.saturating_sub(indent);
    let lines = wrap(text, room, room).into_iter().enumerate();
    lines
        .map(|(index, line)| match index {
            0 => format!("{lead}{line}"),
            _ => format!("{}{line}", " ".repeat(indent)),
        })
        .collect()
}

/// Truncates `text` to `limit` columns, with an ellipsis if it was cut.
pub(crate) fn fit(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let (begin, _) = split_at_column(text, limit.saturating_sub(1));
    let mut cut = begin.trim_end().to_owned();
    if limit > 0 {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_with_space_for_a_lead() {
        assert_eq!(wrap("one two three", 7, 5), ["one two", "three"]);
        assert_eq!(wrap("one two three", 3, 9), ["one", "two three"]);
        assert_eq!(wrap("", 5, 5), [""]);
    }

    #[test]
    fn later_lines_are_indented() {
        assert_eq!(
            hanging("a  ", "one two three", 10),
            ["a  one two", "   three"]
        );
        assert_eq!(hanging("a  ", "", 10), ["a  "]);
    }

    #[test]
    fn breaks_words_that_fit_no_line() {
        assert_eq!(wrap("abcdefghij", 4, 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("a abcdefg b", 3, 4), ["a", "abcd", "efg", "b"]);
    }

    #[test]
    fn moves_words_that_fit_only_on_later_lines() {
        assert_eq!(wrap("abcdef", 2, 6), ["", "abcdef"]);
    }

    #[test]
    fn columns_are_counted_not_bytes() {
        assert_eq!(wrap("µµµ ×××", 7, 7), ["µµµ ×××"]);
        assert_eq!(fit("µµµµ", 4), "µµµµ");
        assert_eq!(fit("µµµµµ", 4), "µµµ…");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(width("訓練.py"), 7);
        assert_eq!(pad("訓練", 6), "訓練  ");
        assert_eq!(fit("訓練計画", 6), "訓練…");
        assert_eq!(wrap("訓練計画", 5, 5), ["訓練", "計画"]);
        assert_eq!(wrap("訓練", 1, 1), ["訓", "練"]);
    }

    #[test]
    fn no_space_before_the_ellipsis() {
        assert_eq!(fit("one two", 5), "one…");
        assert_eq!(fit("one", 0), "");
    }

    #[test]
    fn control_characters_become_spaces() {
        assert_eq!(clean("a\u{1b}[31mb\n\tc"), "a [31mb c");
    }
}
