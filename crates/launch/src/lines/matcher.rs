//! Lines out of bytes as they come, and which of them match.

use regex_lite::Regex;

/// What is kept of a line that does not end.
const LONGEST: usize = 64 << 10;

/// Counts matching lines.
pub(super) struct Matcher {
    pattern: Regex,
    line: Vec<u8>,
}

impl Matcher {
    pub(super) fn new(pattern: Regex) -> Matcher {
        Matcher {
            pattern,
            line: Vec::new(),
        }
    }

    /// How many lines these bytes complete that match. A carriage return completes a
    /// line as well: progress bars write over theirs.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> usize {
        let mut matched = 0;
        for part in bytes.split_inclusive(|byte| b"\n\r".contains(byte)) {
            let (text, complete) = match part.split_last() {
                Some((b'\n' | b'\r', text)) => (text, true),
                _ => (part, false),
            };
            let room = LONGEST.saturating_sub(self.line.len());
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            if complete {
                matched += self.end();
            }
        }
        matched
    }

    /// The line ends here; empty ones count for nothing.
    pub(super) fn end(&mut self) -> usize {
        let matches =
            !self.line.is_empty() && self.pattern.is_match(&String::from_utf8_lossy(&self.line));
        self.line.clear();
        usize::from(matches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matcher(pattern: &str) -> Matcher {
        Matcher::new(Regex::new(pattern).expect("an expression"))
    }

    #[test]
    fn lines_are_whole_however_the_bytes_come() {
        let text = b"step 1\nother\nstep 2\r\nstep 3\rstep 4 \xff\nlast step";
        for size in 1..text.len() {
            let mut matcher = matcher("^step [0-9]");
            let matched: usize = text.chunks(size).map(|part| matcher.feed(part)).sum();
            assert_eq!(matched, 4, "in parts of {size}");
            assert_eq!(matcher.end(), 0);
        }
    }

    #[test]
    fn the_last_line_needs_no_end() {
        let mut matcher = matcher("done$");
        assert_eq!(matcher.feed(b"it is done"), 0);
        assert_eq!(matcher.end(), 1);
        assert_eq!(matcher.end(), 0);
    }

    #[test]
    fn empty_lines_do_not_count_and_endless_ones_take_no_memory() {
        let mut matcher = matcher(".*");
        assert_eq!(matcher.feed(b"\n\n\r\n"), 0);
        for _ in 0..100 {
            assert_eq!(matcher.feed(&[b'x'; 10_000]), 0);
        }
        assert_eq!(matcher.line.len(), LONGEST);
        assert_eq!(matcher.feed(b"\n"), 1);
    }
}
