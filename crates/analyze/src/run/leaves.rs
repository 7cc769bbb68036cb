//! Flattens the nested spans of a thread: at each instant, the innermost span.

use super::facts::{ClassifiedSpan, Facts};
use super::trace::Span;

/// An interval in which one span is the innermost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Leaf {
    pub begin: u64,
    pub end: u64,
    pub judged: ClassifiedSpan,
    /// The bytes of the span; 0 except in its first interval.
    pub bytes: u64,
    /// True if this is the first interval of the span.
    pub first: bool,
}

/// Iterates over the leaf intervals of a thread, skipping spans that only group others.
pub(super) struct Leaves<'a> {
    facts: &'a Facts<'a>,
    spans: &'a [Span],
    next: usize,
    now: u64,
    open: Vec<Open>,
}

struct Open {
    end: u64,
    judged: ClassifiedSpan,
    bytes: u64,
    emitted: bool,
}

impl<'a> Leaves<'a> {
    pub(super) fn new(facts: &'a Facts<'a>, thread: usize) -> Leaves<'a> {
        let thread = facts.process.threads.get(thread);
        Leaves {
            facts,
            spans: thread.map_or(&[], |thread| &thread.spans),
            next: 0,
            now: 0,
            open: Vec::new(),
        }
    }

    fn open_next(&mut self, span: &Span) {
        self.next += 1;
        let outer = self.open.last();
        let Some(judged) = self.facts.judge(span, outer.map(|open| &open.judged)) else {
            return;
        };
        // An inner span never outlasts its outer one.
        let end = span.end.min(outer.map_or(u64::MAX, |open| open.end));
        let bytes = self.facts.bytes(span);
        self.open.push(Open {
            end,
            judged,
            bytes,
            emitted: false,
        });
    }
}

impl Iterator for Leaves<'_> {
    type Item = Leaf;

    fn next(&mut self) -> Option<Leaf> {
        loop {
            let next = self.spans.get(self.next);
            let Some(top) = self.open.last_mut() else {
                let span = next?;
                self.now = self.now.max(span.begin);
                self.open_next(span);
                continue;
            };
            let inner = next.map_or(u64::MAX, |span| span.begin);
            let until = top.end.min(inner);
            if until > self.now {
                let leaf = Leaf {
                    begin: self.now,
                    end: until,
                    judged: top.judged,
                    bytes: top.bytes,
                    first: !top.emitted,
                };
                (top.bytes, top.emitted) = (0, true);
                self.now = until;
                return Some(leaf);
            }
            match next {
                Some(span) if inner < top.end => self.open_next(span),
                _ => {
                    self.open.pop();
                }
            }
        }
    }
}
