//! Each timed region over all starts that count, with the causes of its first two
//! executions in the start that is shown.

use std::collections::HashMap;

use super::super::examine::seconds;
use super::super::facts::Facts;
use super::super::path::{CAUSES, Request, partition};
use super::super::summary::in_order;
use super::super::trace::{StartTrace, What};
use super::super::{Cause, CauseSeconds, RegionReport, Unfinished};
use super::place::Frame;
use super::regions::{Execution, Region, Regions, TIMEIT};
use crate::stats::{Interval, interval, paired_ratio};

/// The regions that are reported: the first so many.
const MOST_REPORTED: usize = 24;

/// The input of [`summarize`].
pub(in crate::run) struct Case<'a> {
    /// By start.
    pub regions: &'a [Regions],
    /// The starts that count.
    pub counted: &'a [usize],
    /// The start that is shown.
    pub shown: usize,
    pub trace: &'a StartTrace,
    pub facts: &'a [Facts<'a>],
    pub seed: u64,
}

/// Reports the regions of the shown start, in the order in which they were first executed,
/// and how many more there are.
pub(in crate::run) fn summarize(case: &Case) -> (Vec<RegionReport>, usize) {
    let Some(shown) = case.regions.get(case.shown) else {
        return (Vec::new(), 0);
    };
    let names = names(shown);
    let mut reports: Vec<RegionReport> = (shown.all.iter().zip(names))
        .take(MOST_REPORTED)
        .filter_map(|(region, name)| report(case, region, name))
        .collect();
    reports.extend(epochs(case));
    (reports, shown.all.len().saturating_sub(MOST_REPORTED))
}

fn report(case: &Case, region: &Region, name: String) -> Option<RegionReport> {
    let of_start = |at: &usize| {
        let all = &case.regions.get(*at)?.all;
        let same = all.iter().find(|other| other.key == region.key)?;
        Some(same.executions.iter().map(|one| one.seconds).collect())
    };
    let times: Vec<Vec<f64>> = case.counted.iter().filter_map(of_start).collect();
    let (from, to) = (&region.from[0], &region.key.to[0]);
    let first = region.executions.first()?;
    let windows: Vec<(u64, u64)> = (region.on_first_thread())
        .take(2)
        .map(|one| (one.begin, one.end))
        .collect();
    Some(RegionReport {
        name,
        file: Some(from.file.clone()),
        from: Some(from.line).filter(|line| *line > 0),
        to: Some(to.line).filter(|line| *line > 0),
        function: Some(from.function.clone()),
        clock: Some(region.key.clock),
        unfinished: unfinished(case, region),
        paired_by_order: !region.known,
        firsts: firsts(case, region),
        ..measured(
            case,
            &times,
            (first.process, first.thread),
            &windows,
            region.key.clock.is_cpu_time(),
        )?
    })
}

/// The numbers of what was executed for so many seconds in each start, and its causes in
/// the shown one, where its first executions were in these windows.
fn measured(
    case: &Case,
    times: &[Vec<f64>],
    thread: (usize, usize),
    windows: &[(u64, u64)],
    cpu_time: bool,
) -> Option<RegionReport> {
    let of = |value: fn(&[f64]) -> Option<f64>| -> Option<Interval> {
        let values: Vec<Vec<f64>> = (times.iter())
            .filter_map(|times| Some(vec![value(times)?]))
            .collect();
        interval(&values, case.seed)
    };
    let fastest = |times: &[f64]| times.get(1..)?.iter().copied().reduce(f64::min);
    let pairs: Vec<(Vec<f64>, Vec<f64>)> = (times.iter())
        .filter(|times| times.len() > 1)
        .map(|times| (vec![times[0]], vec![times[1]]))
        .collect();
    let first = of(|times| times.first().copied())?;
    let second = of(|times| times.get(1).copied());
    let mut found = causes(case, thread, windows);
    if cpu_time {
        // A thread that waits uses none.
        for causes in &mut found {
            causes[Cause::Idle.index()] = 0.0;
            causes[Cause::WaitingForDevice.index()] = 0.0;
        }
    }
    let scaled = |at: usize, whole: Option<Interval>| -> Vec<CauseSeconds> {
        match (found.get(at), whole) {
            (Some(causes), Some(whole)) => in_order(&adding_up(*causes, whole.median)),
            _ => Vec::new(),
        }
    };
    Some(RegionReport {
        name: String::new(),
        file: None,
        from: None,
        to: None,
        function: None,
        clock: None,
        count: times.iter().map(Vec::len).max().unwrap_or(0),
        first,
        second,
        best: of(fastest),
        ratio: paired_ratio(&pairs, case.seed),
        causes: scaled(0, Some(first)),
        second_causes: scaled(1, second),
        unfinished: None,
        paired_by_order: false,
        firsts: Vec::new(),
    })
}

/// The first execution in each start.
fn firsts(case: &Case, region: &Region) -> Vec<Option<f64>> {
    let first = |regions: &Regions| {
        let same = regions.all.iter().find(|other| other.key == region.key)?;
        same.executions.first().map(|one| one.seconds)
    };
    case.regions.iter().map(first).collect()
}

/// Seconds by cause, stretched to what was measured over all starts.
fn adding_up(mut causes: [f64; CAUSES], whole: f64) -> [f64; CAUSES] {
    let sum: f64 = causes.iter().sum();
    if sum > 0.0 {
        causes.iter_mut().for_each(|cause| *cause *= whole / sum);
    }
    causes
}

/// Where the time of the first two windows went.
fn causes(case: &Case, thread: (usize, usize), windows: &[(u64, u64)]) -> Vec<[f64; CAUSES]> {
    if windows.is_empty() || thread.0 >= case.trace.processes.len() {
        return Vec::new();
    }
    let later: Vec<usize> = (1..windows.len()).collect();
    let found = partition(
        case.trace,
        case.facts,
        &Request {
            thread: Some(thread),
            iterations: windows,
            later: &later,
        },
    );
    let in_seconds = |causes: &[u64; CAUSES]| causes.map(seconds);
    let mut all = vec![in_seconds(&found.first.causes)];
    all.extend(found.later.iter().map(in_seconds));
    all
}

/// Device work that was begun in a region and not waited for when its clock was read: of
/// the first execution.
fn unfinished(case: &Case, region: &Region) -> Option<Unfinished> {
    let Execution {
        process,
        begin,
        end,
        ..
    } = *region.executions.first()?;
    let facts = case.facts.get(process)?;
    let mut launches: Vec<u64> = Vec::new();
    let mut waited = 0;
    let mut next_wait: Option<(u64, u64)> = None;
    let mut next_launch = u64::MAX;
    for thread in &facts.process.threads {
        let from = thread.spans.partition_point(|span| span.begin < begin);
        for span in &thread.spans[from..] {
            if facts.waits_for_device(span) {
                if span.end <= end {
                    waited = waited.max(span.end);
                } else if next_wait.is_none_or(|other| span.begin < other.0) {
                    next_wait = Some((span.begin, span.end));
                }
            } else if span.what == What::Launch {
                match span.begin < end {
                    true => launches.push(span.begin),
                    false => next_launch = next_launch.min(span.begin),
                }
            }
            // What this thread did after a wait says nothing of before it.
            if span.begin > end && facts.waits_for_device(span) {
                break;
            }
        }
    }
    let launches = launches.iter().filter(|begin| **begin > waited).count() as u64;
    // If nothing else was begun before the next wait, its end is when the device was done.
    let done = next_wait.filter(|wait| wait.0 < next_launch);
    (launches > 0).then(|| Unfinished {
        launches,
        seconds: done.map(|wait| seconds(wait.1.saturating_sub(end))),
    })
}

/// Epochs of Keras' `fit`: what repeats above its steps.
fn epochs(case: &Case) -> Option<RegionReport> {
    let (process, thread) = (case.facts.iter().enumerate()).find_map(|(process, facts)| {
        let mut threads = 0..facts.process.threads.len();
        let thread = threads.find(|thread| facts.count(*thread, What::Epoch) > 0)?;
        Some((process, thread))
    })?;
    let spans = case.facts[process].process.threads[thread].spans.iter();
    let windows: Vec<(u64, u64)> = spans
        .filter(|span| span.what == What::Epoch)
        .map(|span| (span.begin, span.end))
        .collect();
    let times: Vec<f64> = (windows.iter())
        .map(|(begin, end)| seconds(end - begin))
        .collect();
    Some(RegionReport {
        name: "epochs of fit".to_owned(),
        ..measured(
            case,
            &[times],
            (process, thread),
            &windows[..windows.len().min(2)],
            false,
        )?
    })
}

/// A name for each region: file and lines, and who called where that tells regions of the
/// same lines apart.
fn names(regions: &Regions) -> Vec<String> {
    let innermost = |region: &Region| (region.from[0].clone(), region.key.to[0].clone());
    let mut counts: HashMap<(Frame, Frame), usize> = HashMap::new();
    for region in &regions.all {
        *counts.entry(innermost(region)).or_default() += 1;
    }
    (regions.all.iter())
        .map(|region| {
            let shared = counts.get(&innermost(region)).is_some_and(|n| *n > 1);
            name(&region.from, &region.key.to, shared)
        })
        .collect()
}

/// The name of a region; with its caller where others have the same lines.
pub(in crate::run) fn name(begins: &[Frame], ends: &[Frame], shared: bool) -> String {
    let (from, to) = (&begins[0], &ends[0]);
    let short = |file: &str| file.rsplit('/').next().unwrap_or(file).to_owned();
    if let (TIMEIT, Some(caller)) = (&*from.file, begins.get(1)) {
        return format!("timeit at {}:{}", short(&caller.file), caller.line);
    }
    let mut name = match (from.line, to.line) {
        (0, _) | (_, 0) if from.function == to.function => {
            format!("{}:{}", short(&from.file), from.function)
        }
        (0, _) | (_, 0) => format!("{}:{}–{}", short(&from.file), from.function, to.function),
        (a, b) if from.file == to.file && a == b => format!("{}:{a}", short(&from.file)),
        (a, b) if from.file == to.file && a > b => format!("{}:{a}→{b}", short(&from.file)),
        (a, b) if from.file == to.file => format!("{}:{a}–{b}", short(&from.file)),
        (a, b) => format!("{}:{a} – {}:{b}", short(&from.file), short(&to.file)),
    };
    if let Some(caller) = begins.get(1).filter(|_| shared) {
        name.push_str(&match caller.file == from.file {
            true => format!(" from :{}", caller.line),
            false => format!(" from {}:{}", short(&caller.file), caller.line),
        });
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(all: &[(&str, u32)]) -> Vec<Frame> {
        (all.iter())
            .map(|(file, line)| Frame {
                file: (*file).into(),
                line: *line,
                function: "f".into(),
            })
            .collect()
    }

    #[test]
    fn a_region_is_named_by_its_lines() {
        let of = |from: &[(&str, u32)], to: &[(&str, u32)], shared| {
            name(&frames(from), &frames(to), shared)
        };
        let (a, b) = ("/x/a.py", "/x/b.py");
        assert_eq!(of(&[(a, 3)], &[(a, 7)], false), "a.py:3–7");
        assert_eq!(of(&[(a, 7)], &[(a, 3)], false), "a.py:7→3");
        assert_eq!(of(&[(a, 3)], &[(a, 3)], false), "a.py:3");
        assert_eq!(of(&[(a, 3), (a, 20)], &[(a, 5)], true), "a.py:3–5 from :20");
        let other = of(&[(a, 3), (b, 20)], &[(a, 5)], true);
        assert_eq!(other, "a.py:3–5 from b.py:20");
        assert_eq!(of(&[("/x/infer", 0)], &[("/x/infer", 0)], false), "infer:f");
        let timeit = of(&[(TIMEIT, 5), (a, 9)], &[(TIMEIT, 8), (a, 9)], false);
        assert_eq!(timeit, "timeit at a.py:9");
    }
}
