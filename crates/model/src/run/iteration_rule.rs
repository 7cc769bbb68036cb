//! The rule by which iterations are found, as `--iterations` states it.

/// The separator of two expressions.
const TO: &str = "=>";

/// The expressions of `lines:END` or `lines:BEGIN=>END`, without the prefix: for lines that
/// begin iterations, if given, and for lines that end them.
pub fn line_patterns(text: &str) -> (Option<&str>, &str) {
    match text.split_once(TO) {
        Some((begin, end)) if !begin.is_empty() && !end.is_empty() => (Some(begin), end),
        _ => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_may_begin_and_end_iterations() {
        assert_eq!(line_patterns("^a=>^b"), (Some("^a"), "^b"));
        assert_eq!(line_patterns("^b"), (None, "^b"));
        assert_eq!(line_patterns("=>"), (None, "=>"));
    }
}
