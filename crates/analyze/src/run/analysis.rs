//! From a recording to its report, step by step.

use super::examine::{Examined, examine};
use super::facts::Facts;
use super::items::{self, Functions, Tree};
use super::iterations::{Decision, StartData, decide};
use super::path::CAUSES;
use super::summary::{self, Group};
use super::timers::{self, Regions};
use super::{
    AllItems, Cause, CauseReport, IterationUnit, IterationsBy, RUN_SCHEMA, Recording, RunReport,
    RunView, StartAnalysis, concurrent, counted, memory, notes, remedies, viewing, warmest,
};
use crate::stats::{Estimate, interval};

/// The findings of a recording.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The document.
    pub report: RunReport,
    /// Additional data for the HTML page.
    pub view: RunView,
    /// All items behind the causes; the document lists only the largest.
    pub all_items: AllItems,
    /// Each start separately, for exporters.
    pub starts: Vec<StartAnalysis>,
}

/// Explains a recording.
pub fn analyze(recording: &Recording) -> Findings {
    let facts: Vec<Vec<Facts>> = (recording.starts.iter())
        .map(|start| start.processes.iter().map(Facts::of).collect())
        .collect();
    let regions: Vec<Regions> = (recording.starts.iter())
        .map(|start| timers::regions(start, &recording.manifest.timers))
        .collect();
    let succeeded = |at: usize| {
        let start = recording.manifest.starts.get(at);
        start.is_none_or(|start| start.exit_code == 0)
    };
    let seen: Vec<StartData> = (recording.starts.iter().zip(&facts).enumerate())
        .map(|(at, (trace, facts))| StartData {
            trace,
            facts,
            regions: &regions[at],
            succeeded: succeeded(at),
        })
        .collect();
    let decision = decide(&recording.manifest.settings.iterations, &seen);
    let to_end = decision.by == IterationsBy::None;
    let examined: Vec<Examined> = (seen.iter().zip(&decision.found))
        .map(|(start, found)| examine(start.trace, start.facts, found.as_ref(), to_end))
        .collect();
    let starts = summary::starts(recording, &seen, &examined);
    let groups = summary::groups(recording, &examined, &starts);
    let warmest = groups.first();
    let shown = warmest.and_then(|group| group.typical(&examined));
    let shown = shown.unwrap_or(0);
    let mut report = head(recording, &decision, shown);
    report.starts = starts;
    report.notes = notes::notes(recording, &examined, &decision, warmest);
    if let (Some(group), Some(start)) = (warmest, seen.get(shown)) {
        let doubts = notes::Doubts {
            by: decision.by,
            compared: report.compares_first(),
            models: report.unit == Some(IterationUnit::Models),
            begins: report.first_begin.is_none_or(|begin| begin.known),
            group,
            examined: &examined,
            start,
            shown: &examined[shown],
            synchronized: recording.manifest.settings.synchronize,
        };
        report.notes.extend(doubts.sentences());
        let found = decision.found[shown].as_ref();
        report.other_threads =
            found.map_or(Vec::new(), |found| concurrent::list(start.trace, found));
        report
            .notes
            .extend(found.and_then(|found| concurrent::note(start.trace, found)));
        report.notes.extend(found.and_then(concurrent::concurrent));
    }
    report.ladder = groups.iter().rev().map(Group::temperature_report).collect();
    match warmest {
        Some(group) => {
            numbers(&mut report, group);
            if !report.compares_first() {
                without_comparison(&mut report);
            }
        }
        None => report.time_to_first = walls(&report, recording.manifest.settings.seed),
    }
    let mut view = RunView::default();
    let mut all_items = AllItems::default();
    if let (Some(start), Some(examined)) = (seen.get(shown), examined.get(shown)) {
        let trees: Vec<Tree> = start.facts.iter().map(Tree::of).collect();
        all_items = items::list(examined, start, &trees);
        let mut functions = Functions::of(examined, start.trace);
        report.memory = memory::report(recording, shown, start, examined);
        report.notes.extend(memory::note(start, examined));
        let causes = warmest.map(|group| &group.causes);
        report.causes = causes_of(causes, examined, &mut all_items, &report);
        open_own_cpu(&mut report, examined, &mut functions);
        let (timed, more) = timers::summarize(&timers::SummaryInput {
            starts: &seen,
            counted: warmest.map_or(&[][..], |group| &group.starts),
            shown,
            iterations: match decision.by {
                IterationsBy::Timers => &[],
                IterationsBy::Nvtx
                | IterationsBy::Python
                | IterationsBy::Kernels
                | IterationsBy::Lines
                | IterationsBy::None => &decision.found,
            },
            iterate: decision.regions(),
            unit: decision.timed_unit(),
            seed: recording.manifest.settings.seed,
        });
        report.regions = timed;
        let counted = warmest.map_or(&[][..], |group| &group.starts);
        report.marks = super::list(recording, counted);
        report.notes.extend(notes::more_regions(more));
        report
            .notes
            .extend(notes::unpaired_readings(&regions[shown]));
        report.remedies = remedies::remedies(&remedies::RemedyInput {
            report: &report,
            start,
            examined,
            trees: &trees,
            manifest: &recording.manifest,
            scale: scale(&report, examined),
        });
        view = viewing::view(shown, start, examined, &trees);
        view.functions = functions.flame;
    } else {
        report.causes = causes_of(None, &nothing(), &mut all_items, &report);
    }
    let starts = (examined.iter().zip(&facts))
        .map(|(examined, facts)| examined.analysis(facts))
        .collect();
    Findings {
        report,
        view,
        all_items,
        starts,
    }
}

/// The header: the contents of the manifest, and the definition of an iteration.
fn head(recording: &Recording, decision: &Decision, shown: usize) -> RunReport {
    let manifest = &recording.manifest;
    RunReport {
        schema: RUN_SCHEMA.to_owned(),
        preheat: manifest.preheat.clone(),
        created: manifest.created.clone(),
        command: manifest.command.clone(),
        directory: manifest.directory.clone(),
        machine: manifest.machine.clone(),
        settings: manifest.settings.clone(),
        environment: manifest.environment.clone(),
        iterations_by: decision.by,
        iteration: decision.description(&manifest.settings.iterations, shown),
        unit: decision.unit(),
        first_begin: decision.first_begin(),
        time_to_first: Estimate {
            value: 0.0,
            low: None,
            high: None,
        },
        first: None,
        steady: None,
        ratio: None,
        class: None,
        consistency: None,
        warmup: None,
        excess: None,
        second: None,
        best: None,
        first_to_second: None,
        counted_starts: 0,
        causes: Vec::new(),
        first_excess: Vec::new(),
        second_excess: Vec::new(),
        other_threads: Vec::new(),
        regions: Vec::new(),
        marks: Vec::new(),
        memory: super::MemoryReport::default(),
        ladder: Vec::new(),
        remedies: Vec::new(),
        starts: Vec::new(),
        notes: Vec::new(),
    }
}

/// Copies the numbers of the counted starts.
fn numbers(report: &mut RunReport, group: &Group) {
    report.time_to_first = group.time_to_first;
    report.counted_starts = group.starts.len();
    report.first_excess = group.first_excess.clone();
    if let Some(second) = &group.second {
        report.second = Some(second.second);
        report.best = Some(second.best);
        report.first_to_second = Some(second.ratio);
        report.second_excess = second.excess.clone();
    }
    if let Some(series) = &group.series {
        report.first = Some(series.first);
        report.steady = series.steady;
        report.ratio = series.ratio;
        // One or two iterations are too few to settle or to fail to.
        let enough = group.most_iterations >= summary::FOR_A_CLASS;
        report.class = enough.then_some(series.class);
        report.consistency = enough.then_some(series.consistency);
        report.warmup = series.warmup;
        report.excess = series.excess;
    }
}

/// Removes the comparisons of the first iteration with later ones. Steps have no first
/// iteration if its begin is not known; calls of different models have no later ones.
fn without_comparison(report: &mut RunReport) {
    (report.ratio, report.first_to_second) = (None, None);
    (report.class, report.consistency) = (None, None);
    (report.warmup, report.excess) = (None, None);
    report.first_excess.clear();
    report.second_excess.clear();
    if report.unit == Some(IterationUnit::Models) {
        (report.steady, report.second, report.best) = (None, None, None);
    } else {
        report.first = None;
    }
}

/// The wall times of the warmest counted starts, for use when nothing was recorded.
fn walls(report: &RunReport, seed: u64) -> Estimate {
    let starts = warmest(&report.starts).map(|warmest| counted(&report.starts, warmest).starts);
    let walls = starts.iter().flatten().map(|start| vec![start.wall]);
    interval(&walls.collect::<Vec<_>>(), seed).unwrap_or(report.time_to_first)
}

/// The ratio of the reported time to first to that of the shown start.
fn scale(report: &RunReport, examined: &Examined) -> f64 {
    let own: f64 = examined.causes.iter().sum();
    if own > 0.0 {
        report.time_to_first.value / own
    } else {
        1.0
    }
}

/// The causes, largest first. Items come from the shown start, scaled to the reported
/// seconds of their cause. Inclusive times contain other causes too, so they are scaled
/// like the start as a whole.
fn causes_of(
    causes: Option<&[f64; CAUSES]>,
    examined: &Examined,
    all_items: &mut AllItems,
    report: &RunReport,
) -> Vec<CauseReport> {
    let total = report.time_to_first.value;
    let whole = scale(report, examined);
    let mut unexplained = [0.0; CAUSES];
    unexplained[Cause::Unexplained.index()] = total;
    let causes = causes.unwrap_or(&unexplained);
    let mut reports: Vec<CauseReport> = Vec::new();
    for (cause, items) in Cause::ALL.into_iter().zip(&mut all_items.items) {
        let seconds = causes[cause.index()];
        let bytes = memory::of_cause(&report.memory, cause);
        if seconds <= 0.0 && bytes.is_none() {
            continue;
        }
        let shown = examined.causes[cause.index()];
        if shown > 0.0 {
            let scale = seconds / shown;
            for item in items.iter_mut() {
                let alone = item.inclusive <= item.seconds;
                item.seconds *= scale;
                item.inclusive = if alone {
                    item.seconds
                } else {
                    (item.inclusive * whole).min(total).max(item.seconds)
                };
                item.waiting = item.waiting.map(|waiting| waiting * scale);
            }
            if cause == Cause::PythonImports {
                (all_items.modules.iter_mut()).for_each(|module| module.own *= scale);
            }
        }
        reports.push(CauseReport {
            cause,
            seconds,
            share: if total > 0.0 { seconds / total } else { 0.0 },
            device_bytes: bytes,
            items: items.iter().take(items::MAX_ITEMS).cloned().collect(),
            items_in_all: items.len() as u64,
            functions: Vec::new(),
        });
    }
    reports.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    reports
}

/// Lists the functions behind the program's own CPU time.
fn open_own_cpu(report: &mut RunReport, examined: &Examined, functions: &mut Functions) {
    let total = report.time_to_first.value;
    let shown = examined.causes[Cause::OwnCpu.index()];
    let mut causes = report.causes.iter_mut();
    if let Some(own) = causes.find(|cause| cause.cause == Cause::OwnCpu)
        && shown > 0.0
    {
        functions.scale(own.seconds / shown, total);
        own.functions = functions.list.clone();
    }
}

fn nothing() -> Examined {
    examine(&super::trace::StartTrace::default(), &[], None, false)
}
