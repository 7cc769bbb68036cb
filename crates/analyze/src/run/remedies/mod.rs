//! Suggests changes that would remove part of the cold start.
//!
//! Each remedy looks for its evidence in the recording, predicts a saving and states the
//! assumptions. Remedies that do not apply are omitted. Those that people often try
//! (page-locked memory, preallocation) are also reported if they would not help, with the
//! reason ([`Remedy::helps`]).
//!
//! A saving never exceeds the time of its causes on the path: concurrent calls of several
//! threads have a larger total. Only evidence from other temperatures has another base, the
//! colder start, and states it. A remedy that shortens something other than the time to
//! first reports that as [`Remedy::later`].

mod allocator;
mod caches;
mod kernels;
mod pinned;
mod python_imports;
mod starting;
mod warm_up;

use preheat_model::RemedyId;

use super::examine::Examined;
use super::facts::Facts;
use super::items::Tree;
use super::iterations::StartData;
use super::trace::{Span, SpanKind};
use super::{Cause, Item, Manifest, Remedy, RunReport, Temperature, TemperatureReport};
use crate::units;

/// A remedy must save at least this share of the time to first, and this many seconds.
const MIN_SHARE: f64 = 0.01;
const MIN_SECONDS: f64 = 0.005;

/// This share of the time to first justifies changing how a program is run.
const WORTH_A_CHANGE: f64 = 0.05;

/// The data that remedies are derived from.
pub(super) struct RemedyInput<'a> {
    /// The report so far: times, causes, items, memory.
    pub report: &'a RunReport,
    /// The shown start.
    pub start: &'a StartData<'a>,
    pub examined: &'a Examined,
    pub trees: &'a [Tree],
    pub manifest: &'a Manifest,
    /// The ratio of the reported time to first to that of the shown start.
    pub scale: f64,
}

/// A remedy that applies, and the base of its saving.
struct Suggestion {
    remedy: Remedy,
    /// The time to first of a colder start; none for that of the report.
    base: Option<f64>,
}

impl Suggestion {
    fn within(self, case: &RemedyInput) -> Remedy {
        let mut remedy = self.remedy;
        let most = self.base.unwrap_or_else(|| {
            let causes: f64 = remedy.causes.iter().map(|cause| case.seconds(*cause)).sum();
            causes.min(case.report.time_to_first.value)
        });
        remedy.saving = remedy.saving.min(most);
        remedy
    }
}

impl From<Remedy> for Suggestion {
    fn from(remedy: Remedy) -> Suggestion {
        Suggestion { remedy, base: None }
    }
}

const ALL: &[fn(&RemedyInput) -> Option<Suggestion>] = &[
    starting::warm_parent,
    starting::overlapped_init,
    starting::prefetch,
    python_imports::kept_bytecode,
    python_imports::avoidable,
    caches::compile_caches,
    kernels::machine_code,
    kernels::lazy_loading,
    kernels::autotuning,
    pinned::pinned_buffers,
    allocator::allocator,
    warm_up::warm_up,
];

/// The remedies that apply: first those that shorten the time to first, largest saving
/// first; then those that shorten something else; then those that would not help.
pub(super) fn remedies(case: &RemedyInput) -> Vec<Remedy> {
    let mut remedies: Vec<Remedy> = (ALL.iter())
        .filter_map(|remedy| remedy(case))
        .map(|suggestion| suggestion.within(case))
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

/// A remedy that shortens only the time to first must save enough of it. For others, a
/// small saving counts as none.
fn worth_reporting(mut remedy: Remedy, case: &RemedyInput) -> Option<Remedy> {
    let enough = case.is_enough(remedy.saving);
    if remedy.helps && !enough {
        remedy.later.as_ref()?;
        remedy.saving = 0.0;
    }
    Some(remedy)
}

impl<'a> RemedyInput<'a> {
    /// Seconds of a cause in the report.
    fn seconds(&self, cause: Cause) -> f64 {
        let found = self.report.causes.iter().find(|c| c.cause == cause);
        found.map_or(0.0, |found| found.seconds)
    }

    /// Scales the seconds of calls of the shown start, on all threads, and limits them to
    /// their cause on the path.
    fn on_path(&self, cause: Cause, seconds: f64) -> f64 {
        (seconds * self.scale).min(self.seconds(cause))
    }

    /// Returns true if a saving of the time to first justifies a remedy.
    fn is_enough(&self, saving: f64) -> bool {
        saving >= MIN_SECONDS.max(MIN_SHARE * self.report.time_to_first.value)
    }

    /// Returns true if a cause, or part of one, is large enough for a separate remedy.
    fn is_much(&self, seconds: f64) -> bool {
        seconds > 0.0 && seconds >= WORTH_A_CHANGE * self.report.time_to_first.value
    }

    /// The items of a cause.
    fn items(&self, cause: Cause) -> &'a [Item] {
        let found = self.report.causes.iter().find(|c| c.cause == cause);
        found.map_or(&[], |found| &found.items)
    }

    /// The value of an environment variable set by the user.
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

    /// The spans of a type, on all threads, that began before the first iteration ended.
    fn spans(&self, what: SpanKind) -> impl Iterator<Item = &'a Span> + use<'a> {
        self.spans_until(what, self.examined.time_to_first.unwrap_or(0))
    }

    /// The spans of a type, on all threads, that began before this time.
    fn spans_until(&self, what: SpanKind, until: u64) -> impl Iterator<Item = &'a Span> + use<'a> {
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

/// The duration of a span, in seconds.
fn length(span: &Span) -> f64 {
    span.end.saturating_sub(span.begin) as f64 * 1e-9
}

fn remedy(
    id: RemedyId,
    title: &str,
    what: String,
    saving: f64,
    assumption: &str,
    causes: &[Cause],
) -> Suggestion {
    Suggestion::from(Remedy {
        id,
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

// Compares temperatures, which differ in one respect each.

/// The results at a temperature.
fn at_temperature<'a>(
    case: &RemedyInput<'a>,
    temperature: Temperature,
) -> Option<&'a TemperatureReport> {
    let mut levels = case.report.ladder.iter();
    levels.find(|level| level.temperature == temperature)
}

/// The extra time of a colder start.
fn difference(colder: &TemperatureReport, warmer: &TemperatureReport) -> f64 {
    colder.time_to_first.value - warmer.time_to_first.value
}

/// The difference in words: `at temperature disk: 2.70 s → 1.49 s`.
fn base(colder: &TemperatureReport, warmer: &TemperatureReport) -> String {
    format!(
        "at temperature {}: {} → {}",
        colder.temperature.as_str(),
        units::duration(colder.time_to_first.value),
        units::duration(warmer.time_to_first.value)
    )
}

/// Seconds of a cause at a temperature.
fn seconds(level: &TemperatureReport, cause: Cause) -> f64 {
    let causes = level.causes.iter().filter(|part| part.cause == cause);
    causes.map(|part| part.seconds).sum()
}
