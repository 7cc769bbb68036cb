//! The rule by which iterations are found, as `--iterations` and recordings spell it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A rule by which iterations are found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum IterationRule {
    /// By the first rule that finds a repetition.
    #[default]
    Auto,
    /// By NVTX ranges, of one name if given.
    Nvtx(Option<String>),
    /// By marks in Python: steps, calls of models and of known libraries.
    Python,
    /// By calls of a function, `module:function`.
    Call(String),
    /// By the period of kernel launches.
    Kernels,
    /// By the regions that the program times.
    Timers,
    /// By lines of output.
    Lines(LineRule),
}

/// Regular expressions for the lines of output around iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineRule {
    /// For lines that begin an iteration, if given. Otherwise the end of one begins the next.
    pub begin: Option<String>,
    /// For lines that end an iteration.
    pub end: String,
}

/// The error for a rule that does not exist; its message lists all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected one of auto, nvtx, nvtx:NAME, python, call:MODULE:FUNCTION, kernels, timers, \
     lines:REGEX, lines:BEGIN=>END"
)]
pub struct UnknownIterationRule;

/// The separator of two expressions.
const TO: &str = "=>";

impl IterationRule {
    /// The rules that need no argument, by name.
    pub const SIMPLE: [(&str, IterationRule); 5] = [
        ("auto", IterationRule::Auto),
        ("nvtx", IterationRule::Nvtx(None)),
        ("python", IterationRule::Python),
        ("kernels", IterationRule::Kernels),
        ("timers", IterationRule::Timers),
    ];
}

impl FromStr for IterationRule {
    type Err = UnknownIterationRule;

    fn from_str(text: &str) -> Result<IterationRule, UnknownIterationRule> {
        let mut simple = IterationRule::SIMPLE.into_iter();
        if let Some((_, rule)) = simple.find(|(name, _)| *name == text) {
            return Ok(rule);
        }
        Ok(match text.split_once(':') {
            Some((_, "")) | None => return Err(UnknownIterationRule),
            Some(("nvtx", name)) => IterationRule::Nvtx(Some(name.to_owned())),
            Some(("call", function)) if is_function(function) => {
                IterationRule::Call(function.to_owned())
            }
            Some(("lines", patterns)) => IterationRule::Lines(LineRule::parse(patterns)),
            Some(_) => return Err(UnknownIterationRule),
        })
    }
}

impl TryFrom<String> for IterationRule {
    type Error = UnknownIterationRule;

    fn try_from(text: String) -> Result<IterationRule, UnknownIterationRule> {
        text.parse()
    }
}

impl From<IterationRule> for String {
    fn from(rule: IterationRule) -> String {
        rule.to_string()
    }
}

impl fmt::Display for IterationRule {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            IterationRule::Auto => out.write_str("auto"),
            IterationRule::Nvtx(None) => out.write_str("nvtx"),
            IterationRule::Nvtx(Some(name)) => write!(out, "nvtx:{name}"),
            IterationRule::Python => out.write_str("python"),
            IterationRule::Call(function) => write!(out, "call:{function}"),
            IterationRule::Kernels => out.write_str("kernels"),
            IterationRule::Timers => out.write_str("timers"),
            IterationRule::Lines(LineRule {
                begin: Some(begin),
                end,
            }) => write!(out, "lines:{begin}{TO}{end}"),
            IterationRule::Lines(LineRule { begin: None, end }) => write!(out, "lines:{end}"),
        }
    }
}

impl LineRule {
    /// Parses `END` or `BEGIN=>END`. Whether they are regular expressions is not checked.
    pub fn parse(text: &str) -> LineRule {
        let (begin, end) = match text.split_once(TO) {
            Some((begin, end)) if !begin.is_empty() && !end.is_empty() => {
                (Some(begin.to_owned()), end)
            }
            _ => (None, text),
        };
        LineRule {
            begin,
            end: end.to_owned(),
        }
    }
}

/// Matches `package.module:function` and `module:Class.method`.
fn is_function(text: &str) -> bool {
    let is_path = |path: &str| path.split('.').all(|part| !part.is_empty());
    let parts: Vec<&str> = text.split(':').collect();
    matches!(parts[..], [module, function] if is_path(module) && is_path(function))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_survive_a_round_trip_and_others_are_refused() {
        for text in [
            "auto",
            "nvtx",
            "nvtx:step: 1",
            "python",
            "call:package.module:Class.method",
            "kernels",
            "timers",
            "lines:^step",
            "lines:^a=>^b",
            "lines:=>",
        ] {
            let rule = text.parse::<IterationRule>();
            assert_eq!(rule.map(|rule| rule.to_string()), Ok(text.to_owned()));
        }
        for text in [
            "",
            "all",
            "nvtx:",
            "call:f",
            "call:a:",
            "call:a:b:c",
            "lines:",
            "python:x",
        ] {
            assert_eq!(
                text.parse::<IterationRule>(),
                Err(UnknownIterationRule),
                "{text}"
            );
        }
    }

    #[test]
    fn lines_may_begin_and_end_iterations() {
        let parsed = |text| {
            let LineRule { begin, end } = LineRule::parse(text);
            (begin, end)
        };
        assert_eq!(parsed("^a=>^b"), (Some("^a".into()), "^b".into()));
        assert_eq!(parsed("^b"), (None, "^b".into()));
        assert_eq!(parsed("=>"), (None, "=>".into()));
    }
}
