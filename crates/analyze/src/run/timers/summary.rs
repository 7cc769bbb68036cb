//! Summarizes each timed region over all counted starts, with the causes of its first two
//! executions.

use std::collections::HashMap;

use super::super::examine::seconds;
use super::super::facts::Facts;
use super::super::iterations::{Detected, StartData};
use super::super::path::{CAUSES, Request, partition};
use super::super::summary::{in_order, mean_shares};
use super::super::trace::{Iteration, Span, SpanKind};
use super::super::{Cause, IterationUnit, RegionReport, RepeatReport};
use super::around;
use super::events::unfinished;
use super::frames::Frame;
use super::regions::{Execution, Key, Region, Regions};
use crate::stats::{Estimate, interval, paired_ratio};

/// The number of regions to report.
const MAX_REPORTED: usize = 24;

/// The input of [`summarize`].
pub(in crate::run) struct SummaryInput<'a> {
    /// Indexed by start.
    pub starts: &'a [StartData<'a>],
    /// The counted starts.
    pub counted: &'a [usize],
    /// The shown start.
    pub shown: usize,
    /// The iterations of each start; empty if timed regions are the iterations.
    pub iterations: &'a [Option<Detected>],
    /// The regions whose executions are the iterations; empty otherwise.
    pub iterate: &'a [Key],
    /// The unit of the iterations; if they are timed regions, that of the steps or calls inside.
    pub unit: Option<IterationUnit>,
    pub seed: u64,
}

impl<'a> SummaryInput<'a> {
    /// The counted starts that execute a region, each with its executions.
    fn executing(&self, region: &Region) -> Vec<(&'a StartData<'a>, &'a Region)> {
        let counted = self.counted.iter();
        counted
            .filter_map(|at| {
                let start = self.starts.get(*at)?;
                let mut all = start.regions.all.iter();
                Some((start, all.find(|other| other.key == region.key)?))
            })
            .collect()
    }
}

/// Reports the regions of the shown start, in order of first execution, and the number of
/// further regions.
pub(in crate::run) fn summarize(case: &SummaryInput) -> (Vec<RegionReport>, usize) {
    let Some(shown) = case.starts.get(case.shown).map(|start| start.regions) else {
        return (Vec::new(), 0);
    };
    let names = names(shown);
    let groups = shown.alike();
    let name_of = |region: &Region| {
        let at = shown.all.iter().position(|other| other.key == region.key)?;
        names.get(at).cloned()
    };
    let mut reports: Vec<RegionReport> = (shown.all.iter().zip(&names))
        .take(MAX_REPORTED)
        .filter_map(|(region, name)| {
            let repeats = groups.iter().find_map(|group| {
                let position = group.iter().position(|one| one.key == region.key)?;
                Some(RepeatReport {
                    first: name_of(group[0]).filter(|_| position > 0)?,
                    position: position + 1,
                    ratio: against(case, group[0], region),
                })
            });
            Some(RegionReport {
                repeats,
                ..report(case, region, name.clone())?
            })
        })
        .collect();
    reports.extend(level(
        case,
        Iteration::Epoch,
        None,
        "epochs of fit".to_owned(),
    ));
    reports.extend(steps(case));
    if case.unit == Some(IterationUnit::Models) {
        reports.extend(models(case));
    }
    (reports, shown.all.len().saturating_sub(MAX_REPORTED))
}

/// The time of the first region ÷ that of the other, over the counted starts with both.
fn against(case: &SummaryInput, first: &Region, other: &Region) -> Option<Estimate> {
    let (firsts, others) = (firsts(case, first), firsts(case, other));
    let pair = |at: &usize| Some((vec![(*firsts.get(*at)?)?], vec![(*others.get(*at)?)?]));
    let pairs: Vec<_> = case.counted.iter().filter_map(pair).collect();
    paired_ratio(&pairs, case.seed)
}

fn report(case: &SummaryInput, region: &Region, name: String) -> Option<RegionReport> {
    let cpu_time = region.key.clock.is_cpu_time();
    let counted: Vec<Counted> = (case.executing(region).into_iter())
        .filter_map(|(start, region)| of_start(start, region, cpu_time))
        .collect();
    let (from, to) = (region.begins(), region.ends());
    Some(RegionReport {
        name,
        file: Some(from.file.clone()),
        from: Some(from.line).filter(|line| *line > 0),
        to: Some(to.line).filter(|line| *line > 0),
        function: Some(from.function.clone()),
        helper: (region.helper())
            .filter(|_| region.loops().is_none())
            .map(|(from, to)| lines(from, to)),
        clock: Some(region.key.clock),
        unfinished: (case.starts.get(case.shown)).and_then(|start| unfinished(start.facts, region)),
        paired_by_order: !region.known,
        firsts: firsts(case, region),
        around: around(case, region),
        iterates: case.iterate.contains(&region.key),
        code: region.code,
        ..measured(&counted, case.seed)?
    })
}

/// The executions of a region in a counted start.
struct Counted {
    /// The number of executions.
    count: usize,
    /// In order, in seconds; only the first if others run at the same time.
    times: Vec<f64>,
    /// The causes of the first two, in seconds.
    causes: Vec<[f64; CAUSES]>,
}

fn of_start(start: &StartData, region: &Region, cpu_time: bool) -> Option<Counted> {
    let first = region.executions.first()?;
    let thread = (first.process, first.thread);
    let two: Vec<Execution> = (region.on_device().into_iter())
        .filter(|one| (one.process, one.thread) == thread)
        .take(2)
        .collect();
    let windows: Vec<(u64, u64)> = two.iter().map(|one| (one.begin, one.end)).collect();
    let mut causes = causes(start, thread, &windows);
    if cpu_time {
        for (causes, one) in causes.iter_mut().zip(&two) {
            let of_thread = cpu_of_thread(start, one).map(seconds);
            *causes = in_cpu_time(*causes, one.seconds, of_thread);
        }
    }
    let mut times: Vec<f64> = region.executions.iter().map(|one| one.seconds).collect();
    let others = region.executions.iter().skip(1);
    let mut others = others.filter(|one| (one.process, one.thread) != thread);
    if others.any(|one| one.begin < first.end) {
        times.truncate(1);
        causes.truncate(1);
    }
    Some(Counted {
        count: region.executions.len(),
        times,
        causes,
    })
}

/// The CPU time that its thread used in an execution of a region: the difference between the
/// samples at its two clock readings. `None` if either sample is missing.
fn cpu_of_thread(start: &StartData, one: &Execution) -> Option<u64> {
    /// A sample belongs to a clock reading if it follows within the larger of 1/`LATER_BY` of
    /// the region's duration and `LATER_BY_NS`.
    const LATER_BY: u64 = 100;
    const LATER_BY_NS: u64 = 20_000;
    let process = start.trace.processes.get(one.process)?;
    let samples = &process.threads.get(one.thread)?.samples;
    let late = (one.end.saturating_sub(one.begin) / LATER_BY).max(LATER_BY_NS);
    let at = |time: u64| {
        let next = samples.get(samples.partition_point(|sample| sample.time < time))?;
        (next.time - time <= late).then_some(next.cpu)
    };
    at(one.end)?.checked_sub(at(one.begin)?)
}

/// The causes of a region that the program times in CPU time, from those of its wall-clock
/// time.
///
/// A thread that is off the CPU uses no CPU time. It is idle first, then waits for the device:
/// CUDA waits on the CPU unless the program asks it not to. Calls that block, such as loading a
/// kernel, share what is left. CPU time beyond that of the thread is that of other threads.
///
/// `of_thread` is the CPU time of the thread that reads the clock; if it is not known, the
/// thread has used all of the time that the clock counts.
fn in_cpu_time(mut causes: [f64; CAUSES], timed: f64, of_thread: Option<f64>) -> [f64; CAUSES] {
    let wall: f64 = causes.iter().sum();
    let on_cpu = of_thread.unwrap_or(timed).min(timed).min(wall);
    let mut off_cpu = wall - on_cpu;
    for cause in [Cause::Idle, Cause::WaitingForDevice] {
        let seconds = &mut causes[cause.index()];
        let removed = off_cpu.min(*seconds);
        *seconds -= removed;
        off_cpu -= removed;
    }
    let left: f64 = causes.iter().sum();
    if left > 0.0 {
        causes = causes.map(|seconds| seconds * (on_cpu / left).min(1.0));
    }
    causes[Cause::OwnCpu.index()] += timed - on_cpu;
    causes
}

/// The statistics of executions, with their causes.
fn measured(counted: &[Counted], seed: u64) -> Option<RegionReport> {
    let times = || counted.iter().map(|start| &start.times[..]);
    let of = |value: fn(&[f64]) -> Option<f64>| -> Option<Estimate> {
        let values: Vec<Vec<f64>> = times()
            .filter_map(|times| Some(vec![value(times)?]))
            .collect();
        interval(&values, seed)
    };
    let fastest = |times: &[f64]| times.get(1..)?.iter().copied().reduce(f64::min);
    let pairs: Vec<(Vec<f64>, Vec<f64>)> = times()
        .filter(|times| times.len() > 1)
        .map(|times| (vec![times[0]], vec![times[1]]))
        .collect();
    let first = of(|times| times.first().copied())?;
    let second = of(|times| times.get(1).copied());
    let causes = |at: usize, whole: Estimate| {
        let found = counted
            .iter()
            .filter_map(|start| start.causes.get(at).copied());
        in_order(&mean_shares(found, whole.value))
    };
    Some(RegionReport {
        name: String::new(),
        file: None,
        from: None,
        to: None,
        function: None,
        helper: None,
        clock: None,
        count: (counted.iter().map(|start| start.count)).max().unwrap_or(0),
        first,
        second,
        best: of(fastest),
        ratio: paired_ratio(&pairs, seed),
        causes: causes(0, first),
        second_causes: second.map_or(Vec::new(), |second| causes(1, second)),
        unfinished: None,
        paired_by_order: false,
        repeats: None,
        firsts: Vec::new(),
        around: None,
        iterates: false,
        code: None,
    })
}

/// The first execution in each start.
fn firsts(case: &SummaryInput, region: &Region) -> Vec<Option<f64>> {
    let first = |start: &StartData| {
        let same = start
            .regions
            .all
            .iter()
            .find(|other| other.key == region.key)?;
        same.executions.first().map(|one| one.seconds)
    };
    case.starts.iter().map(first).collect()
}

/// The causes of windows.
pub(super) fn causes(
    start: &StartData,
    thread: (usize, usize),
    windows: &[(u64, u64)],
) -> Vec<[f64; CAUSES]> {
    if windows.is_empty() || thread.0 >= start.trace.processes.len() {
        return Vec::new();
    }
    let later: Vec<usize> = (1..windows.len()).collect();
    let found = partition(
        start.trace,
        start.facts,
        &Request {
            thread: Some(thread),
            iterations: windows,
            threads: &[],
            later: &later,
        },
    );
    let in_seconds = |causes: &[u64; CAUSES]| causes.map(seconds);
    let mut all = vec![in_seconds(&found.first.causes)];
    all.extend(found.later.iter().map(in_seconds));
    all
}

/// The part of the first execution of the region with this name, 0 to 1, in which its thread
/// waited for a processor. CPU time does not contain that.
pub(in crate::run) fn waited_in_first(start: &StartData, name: &str) -> f64 {
    let waited = || {
        let at = names(start.regions)
            .iter()
            .position(|known| known == name)?;
        let region = &start.regions.all[at];
        let one = *region.on_device().first()?;
        let found = partition(
            start.trace,
            start.facts,
            &Request {
                thread: Some((one.process, one.thread)),
                iterations: &[(one.begin, one.end)],
                threads: &[],
                later: &[],
            },
        );
        let share = found.waited_in_first / one.end.saturating_sub(one.begin).max(1) as f64;
        (!region.key.clock.is_cpu_time()).then_some(share.clamp(0.0, 1.0))
    };
    waited().unwrap_or(0.0)
}

/// A level above or below the iterations, such as the epochs of a Keras `fit` call: all spans
/// of a type, or those with this name.
fn level(
    case: &SummaryInput,
    which: Iteration,
    named: Option<&str>,
    name: String,
) -> Option<RegionReport> {
    let counted = case.counted.iter();
    let counted: Vec<Counted> = counted
        .filter_map(|at| spans_of_start(case.starts.get(*at)?, which, named))
        .collect();
    Some(RegionReport {
        name,
        ..measured(&counted, case.seed)?
    })
}

/// The steps of Keras predictions or evaluations, if these are the iterations and some have
/// several steps.
fn steps(case: &SummaryInput) -> Option<RegionReport> {
    let (whole, step, name) = match case.unit? {
        IterationUnit::Predict => (
            Iteration::Predict,
            Iteration::PredictStep,
            "steps of predict",
        ),
        IterationUnit::Evaluate => (
            Iteration::Evaluate,
            Iteration::TestStep,
            "steps of evaluate",
        ),
        _ => return None,
    };
    let facts = case.starts.get(case.shown)?.facts;
    let count = |which| {
        facts
            .iter()
            .map(|facts| facts.count_in_all(which))
            .sum::<u64>()
    };
    (count(step) > count(whole)).then(|| level(case, step, None, name.to_owned()))?
}

/// The calls of models that are called once each, in the order of the shown start.
fn models(case: &SummaryInput) -> Vec<RegionReport> {
    let facts = case
        .starts
        .get(case.shown)
        .map_or(&[][..], |start| start.facts);
    let mut names: Vec<&str> = Vec::new();
    for facts in facts {
        let spans = facts.process.threads.iter().flat_map(|one| &one.spans);
        for span in spans.filter(|span| span.what == SpanKind::Iteration(Iteration::ModelCall)) {
            let name = text(facts, span);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    (names.into_iter().take(MAX_REPORTED))
        .filter_map(|name| {
            level(
                case,
                Iteration::ModelCall,
                Some(name),
                format!("call of {name}"),
            )
        })
        .collect()
}

fn text<'a>(facts: &Facts<'a>, span: &Span) -> &'a str {
    let text = facts.process.texts.get(span.detail as usize);
    text.map_or("", String::as_str)
}

fn spans_of_start(start: &StartData, which: Iteration, named: Option<&str>) -> Option<Counted> {
    let matches = |facts: &Facts, span: &Span| {
        span.what == SpanKind::Iteration(which)
            && named.is_none_or(|name| text(facts, span) == name)
    };
    let (process, thread) = (start.facts.iter().enumerate()).find_map(|(process, facts)| {
        let mut threads = facts.process.threads.iter();
        let thread = threads.position(|one| one.spans.iter().any(|span| matches(facts, span)))?;
        Some((process, thread))
    })?;
    let facts = &start.facts[process];
    let spans = facts.process.threads[thread].spans.iter();
    let windows: Vec<(u64, u64)> = spans
        .filter(|span| matches(facts, span))
        .map(|span| (span.begin, span.end))
        .collect();
    let lengths = windows.iter().map(|(begin, end)| seconds(end - begin));
    Some(Counted {
        count: windows.len(),
        times: lengths.collect(),
        causes: causes(start, (process, thread), &windows[..windows.len().min(2)]),
    })
}

/// The names of regions: file and lines, with those of the helper if several regions have
/// the same lines, or else with a number.
fn names(regions: &Regions) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for region in &regions.all {
        *counts.entry(name(region)).or_default() += 1;
    }
    let mut used: HashMap<String, usize> = HashMap::new();
    (regions.all.iter())
        .map(|region| {
            let name = name(region);
            let name = match region.helper() {
                Some((from, to)) if counts.get(&name).is_some_and(|n| *n > 1) => {
                    format!("{name} by {}", lines(from, to))
                }
                _ => name,
            };
            // Several regions of one line.
            let number = used.entry(name.clone()).or_default();
            *number += 1;
            match *number {
                1 => name,
                number => format!("{name} #{number}"),
            }
        })
        .collect()
}

/// The name of a region.
pub(in crate::run) fn name(region: &Region) -> String {
    let timeit = match region.loops() {
        Some(0 | 1) => "timeit".to_owned(),
        Some(loops) => format!("timeit ×{loops}"),
        None => return lines(region.begins(), region.ends()),
    };
    match region.from.get(1) {
        Some(caller) => format!("{timeit} at {}:{}", short(&caller.file), caller.line),
        None => timeit,
    }
}

fn short(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// The lines with readings that are not part of any region.
pub(in crate::run) fn unpaired(regions: &Regions) -> Vec<String> {
    let named = regions
        .unpaired
        .iter()
        .map(|(frame, _)| lines(frame, frame));
    named.collect()
}

/// `train.py:14–20`.
fn lines(from: &Frame, to: &Frame) -> String {
    let file = short(&from.file);
    match (from.line, to.line) {
        (0, _) | (_, 0) if from.function == to.function => format!("{file}:{}", from.function),
        (0, _) | (_, 0) => format!("{file}:{}–{}", from.function, to.function),
        (a, b) if from.file == to.file && a == b => format!("{file}:{a}"),
        (a, b) if from.file == to.file && a > b => format!("{file}:{a}→{b}"),
        (a, b) if from.file == to.file => format!("{file}:{a}–{b}"),
        (a, b) => format!("{file}:{a} – {}:{b}", short(&to.file)),
    }
}

/// A list of region names, with each file named once: `a.py:3–5 and 9–11`.
pub(in crate::run) fn listed(names: &[String]) -> String {
    /// The number of regions to name.
    const MAX_NAMES: usize = 3;
    let mut words: Vec<String> = Vec::new();
    for (at, name) in names.iter().enumerate().take(MAX_NAMES) {
        let before = at.checked_sub(1).and_then(|at| names[at].split_once(':'));
        match name.split_once(':') {
            Some((file, lines)) if before.is_some_and(|before| before.0 == file) => {
                words.push(lines.to_owned());
            }
            _ => words.push(name.clone()),
        }
    }
    if names.len() > MAX_NAMES {
        words.push(format!("{} more", names.len() - MAX_NAMES));
    }
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_off_the_cpu_is_not_part_of_cpu_time() {
        let of = |parts: &[(Cause, f64)]| {
            let mut causes = [0.0; CAUSES];
            for (cause, seconds) in parts {
                causes[cause.index()] = *seconds;
            }
            causes
        };
        let (own, idle, waiting) = (Cause::OwnCpu, Cause::Idle, Cause::WaitingForDevice);
        let wall = of(&[(own, 2.0), (idle, 10.0), (waiting, 50.0)]);
        for (timed, of_thread, expected) in [
            // The thread waits for the device on the CPU, or off it.
            (52.0, None, [2.0, 0.0, 50.0]),
            (22.0, Some(22.0), [2.0, 0.0, 20.0]),
            (2.0, None, [2.0, 0.0, 0.0]),
            // Other threads compute meanwhile.
            (32.0, Some(2.0), [32.0, 0.0, 0.0]),
            (162.0, None, [102.0, 10.0, 50.0]),
            (162.0, Some(52.0), [112.0, 0.0, 50.0]),
            // A call that blocks.
            (1.0, None, [1.0, 0.0, 0.0]),
        ] {
            let found = in_cpu_time(wall, timed, of_thread);
            let expected = of(&[
                (own, expected[0]),
                (idle, expected[1]),
                (waiting, expected[2]),
            ]);
            assert_eq!(found, expected, "{timed} {of_thread:?}");
        }
        let loading = of(&[(Cause::KernelLoading, 30.0), (own, 10.0)]);
        let expected = of(&[(Cause::KernelLoading, 15.0), (own, 5.0)]);
        assert_eq!(in_cpu_time(loading, 20.0, None), expected);
        assert_eq!(in_cpu_time([0.0; CAUSES], 3.0, None), of(&[(own, 3.0)]));
    }

    fn frame(file: &str, line: u32) -> Frame {
        Frame {
            file: file.into(),
            line,
            function: "f".into(),
        }
    }

    #[test]
    fn a_region_is_named_by_its_lines() {
        let of =
            |from: (&str, u32), to: (&str, u32)| lines(&frame(from.0, from.1), &frame(to.0, to.1));
        let (a, b) = ("/x/a.py", "/x/b.py");
        assert_eq!(of((a, 3), (a, 7)), "a.py:3–7");
        assert_eq!(of((a, 7), (a, 3)), "a.py:7→3");
        assert_eq!(of((a, 3), (a, 3)), "a.py:3");
        assert_eq!(of((a, 3), (b, 5)), "a.py:3 – b.py:5");
        assert_eq!(of(("/x/infer", 0), ("/x/infer", 0)), "infer:f");
    }

    #[test]
    fn a_list_of_regions_names_each_file_once() {
        let of = |names: &[&str]| {
            listed(
                &names
                    .iter()
                    .map(|name| (*name).to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(of(&["a.py:3–5"]), "a.py:3–5");
        assert_eq!(of(&["a.py:3–5", "a.py:7"]), "a.py:3–5 and 7");
        assert_eq!(of(&["a.py:3", "b.py:7", "b.py:9"]), "a.py:3, b.py:7 and 9");
        let five = ["a.py:1", "a.py:2", "a.py:3", "a.py:4", "a.py:5"];
        assert_eq!(of(&five), "a.py:1, 2, 3 and 2 more");
    }
}
