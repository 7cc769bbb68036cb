//! The begin times of iterations that were detected by their kernel launches.
//!
//! The first launch of an iteration comes late: inputs are copied before it, and in the
//! first iteration memory is allocated and code is loaded. If the program times every
//! iteration itself, each begins with its timed region. Otherwise an iteration begins where
//! the previous one ended: after the last synchronization, or copy to the host, before its
//! launches. The first iteration begins after the last synchronization, copy or launch of
//! the set-up. If later iterations make copies between their synchronization and their first
//! launch, the same number of copies before the first launch belongs to the first iteration.
//! If the set-up makes no such call, it begins at the first driver call outside imports.

use super::super::facts::Facts;
use super::super::timers::{Execution, Regions};
use super::super::trace::{Span, SpanKind};

/// The launch that identifies an iteration.
#[derive(Clone, Copy)]
pub(super) struct Anchor {
    /// The time of the launch.
    pub launch: u64,
    /// The time of the previous launch; 0 if it is the first.
    pub before: u64,
}

/// The begin times of iterations.
pub(super) struct Begins {
    /// The begin times of iterations before the first anchor, then one per anchor.
    pub times: Vec<u64>,
    /// The rule by which they were found, for the report.
    pub words: String,
}

/// The begin times of iterations with these anchors, if the program times each iteration:
/// those of the outermost region that is executed once per iteration. Earlier executions of
/// this region are iterations too if they launch any kernel, even one that is not part of the
/// period. `place` is the process and the thread; `launches` are the times of all launches.
pub(super) fn timed(
    regions: &Regions,
    place: (usize, usize),
    anchors: &[Anchor],
    launches: &[u64],
) -> Option<Begins> {
    let launches_within = |execution: &Execution| {
        let at = launches.partition_point(|launch| *launch < execution.begin);
        launches
            .get(at)
            .is_some_and(|launch| *launch < execution.end)
    };
    let begins = (regions.all.iter())
        .filter(|region| region.known)
        .filter_map(|region| {
            let here = |execution: &&Execution| (execution.process, execution.thread) == place;
            let executions: Vec<&Execution> = region.executions.iter().filter(here).collect();
            let mut last = None;
            let mut begins = Vec::with_capacity(anchors.len());
            for anchor in anchors {
                let at = executions.partition_point(|execution| execution.begin <= anchor.launch);
                let execution = executions[at.checked_sub(1)?];
                if execution.end < anchor.launch || last == Some(execution.begin) {
                    return None;
                }
                last = Some(execution.begin);
                begins.push(execution.begin);
            }
            let first = begins.first().copied()?;
            let earlier = executions.iter().take_while(|one| one.begin < first);
            let earlier = earlier.filter(|one| launches_within(one));
            let all = earlier.map(|one| one.begin).chain(begins);
            Some((first, all.collect::<Vec<u64>>()))
        });
    // Compare begins at the first anchor: an inner region may have earlier executions.
    let (_, times) = begins.min_by_key(|(first, _)| *first)?;
    Some(Begins {
        times,
        words: "each begins where the program starts to time it".to_owned(),
    })
}

/// The begin times of iterations with these anchors, from the calls of this thread.
pub(super) fn begins(facts: &Facts, thread: usize, anchors: &[Anchor]) -> Begins {
    let spans = &facts.process.threads[thread].spans;
    let Some(first) = anchors.first() else {
        return Begins {
            times: Vec::new(),
            words: String::new(),
        };
    };
    let waits: Vec<Option<u64>> = (anchors[1..].iter())
        .map(|anchor| last_wait(facts, spans, anchor))
        .collect();
    let waited = waits.iter().flatten().count() * 2 > waits.len();
    // The number of copies in each later iteration between its synchronization and its launch.
    let mut copies: Vec<usize> = (anchors[1..].iter().zip(&waits))
        .filter_map(|(anchor, wait)| {
            let between = between(spans, (*wait)?, anchor.launch);
            Some(between.filter(|span| span.what == SpanKind::Copy).count())
        })
        .collect();
    copies.sort_unstable();
    let usual = copies.get(copies.len() / 2).copied().unwrap_or(0);
    let (begin, first_words) = first_begin(facts, spans, first.launch, usual);
    let later = (anchors[1..].iter().zip(waits))
        .map(|(anchor, wait)| wait.filter(|_| waited).unwrap_or(anchor.launch));
    let words = match (waited, first_words) {
        (true, None) => {
            "each begins after the last synchronization or copy before its launches".to_owned()
        }
        (true, Some(first)) => {
            format!(
                "each begins after the last synchronization before its launches, the first {first}"
            )
        }
        (false, Some(WITH_LAUNCH)) => "each begins with its first launch".to_owned(),
        (false, None) => "each begins with its first launch, the first after the last \
                          synchronization or copy before its launches"
            .to_owned(),
        (false, Some(first)) => format!("each begins with its first launch, the first {first}"),
    };
    Begins {
        times: std::iter::once(begin).chain(later).collect(),
        words,
    }
}

/// The spans that begin in this interval.
fn between(spans: &[Span], from: u64, to: u64) -> impl DoubleEndedIterator<Item = &Span> {
    let begin = spans.partition_point(|span| span.begin < from);
    let end = spans.partition_point(|span| span.begin < to);
    spans[begin..end.max(begin)].iter()
}

/// The end of the last synchronization between an anchor and the launch before it.
fn last_wait(facts: &Facts, spans: &[Span], anchor: &Anchor) -> Option<u64> {
    let mut between = between(spans, anchor.before, anchor.launch).rev();
    let last = between.find(|span| span.end <= anchor.launch && facts.waits_for_device(span));
    last.map(|span| span.end)
}

const WITH_LAUNCH: &str = "with its first launch";

/// The begin time of the first iteration, which makes `copies` copies before its first launch.
/// Also describes that time, unless it is the end of a synchronization, copy or launch.
fn first_begin(
    facts: &Facts,
    spans: &[Span],
    launch: u64,
    copies: usize,
) -> (u64, Option<&'static str>) {
    let mut copies = copies;
    for span in between(spans, 0, launch).rev() {
        if span.end > launch {
            continue;
        }
        if facts.waits_for_device(span) || span.what == SpanKind::Launch {
            return (span.end, None);
        }
        if span.what == SpanKind::Copy {
            if copies == 0 {
                return (span.end, None);
            }
            copies -= 1;
        }
    }
    match first_call(facts, spans, launch) {
        Some(call) => (call, Some("at the first driver call of the program")),
        None => (launch, Some(WITH_LAUNCH)),
    }
}

/// The first driver call outside imports.
fn first_call(facts: &Facts, spans: &[Span], launch: u64) -> Option<u64> {
    let mut import = 0;
    for span in between(spans, 0, launch) {
        if span.what == SpanKind::Import {
            import = span.end.max(import);
        } else if span.begin >= import && facts.is_call(span) {
            return Some(span.begin);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::super::timers::{Key, Region, Site};
    use super::super::super::trace::Clock;
    use super::*;

    #[test]
    fn iterations_begin_with_regions_timed_once_each() {
        let region = |begins: &[u64]| Region {
            key: Key {
                to: Vec::new(),
                clock: Clock::Monotonic,
                from: None,
            },
            from: Vec::new(),
            site: Site::default(),
            known: true,
            body: None,
            code: None,
            executions: (begins.iter())
                .map(|begin| Execution {
                    process: 0,
                    thread: 0,
                    begin: *begin,
                    end: begin + 8,
                    seconds: 8e-9,
                })
                .collect(),
        };
        let anchors = [10, 20, 30].map(|launch| Anchor { launch, before: 0 });
        let timed = |all: Vec<Region>, place| {
            let found = timed(
                &Regions {
                    all,
                    ..Regions::default()
                },
                place,
                &anchors,
                &[1, 2, 10, 20, 30],
            );
            found.map(|begins| begins.times)
        };
        let own = region(&[3, 14, 24]);
        assert_eq!(timed(vec![own.clone()], (0, 0)), Some(vec![3, 14, 24]));
        // The outer one of two.
        let inner = region(&[5, 15, 25]);
        assert_eq!(
            timed(vec![inner, own.clone()], (0, 0)),
            Some(vec![3, 14, 24])
        );
        // An earlier execution launches kernels that are not part of the period.
        let longer = region(&[0, 3, 14, 24]);
        assert_eq!(timed(vec![longer], (0, 0)), Some(vec![0, 3, 14, 24]));
        // A region of another thread, and one that not every iteration has.
        assert_eq!(timed(vec![own], (0, 1)), None);
        assert_eq!(timed(vec![region(&[3, 14])], (0, 0)), None);
    }
}
