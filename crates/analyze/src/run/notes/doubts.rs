//! Doubts about the iterations that were found.

use super::super::IterationsBy;
use super::super::examine::Examined;
use super::super::iterations::StartData;
use super::super::summary::{FEW_ITERATIONS, FOR_A_CLASS, Group};
use super::super::trace::SpanKind;

/// A first iteration below this share of a steady one is incomplete.
const INCOMPLETE_BELOW: f64 = 0.5;
/// Above this multiple of a steady one, it may include set-up.
const SETUP_ABOVE: f64 = 1.5;

/// The data that doubts are derived from.
pub(in crate::run) struct Doubts<'a> {
    pub by: IterationsBy,
    /// True if the first iteration is compared with later ones.
    pub compared: bool,
    /// True if the iterations are calls of different models.
    pub models: bool,
    /// True if something shows where the first iteration begins.
    pub begins: bool,
    /// The counted starts.
    pub group: &'a Group,
    /// All starts.
    pub examined: &'a [Examined],
    /// The shown start.
    pub start: &'a StartData<'a>,
    pub shown: &'a Examined,
    /// True if every iteration ended with a device synchronization.
    pub synchronized: bool,
}

impl Doubts<'_> {
    /// All doubts, as sentences.
    pub(in crate::run) fn sentences(&self) -> Vec<String> {
        if !self.compared {
            return vec![self.not_compared().to_owned()];
        }
        let all = [
            self.few(),
            self.shorter(),
            self.with_set_up(),
            self.not_waited_for(),
        ];
        let all = all.into_iter().flatten().map(str::to_owned);
        all.chain(self.unsettled()).collect()
    }

    /// The reason why the first iteration is not compared with later ones.
    fn not_compared(&self) -> &'static str {
        match self.models {
            true => {
                "Each model is called once: the calls are listed in order, and not compared with \
                 each other. The time to first ends with the first of them."
            }
            false => {
                "Nothing shows where the first iteration begins: no model is called before its \
                 step, and the program does not time it. It is not compared with later ones; a \
                 timer around each iteration, or preheat.iteration(), marks its begin."
            }
        }
    }

    /// Starts without a steady state, if others have one.
    fn unsettled(&self) -> Option<String> {
        let starts = &self.group.starts;
        let settled = starts.iter().filter(|at| self.examined[**at].settles());
        let settled = settled.count();
        if settled == 0 || settled == starts.len() || self.group.most_iterations < FOR_A_CLASS {
            return None;
        }
        let unsettled = starts.len() - settled;
        // With few iterations, all starts are compared with their second iteration.
        if self.group.most_iterations < FEW_ITERATIONS {
            let seem = if unsettled == 1 { "seems" } else { "seem" };
            return Some(format!(
                "{unsettled} of {} starts {seem} not to settle within {} iterations, which are too \
                 few to decide: the first iteration is compared with the second in all of them.",
                starts.len(),
                self.group.most_iterations
            ));
        }
        let have = match unsettled {
            1 => "has no steady state and is",
            _ => "have no steady state and are",
        };
        Some(format!(
            "{unsettled} of {} starts {have} left out of first, steady and ratio.",
            starts.len()
        ))
    }

    /// One or two iterations are too few for a comparison.
    fn few(&self) -> Option<&'static str> {
        match self.group.most_iterations {
            1 => Some("There is only one iteration, so there is no steady state to compare with."),
            count if (2..FOR_A_CLASS).contains(&count) => {
                Some("There are only two iterations, too few to determine a steady state.")
            }
            _ => None,
        }
    }

    /// Returns true if this holds for the first and the steady iteration of most starts.
    fn in_most(&self, holds: impl Fn(f64, f64) -> bool) -> bool {
        let starts = &self.group.starts;
        let with = starts.iter().filter(|at| {
            let summary = self.examined[**at].summary.as_ref();
            let both = summary.and_then(|summary| Some((summary.first, summary.steady?)));
            both.is_some_and(|(first, steady)| holds(first, steady))
        });
        with.count() * 2 > starts.len()
    }

    /// A slow first iteration whose begin is not known may include what precedes it.
    fn with_set_up(&self) -> Option<&'static str> {
        let slow = || self.in_most(|first, steady| first > SETUP_ABOVE * steady);
        (self.by == IterationsBy::Lines && !self.begins && slow()).then_some(
            "Nothing shows where the first iteration begins, so it may include the set-up of the \
             program; `--iterations 'lines:BEGIN=>END'` names a line that begins it.",
        )
    }

    /// A first iteration is never much faster than a steady one, unless part of it is
    /// missing.
    fn shorter(&self) -> Option<&'static str> {
        if !self.in_most(|first, steady| first < INCOMPLETE_BELOW * steady) {
            return None;
        }
        match self.by {
            IterationsBy::Lines => Some(
                "The first iteration is shorter than a steady one: the line probably marks the \
                 beginning of an iteration, not its end.",
            ),
            IterationsBy::Python => Some(
                "The first iteration is shorter than a steady one: it does not include the work \
                 before the first model call.",
            ),
            IterationsBy::Nvtx | IterationsBy::Kernels => Some(
                "The first iteration is shorter than a steady one: the marker probably misses part \
                 of it.",
            ),
            // The program decides what it times, and its later work may be larger.
            IterationsBy::Timers | IterationsBy::None => None,
        }
    }

    /// At the end of an iteration, the host may be ahead of the device.
    fn not_waited_for(&self) -> Option<&'static str> {
        let doubt = match self.by {
            IterationsBy::Python => {
                "Iterations end when the host returns, which may be before the device is done; \
                 --synchronize waits for it."
            }
            IterationsBy::Nvtx => {
                "Iterations end when the host returns, which may be before the device is done."
            }
            IterationsBy::Kernels
            | IterationsBy::Timers
            | IterationsBy::Lines
            | IterationsBy::None => return None,
        };
        if self.synchronized {
            return None;
        }
        let (process, _) = self.shown.thread?;
        let facts = &self.start.facts[process];
        if facts.count_in_all(SpanKind::Launch) == 0 {
            return None;
        }
        let steady = (self.shown.summary.as_ref()).and_then(|summary| summary.steady_start);
        let (from, _) = *self.shown.iterations.get(steady?.max(1))?;
        let (_, to) = *self.shown.iterations.last()?;
        let threads = facts.process.threads.iter();
        let waited = threads.flat_map(|thread| {
            let begin = thread.spans.partition_point(|span| span.begin < from);
            let later = thread.spans[begin..].iter();
            later.take_while(|span| span.begin < to)
        });
        if waited.into_iter().any(|span| facts.waits_for_device(span)) {
            return None;
        }
        Some(doubt)
    }
}
