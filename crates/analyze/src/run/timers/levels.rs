//! Levels above and below the iterations that a framework marks: epochs, steps of a prediction,
//! calls of models. They are reported like timed regions.

use super::super::examine::seconds;
use super::super::facts::Facts;
use super::super::iterations::StartData;
use super::super::trace::{Iteration, Span, SpanKind};
use super::super::{IterationUnit, RegionReport};
use super::summary::{Counted, MAX_REPORTED, SummaryInput, causes, measured};

/// A level above or below the iterations, such as the epochs of a Keras `fit` call: all spans
/// of a type, or those with this name.
pub(super) fn level(
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
pub(super) fn steps(case: &SummaryInput) -> Option<RegionReport> {
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
pub(super) fn models(case: &SummaryInput) -> Vec<RegionReport> {
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
