//! The share of a span's own time that it spent waiting.
//!
//! The recorded usage of a span includes its nested spans. Subtracting their waiting time
//! gives that of the span itself, so that a parent is not blamed for the disk accesses of
//! its children.

use super::trace::{Process, Span, Usage, What};

/// Shares of waiting, indexed like the tables of the process.
pub(super) struct Waiting {
    usages: Vec<f32>,
    modules: Vec<f32>,
    imports: Vec<f32>,
    loads: Vec<f32>,
    bytecode: Vec<f32>,
    open: Vec<Open>,
}

/// A span that may still get nested spans.
struct Open {
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
        self.open.push(Open {
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
            What::Heavy => &mut self.usages,
            What::Module => &mut self.modules,
            What::Import => &mut self.imports,
            What::Load => &mut self.loads,
            What::Bytecode => &mut self.bytecode,
            _ => return None,
        };
        table.get_mut(span.detail as usize)
    }

    /// The share of a span's time, without nested spans, that it waited; 0 if unknown.
    pub(super) fn share(&self, span: &Span) -> f32 {
        let table = match span.what {
            What::Heavy => &self.usages,
            What::Module => &self.modules,
            What::Import => &self.imports,
            What::Load => &self.loads,
            What::Bytecode => &self.bytecode,
            _ => return 0.0,
        };
        table.get(span.detail as usize).copied().unwrap_or(0.0)
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
        let outer = span(0, 100, What::Import, 0);
        let load = span(10, 70, What::Load, 0);
        let after = span(100, 110, What::Import, 1);
        waiting.see(&outer, &cpu(40));
        waiting.see(&load, &cpu(10));
        waiting.see(&after, &cpu(10));
        waiting.end_of_thread();
        assert!((waiting.share(&outer) - 0.25).abs() < 1e-6);
        assert!((waiting.share(&load) - 50.0 / 60.0).abs() < 1e-6);
        assert_eq!(waiting.share(&after), 0.0);
    }
}
