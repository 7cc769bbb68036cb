//! One start in detail, for exporters.

use super::Cause;
use super::trace::{Process, Span};

/// The cause of a span of one process; none for spans that only group others.
pub type SpanCause<'a> = Box<dyn Fn(&Span) -> Option<Cause> + 'a>;

/// Returns the function that classifies the spans of a process.
pub type SpanCauses = for<'a> fn(&'a Process) -> SpanCause<'a>;

/// The analysis of one start, for exporters that also show the raw spans.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartAnalysis {
    /// The process and thread that run the iterations, as indices into the tables of the
    /// start; none if nothing was recorded.
    pub thread: Option<(usize, usize)>,
    /// Begin and end of each iteration, in nanoseconds since `exec`.
    pub iterations: Vec<(u64, u64)>,
    /// One cause at each instant until the end of the third iteration (of the program, if
    /// nothing repeats), without gaps. If there are very many parts, short ones are merged.
    pub path: Vec<PathPart>,
    /// Item names; `PathPart::item` is an index into this list.
    pub names: Vec<String>,
}

/// A part of the path, in nanoseconds since `exec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathPart {
    /// Begin.
    pub begin: u64,
    /// End.
    pub end: u64,
    /// The cause.
    pub cause: Cause,
    /// The item, as an index into [`StartAnalysis::names`].
    pub item: u32,
}
