//! What single spans are counted as, for exporters that show them all.

use super::Cause;
use super::facts::Facts;
use super::trace::{Process, Span};

/// Says of the spans of `process` what each is counted as; none for mere frames.
pub fn span_causes(process: &Process) -> impl Fn(&Span) -> Option<Cause> {
    let facts = Facts::of(process);
    move |span| facts.judge(span, None).map(|judged| judged.cause)
}
