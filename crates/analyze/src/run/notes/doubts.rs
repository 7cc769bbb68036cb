//! What is doubtful about the iterations that were found.

use super::super::IterationsBy;
use super::super::examine::Examined;
use super::super::iterations::Seen;
use super::super::summary::{FOR_A_CLASS, Group};
use super::super::trace::What;

/// A first iteration below this part of a steady one is not all of it.
const SHORTER: f64 = 0.5;

/// What the doubts are about.
pub(in crate::run) struct Doubts<'a> {
    pub by: IterationsBy,
    /// The starts that count.
    pub group: &'a Group,
    /// All starts.
    pub examined: &'a [Examined],
    /// The start that is shown.
    pub start: &'a Seen<'a>,
    pub shown: &'a Examined,
    /// Whether every iteration was made to wait for the device.
    pub synchronized: bool,
}

impl Doubts<'_> {
    /// Sentences for people.
    pub(in crate::run) fn sentences(&self) -> Vec<String> {
        let all = [self.few(), self.shorter(), self.not_waited_for()];
        let all = all.into_iter().flatten().map(str::to_owned);
        all.chain(self.unsettled()).collect()
    }

    /// Starts without a steady state beside others.
    fn unsettled(&self) -> Option<String> {
        let starts = &self.group.starts;
        let settled = starts.iter().filter(|at| self.examined[**at].settles());
        let settled = settled.count();
        if settled == 0 || settled == starts.len() || self.group.most_iterations < FOR_A_CLASS {
            return None;
        }
        let have = match starts.len() - settled {
            1 => "has no steady state and is",
            _ => "have no steady state and are",
        };
        Some(format!(
            "{} of {} starts {have} left out of first, steady and ratio.",
            starts.len() - settled,
            starts.len()
        ))
    }

    /// One or two iterations have nothing to be compared with.
    fn few(&self) -> Option<&'static str> {
        match self.group.most_iterations {
            1 => Some("One iteration: no steady one to compare with."),
            count if (2..FOR_A_CLASS).contains(&count) => {
                Some("Two iterations: too few to tell what a steady one takes.")
            }
            _ => None,
        }
    }

    /// A first iteration is never much faster than a steady one: a part of it is missing.
    fn shorter(&self) -> Option<&'static str> {
        let shorter = |at: &&usize| {
            let summary = self.examined[**at].summary.as_ref();
            let steady = summary.and_then(|summary| Some((summary.first, summary.steady?)));
            steady.is_some_and(|(first, steady)| first < SHORTER * steady)
        };
        let starts = &self.group.starts;
        if starts.iter().filter(shorter).count() * 2 <= starts.len() {
            return None;
        }
        Some(match self.by {
            IterationsBy::Lines => {
                "The first iteration is shorter than a steady one: the line probably marks the \
                 beginning of an iteration, not its end."
            }
            IterationsBy::Python => {
                "The first iteration is shorter than a steady one: what comes before the first \
                 model call is not part of it."
            }
            IterationsBy::Nvtx
            | IterationsBy::Kernels
            | IterationsBy::Timers
            | IterationsBy::None => {
                "The first iteration is shorter than a steady one: its marker probably misses a \
                 part of it."
            }
        })
    }

    /// The host may be ahead of the device at the end of every iteration.
    fn not_waited_for(&self) -> Option<&'static str> {
        if self.synchronized || !matches!(self.by, IterationsBy::Python | IterationsBy::Nvtx) {
            return None;
        }
        let (process, _) = self.shown.thread?;
        let facts = &self.start.facts[process];
        if facts.count_in_all(What::Launch) == 0 {
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
        Some(
            "Iterations end when the host passes on, which may be before the device is done; \
             --synchronize waits for it.",
        )
    }
}
