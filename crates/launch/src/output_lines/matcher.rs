//! Splits bytes into lines as they arrive, and matches them with regular expressions.

use preheat_model::run::LineRule;
use regex_lite::Regex;

/// The maximum length that is kept of a line.
const MAX_LINE_BYTES: usize = 64 << 10;

/// A line that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matched {
    /// It begins an iteration.
    Begin,
    /// It ends an iteration.
    End,
}

/// Finds matching lines.
pub(super) struct Matcher {
    pattern: Pattern,
    line: Vec<u8>,
}

impl Matcher {
    pub(super) fn new(pattern: Pattern) -> Matcher {
        Matcher {
            pattern,
            line: Vec::new(),
        }
    }

    /// The matches among the lines that these bytes complete. A carriage return also
    /// completes a line: progress bars overwrite theirs.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Matched> {
        let mut matched = Vec::new();
        for part in bytes.split_inclusive(|byte| b"\n\r".contains(byte)) {
            let (text, complete) = match part.split_last() {
                Some((b'\n' | b'\r', text)) => (text, true),
                _ => (part, false),
            };
            let room = MAX_LINE_BYTES.saturating_sub(self.line.len());
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            if complete {
                matched.extend(self.end());
            }
        }
        matched
    }

    /// Ends the line; an empty one matches nothing. A line that matches both expressions
    /// ends an iteration and begins the next.
    pub(super) fn end(&mut self) -> Vec<Matched> {
        let mut matched = Vec::new();
        if !self.line.is_empty() {
            let text = String::from_utf8_lossy(&self.line);
            if self.pattern.end.is_match(&text) {
                matched.push(Matched::End);
            }
            let begin = self.pattern.begin.as_ref();
            if begin.is_some_and(|begin| begin.is_match(&text)) {
                matched.push(Matched::Begin);
            }
        }
        self.line.clear();
        matched
    }
}

/// An expression for lines that end an iteration, and one for those that begin it.
#[derive(Clone)]
pub(crate) struct Pattern {
    pub(super) begin: Option<Regex>,
    pub(super) end: Regex,
}

impl Pattern {
    /// Compiles the expressions. The error has the part that is not an expression, and the
    /// reason.
    pub(crate) fn new(rule: &LineRule) -> Result<Pattern, (String, regex_lite::Error)> {
        let regex = |text: &str| Regex::new(text).map_err(|why| (text.to_owned(), why));
        Ok(Pattern {
            begin: rule.begin.as_deref().map(regex).transpose()?,
            end: regex(&rule.end)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matcher(pattern: &str) -> Matcher {
        Matcher::new(Pattern::new(&LineRule::parse(pattern)).expect("an expression"))
    }

    #[test]
    fn lines_are_whole_however_the_bytes_come() {
        let text = b"step 1\nother\nstep 2\r\nstep 3\rstep 4 \xff\nlast step";
        for size in 1..text.len() {
            let mut matcher = matcher("^step [0-9]");
            let matched: usize = text.chunks(size).map(|part| matcher.feed(part).len()).sum();
            assert_eq!(matched, 4, "in parts of {size}");
            assert_eq!(matcher.end(), []);
        }
    }

    #[test]
    fn the_last_line_needs_no_newline() {
        let mut matcher = matcher("done$");
        assert_eq!(matcher.feed(b"it is done"), []);
        assert_eq!(matcher.end(), [Matched::End]);
        assert_eq!(matcher.end(), []);
    }

    #[test]
    fn empty_lines_do_not_match_and_endless_ones_are_bounded() {
        let mut matcher = matcher(".*");
        assert_eq!(matcher.feed(b"\n\n\r\n"), []);
        for _ in 0..100 {
            assert_eq!(matcher.feed(&[b'x'; 10_000]), []);
        }
        assert_eq!(matcher.line.len(), MAX_LINE_BYTES);
        assert_eq!(matcher.feed(b"\n"), [Matched::End]);
    }

    #[test]
    fn a_line_begins_or_ends_an_iteration_or_both() {
        use Matched::{Begin, End};
        let mut matcher = matcher("^begin|turn=>^end|turn");
        let matched = matcher.feed(b"begin\nend\nturn\nother\nbegin\n");
        assert_eq!(matched, [Begin, End, End, Begin, Begin]);
    }
}
