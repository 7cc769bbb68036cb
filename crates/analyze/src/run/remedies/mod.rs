//! What would remove a part of the cold start.
//!
//! Each remedy looks for its evidence in the recording and predicts what it would save,
//! with what the prediction assumes. Remedies that do not apply are omitted. Those that
//! people often try (page-locked memory, preallocation) are reported where they would not
//! help too, with the reason ([`Remedy::helps`]).
//!
//! A saving is never more than its causes take on the path: calls of several threads at
//! once last longer together than anyone waits. Only what a ladder of temperatures shows
//! has another base, the colder start, and says so. A remedy that shortens something other
//! than the time to first reports that as [`Remedy::later`].

mod allocator;
mod bytecode;
mod caches;
mod imports;
mod kernels;
mod ladder;
mod pinned;
mod starting;
mod stdlib;
mod warm_up;

use super::examine::Examined;
use super::facts::Facts;
use super::items::Tree;
use super::iterations::Seen;
use super::trace::{Span, What};
use super::{Cause, Item, Manifest, Remedy, RunReport};

/// A remedy must save this part of the time to first, and this many seconds.
const LEAST_SHARE: f64 = 0.01;
const LEAST_SECONDS: f64 = 0.005;

/// What is this part of the time to first is worth changing how a program is run.
const MUCH: f64 = 0.05;

/// What remedies look at.
pub(super) struct Case<'a> {
    /// The report so far: times, causes, items, memory.
    pub report: &'a RunReport,
    /// The start that is shown.
    pub start: &'a Seen<'a>,
    pub examined: &'a Examined,
    pub trees: &'a [Tree],
    pub manifest: &'a Manifest,
    /// What a second of the shown start is in the report.
    pub scale: f64,
}

/// What applies, and what its saving is a part of.
struct Told {
    remedy: Remedy,
    /// A colder start's time to first; the report's where there is none.
    base: Option<f64>,
}

impl Told {
    fn within(self, case: &Case) -> Remedy {
        let mut remedy = self.remedy;
        let most = self.base.unwrap_or_else(|| {
            let causes: f64 = remedy.causes.iter().map(|cause| case.seconds(*cause)).sum();
            causes.min(case.report.time_to_first.median)
        });
        remedy.saving = remedy.saving.min(most);
        remedy
    }
}

impl From<Remedy> for Told {
    fn from(remedy: Remedy) -> Told {
        Told { remedy, base: None }
    }
}

const ALL: &[fn(&Case) -> Option<Told>] = &[
    starting::warm_parent,
    starting::overlapped_init,
    starting::prefetch,
    bytecode::kept_bytecode,
    imports::avoidable,
    caches::compile_caches,
    kernels::machine_code,
    kernels::lazy_loading,
    kernels::autotuning,
    pinned::pinned_buffers,
    allocator::allocator,
    warm_up::warm_up,
];

/// The remedies that apply: those that shorten the time to first, the largest saving first,
/// those that shorten something else, and those that would not help.
pub(super) fn remedies(case: &Case) -> Vec<Remedy> {
    let mut remedies: Vec<Remedy> = (ALL.iter())
        .filter_map(|remedy| remedy(case))
        .map(|told| told.within(case))
        .filter_map(|remedy| worth_reporting(remedy, case))
        .collect();
    let later = |remedy: &Remedy| remedy.later.as_ref().map_or(0.0, |later| later.seconds);
    remedies.sort_by(|a: &Remedy, b| {
        let order = a.group().cmp(&b.group());
        let order = order.then_with(|| b.saving.total_cmp(&a.saving));
        order.then_with(|| later(b).total_cmp(&later(a)))
    });
    remedies
}

/// A remedy that helps only the time to first has to save enough of it. Of others a saving
/// that is not enough counts as none.
fn worth_reporting(mut remedy: Remedy, case: &Case) -> Option<Remedy> {
    let enough = case.is_enough(remedy.saving);
    if remedy.helps && !enough {
        remedy.later.as_ref()?;
        remedy.saving = 0.0;
    }
    Some(remedy)
}

impl<'a> Case<'a> {
    /// Seconds of a cause in the report.
    fn seconds(&self, cause: Cause) -> f64 {
        let found = self.report.causes.iter().find(|c| c.cause == cause);
        found.map_or(0.0, |found| found.seconds)
    }

    /// Seconds of calls of the shown start, of all threads, as a part of their cause on
    /// the path.
    fn on_path(&self, cause: Cause, seconds: f64) -> f64 {
        (seconds * self.scale).min(self.seconds(cause))
    }

    /// Whether a saving of the time to first is worth a remedy.
    fn is_enough(&self, saving: f64) -> bool {
        saving >= LEAST_SECONDS.max(LEAST_SHARE * self.report.time_to_first.median)
    }

    /// Whether a cause or a part of one is large enough for a remedy of its own.
    fn is_much(&self, seconds: f64) -> bool {
        seconds > 0.0 && seconds >= MUCH * self.report.time_to_first.median
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
        self.spans_until(what, self.examined.time_to_first.unwrap_or(0))
    }

    /// The spans of a kind, of all threads, that began before this time.
    fn spans_until(&self, what: What, until: u64) -> impl Iterator<Item = &'a Span> + use<'a> {
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
) -> Told {
    Told::from(Remedy {
        id: id.to_owned(),
        title: title.to_owned(),
        what,
        saving,
        saving_bytes: None,
        assumption: assumption.to_owned(),
        causes: causes.to_vec(),
        later: None,
        helps: true,
    })
}
