//! Summarizes each timed region over all counted starts, with the causes of its first two
//! executions.

use super::super::examine::seconds;
use super::super::iterations::{Detected, StartData};
use super::super::path::{CAUSES, Request, partition};
use super::super::summary::{in_order, mean_shares};
use super::super::trace::Iteration;
use super::super::{IterationUnit, RegionReport, RepeatReport};
use super::around;
use super::cpu_time::{cpu_of_thread, in_cpu_time};
use super::events::unfinished;
use super::levels::{level, models, steps};
use super::names::{lines, names};
use super::regions::{Execution, Key, Region};
use crate::stats::{Estimate, interval, paired_ratio};

/// The number of regions to report.
pub(super) const MAX_REPORTED: usize = 24;

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
    let names: Vec<String> = (names(shown).iter()).map(ToString::to_string).collect();
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
            .map(|(from, to)| lines(from, to).to_string()),
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
pub(super) struct Counted {
    /// The number of executions.
    pub count: usize,
    /// In order, in seconds; only the first if others run at the same time.
    pub times: Vec<f64>,
    /// The causes of the first two, in seconds.
    pub causes: Vec<[f64; CAUSES]>,
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

/// The statistics of executions, with their causes.
pub(super) fn measured(counted: &[Counted], seed: u64) -> Option<RegionReport> {
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
            .position(|known| known.to_string() == name)?;
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
