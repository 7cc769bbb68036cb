//! The causes of single spans, for exporters that show every span.

use super::Cause;
use super::facts::Facts;
use super::trace::{Process, Span};

/// Returns a function from the spans of `process` to their causes; none for spans that only
/// group others.
pub fn span_causes(process: &Process) -> impl Fn(&Span) -> Option<Cause> {
    let facts = Facts::of(process);
    move |span| facts.judge(span, None).map(|judged| judged.cause)
}
