//! What would remove a part of the cold start.
//!
//! Each remedy looks for its evidence in the recording and predicts what it would save,
//! with what the prediction assumes. One that does not apply is not told.

mod imports;
mod kernels;
mod memory;
mod starting;

use super::examine::Examined;
use super::facts::Facts;
use super::items::Tree;
use super::iterations::Seen;
use super::trace::{Span, What};
use super::{Cause, Item, Remedy, RunReport};

/// A remedy must save this part of the time to first, and this many seconds.
const LEAST_SHARE: f64 = 0.01;
const LEAST_SECONDS: f64 = 0.005;

/// What remedies look at.
pub(super) struct Case<'a> {
    /// The report so far: times, causes, items, memory.
    pub report: &'a RunReport,
    /// The start that is shown.
    pub start: &'a Seen<'a>,
    pub examined: &'a Examined,
    pub trees: &'a [Tree],
    /// What a second of the shown start is in the report.
    pub scale: f64,
}

const ALL: &[fn(&Case) -> Option<Remedy>] = &[
    starting::warm_parent,
    starting::overlapped_init,
    starting::prefetch,
    imports::avoidable,
    kernels::compile_caches,
    kernels::machine_code,
    kernels::lazy_loading,
    kernels::autotuning,
    memory::pinned_buffers,
    memory::preallocation,
];

/// The remedies that apply, the largest saving first.
pub(super) fn remedies(case: &Case) -> Vec<Remedy> {
    let total = case.report.time_to_first.median;
    let mut remedies: Vec<Remedy> = (ALL.iter())
        .filter_map(|remedy| remedy(case))
        .filter(|remedy| remedy.saving >= LEAST_SECONDS.max(LEAST_SHARE * total))
        .collect();
    remedies.sort_by(|a, b| b.saving.total_cmp(&a.saving));
    remedies
}

impl<'a> Case<'a> {
    /// Seconds of a cause in the report.
    fn seconds(&self, cause: Cause) -> f64 {
        let found = self.report.causes.iter().find(|c| c.cause == cause);
        found.map_or(0.0, |found| found.seconds)
    }

    /// The items of a cause.
    fn items(&self, cause: Cause) -> &'a [Item] {
        let found = self.report.causes.iter().find(|c| c.cause == cause);
        found.map_or(&[], |found| &found.items)
    }

    /// What an environment variable was set to by the user.
    fn environment(&self, name: &str) -> Option<&'a str> {
        let variables = self.report.environment.iter();
        let found = variables.rev().find(|(variable, _)| variable == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The process that runs the iterations.
    fn facts(&self) -> Option<&'a Facts<'a>> {
        let (process, _) = self.examined.thread?;
        self.start.facts.get(process)
    }

    /// The spans of a kind, of all threads, that began before the first iteration ended.
    fn spans(&self, what: What) -> impl Iterator<Item = &'a Span> + use<'a> {
        let until = self.examined.time_to_first.unwrap_or(0);
        let facts = self.facts();
        let threads = facts.map_or(&[][..], |facts| &facts.process.threads[..]);
        threads.iter().enumerate().flat_map(move |(index, thread)| {
            let some = facts.is_some_and(|facts| facts.count(index, what) > 0);
            let spans = if some { &thread.spans[..] } else { &[] };
            let spans = spans.iter().take_while(move |span| span.begin < until);
            spans.filter(move |span| span.what == what)
        })
    }
}

/// How long a span took, in seconds.
fn length(span: &Span) -> f64 {
    span.end.saturating_sub(span.begin) as f64 * 1e-9
}

fn remedy(
    id: &str,
    title: &str,
    what: String,
    saving: f64,
    assumption: &str,
    causes: &[Cause],
) -> Remedy {
    Remedy {
        id: id.to_owned(),
        title: title.to_owned(),
        what,
        saving,
        saving_bytes: None,
        assumption: assumption.to_owned(),
        causes: causes.to_vec(),
    }
}
