//! The causes of single spans, for exporters that show every span.

use super::facts::Facts;
use preheat_model::run::SpanCause;
use preheat_model::run::trace::Process;

/// Returns a function from the spans of `process` to their causes; none for spans that only
/// group others.
pub fn span_causes(process: &Process) -> SpanCause<'_> {
    let facts = Facts::of(process);
    Box::new(move |span| facts.judge(span, None).map(|judged| judged.cause))
}
