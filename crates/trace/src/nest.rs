//! Sorts the spans of a thread and computes their nesting.
//!
//! The recorder writes a span when it begins, so spans are already sorted unless the file
//! is damaged or a thread id was reused. A span is inside another if it begins before that
//! one ends. A span that ends later than its parent (a range closed elsewhere) is cut off
//! there, so that spans form a tree.

use preheat_model::run::trace::Span;

/// The end of a span that has not ended.
pub(crate) const OPEN: u64 = u64::MAX;

/// Sorts the spans, ends open ones at `ended`, cuts them off at their parents, and sets
/// their depths.
pub(crate) fn nest(spans: &mut [Span], ended: u64) {
    if !spans.is_sorted_by_key(|span| span.begin) {
        spans.sort_by_key(|span| span.begin);
    }
    // The ends of the spans that may contain the next one, outermost first.
    let mut ends: Vec<u64> = Vec::new();
    for span in spans {
        while ends.pop_if(|end| *end <= span.begin).is_some() {}
        if span.end == OPEN {
            span.end = ended.max(span.begin);
        }
        if let Some(limit) = ends.last() {
            span.end = span.end.min(*limit);
        }
        span.depth = u8::try_from(ends.len()).unwrap_or(u8::MAX);
        if span.end > span.begin {
            ends.push(span.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use preheat_model::run::trace::SpanKind;

    fn span(begin: u64, end: u64) -> Span {
        Span {
            begin,
            end,
            detail: 0,
            symbol: 0,
            what: SpanKind::Call,
            depth: 0,
        }
    }

    fn nested(mut spans: Vec<Span>, ended: u64) -> Vec<(u64, u64, u8)> {
        nest(&mut spans, ended);
        spans
            .iter()
            .map(|span| (span.begin, span.end, span.depth))
            .collect()
    }

    #[test]
    fn spans_within_spans_are_deeper() {
        let spans = vec![
            span(0, 10),
            span(1, 3),
            span(1, 2),
            span(3, 4),
            span(10, 12),
        ];
        let expected = [(0, 10, 0), (1, 3, 1), (1, 2, 2), (3, 4, 1), (10, 12, 0)];
        assert_eq!(nested(spans, 20), expected);
    }

    #[test]
    fn a_child_that_ends_later_is_cut() {
        assert_eq!(
            nested(vec![span(0, 5), span(3, 9)], 20),
            [(0, 5, 0), (3, 5, 1)]
        );
    }

    #[test]
    fn open_spans_end_with_the_process() {
        let spans = vec![span(0, OPEN), span(2, 5), span(4, OPEN), span(30, OPEN)];
        let expected = [(0, 20, 0), (2, 5, 1), (4, 5, 2), (30, 30, 0)];
        assert_eq!(nested(spans, 20), expected);
    }

    #[test]
    fn disorder_is_sorted_and_equal_begins_keep_their_order() {
        let spans = vec![span(5, 9), span(1, 9), span(1, 3)];
        assert_eq!(nested(spans, 20), [(1, 9, 0), (1, 3, 1), (5, 9, 1)]);
    }

    #[test]
    fn depth_saturates() {
        let spans = (0..1000).map(|at| span(at, 5000)).collect();
        assert_eq!(nested(spans, 5000)[999].2, u8::MAX);
    }
}
