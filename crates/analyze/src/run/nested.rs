//! Nested spans of a thread: how long each waited itself ([`Waiting`]), and the innermost span
//! at each instant ([`Leaves`]).
//!
//! The recorded usage of a span includes its nested spans. Subtracting their waiting time
//! gives that of the span itself, so that a parent is not blamed for the disk accesses of
//! its children.

use super::facts::{ClassifiedSpan, Facts};
use super::trace::{Process, Span, SpanKind, Usage};

/// Shares of waiting, indexed like the tables of the process.
pub(super) struct Waiting {
    usages: Vec<f32>,
    modules: Vec<f32>,
    imports: Vec<f32>,
    loads: Vec<f32>,
    bytecode: Vec<f32>,
    open: Vec<OpenSpan>,
}

/// A span that may still get nested spans.
struct OpenSpan {
    span: Span,
    waited: u64,
    /// The total duration and waiting time of nested spans.
    inner: u64,
    inner_waited: u64,
}

impl Waiting {
    pub(super) fn new(process: &Process) -> Waiting {
        Waiting {
            usages: vec![0.0; process.usages.len()],
            modules: vec![0.0; process.modules.len()],
            imports: vec![0.0; process.imports.len()],
            loads: vec![0.0; process.loads.len()],
            bytecode: vec![0.0; process.bytecode.len()],
            open: Vec::new(),
        }
    }

    /// Adds a span with a usage. Spans must be added in order, thread by thread.
    pub(super) fn see(&mut self, span: &Span, usage: &Usage) {
        self.close(span.begin);
        let wall = span.end.saturating_sub(span.begin);
        self.open.push(OpenSpan {
            span: *span,
            waited: wall.saturating_sub(usage.cpu),
            inner: 0,
            inner_waited: 0,
        });
    }

    /// Must be called after the last span of a thread.
    pub(super) fn end_of_thread(&mut self) {
        self.close(u64::MAX);
    }

    fn close(&mut self, now: u64) {
        while let Some(open) = self.open.pop_if(|open| open.span.end <= now) {
            let wall = open.span.end.saturating_sub(open.span.begin);
            let own = wall.saturating_sub(open.inner);
            let waited = open.waited.saturating_sub(open.inner_waited).min(own);
            if let Some(share) = self.place(&open.span) {
                *share = (waited as f64 / own.max(1) as f64) as f32;
            }
            if let Some(outer) = self.open.last_mut() {
                outer.inner += wall;
                outer.inner_waited += open.waited;
            }
        }
    }

    fn place(&mut self, span: &Span) -> Option<&mut f32> {
        let table = match span.what {
            SpanKind::Heavy => &mut self.usages,
            SpanKind::Module => &mut self.modules,
            SpanKind::Import => &mut self.imports,
            SpanKind::Load => &mut self.loads,
            SpanKind::Bytecode => &mut self.bytecode,
            _ => return None,
        };
        table.get_mut(span.detail as usize)
    }

    /// The share of a span's time, without nested spans, that it waited; 0 if unknown.
    pub(super) fn share(&self, span: &Span) -> f32 {
        let table = match span.what {
            SpanKind::Heavy => &self.usages,
            SpanKind::Module => &self.modules,
            SpanKind::Import => &self.imports,
            SpanKind::Load => &self.loads,
            SpanKind::Bytecode => &self.bytecode,
            _ => return 0.0,
        };
        table.get(span.detail as usize).copied().unwrap_or(0.0)
    }
}

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
    open: Vec<OpenLeaf>,
}

/// A span whose leaf intervals are not complete.
struct OpenLeaf {
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
        self.open.push(OpenLeaf {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::trace::{Import, Load};

    #[test]
    fn a_parent_is_not_blamed_for_what_its_children_waited() {
        let process = Process {
            imports: vec![Import::default(); 2],
            loads: vec![Load::default()],
            ..Process::default()
        };
        let span = |begin, end, what, detail| Span {
            begin,
            end,
            detail,
            symbol: 0,
            what,
            depth: 0,
        };
        let cpu = |cpu| Usage {
            cpu,
            ..Usage::default()
        };
        let mut waiting = Waiting::new(&process);
        // It lasts 100 and uses a processor for 40. Of the 60 spent waiting, 50 belong to
        // the load.
        let outer = span(0, 100, SpanKind::Import, 0);
        let load = span(10, 70, SpanKind::Load, 0);
        let after = span(100, 110, SpanKind::Import, 1);
        waiting.see(&outer, &cpu(40));
        waiting.see(&load, &cpu(10));
        waiting.see(&after, &cpu(10));
        waiting.end_of_thread();
        assert!((waiting.share(&outer) - 0.25).abs() < 1e-6);
        assert!((waiting.share(&load) - 50.0 / 60.0).abs() < 1e-6);
        assert_eq!(waiting.share(&after), 0.0);
    }
}
