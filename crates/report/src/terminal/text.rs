//! Wraps and truncates text. Width is counted in characters.

use crate::units::{TIE, tie};

/// The width of a text in columns.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
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
        let mut word: Vec<char> = word
            .chars()
            .map(|c| if c == TIE { ' ' } else { c })
            .collect();
        loop {
            let limit = if lines.is_empty() { first } else { rest };
            let used = width(&line);
            let gap = usize::from(used > 0);
            if used + gap + word.len() <= limit {
                if gap == 1 {
                    line.push(' ');
                }
                line.extend(&word);
                break;
            }
            if used == 0 && word.len() > rest.max(limit) {
                line.extend(word.drain(..limit));
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
    let mut cut: String = text.chars().take(limit.saturating_sub(1)).collect();
    cut.truncate(cut.trim_end().len());
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
    fn characters_are_counted_not_bytes() {
        assert_eq!(wrap("µµµ ×××", 7, 7), ["µµµ ×××"]);
        assert_eq!(fit("µµµµ", 4), "µµµµ");
        assert_eq!(fit("µµµµµ", 4), "µµµ…");
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
