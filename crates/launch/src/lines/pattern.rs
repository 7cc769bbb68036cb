//! The regular expressions that lines of output are matched with.

use preheat_model::run::line_patterns;
use regex_lite::Regex;

/// An expression for lines that end an iteration, and one for those that begin it.
#[derive(Clone)]
pub(crate) struct Pattern {
    pub(super) begin: Option<Regex>,
    pub(super) end: Regex,
}

impl Pattern {
    /// Parses `END` or `BEGIN=>END`. The error has the part that is not an expression, and
    /// the reason.
    pub(crate) fn parse(text: &str) -> Result<Pattern, (String, regex_lite::Error)> {
        let (begin, end) = line_patterns(text);
        let regex = |text: &str| Regex::new(text).map_err(|why| (text.to_owned(), why));
        Ok(Pattern {
            begin: begin.map(regex).transpose()?,
            end: regex(end)?,
        })
    }
}
