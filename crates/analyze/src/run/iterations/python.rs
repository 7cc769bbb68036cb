//! Steps and model calls detected in Python.

use std::collections::HashMap;

use super::super::facts::Facts;
use super::super::trace::{Iteration, Span, SpanKind};
use super::{
    Accepted, Detected, Rule, StartData, busiest_thread, candidates, earliest, find_all, functions,
    in_most, lines,
};
use crate::run::{FirstBegin, IterationUnit, IterationsBy};
use preheat_model::run::trace::iteration_title;

/// Repeated units in Keras, best first. A program asks for a whole prediction; its steps
/// count only if there is just one ([`Accepted::Whole`](super::Accepted)).
const KERAS: [Iteration; 5] = [
    Iteration::TrainStep,
    Iteration::Predict,
    Iteration::Evaluate,
    Iteration::PredictStep,
    Iteration::TestStep,
];

/// The rank of a rule; lower is better.
pub(super) fn rank(rule: &Rule) -> usize {
    match rule {
        Rule::Named(_) => 0,
        Rule::Optimizer(_) => 1,
        Rule::Keras(which) => 2 + KERAS.iter().position(|k| k == which).unwrap_or(0),
        Rule::Model(_) => 10,
        Rule::Function(_) => 11,
        Rule::Models => 13,
        Rule::Backward => 14,
        Rule::Compiled(_)
        | Rule::Nvtx(_)
        | Rule::Xla(_)
        | Rule::Kernels
        | Rule::LastKernels
        | Rule::Timers(_)
        | Rule::Lines => 12,
    }
}

/// The unit that a repeated unit in Keras is.
pub(super) fn keras_unit(which: Iteration) -> IterationUnit {
    match which {
        Iteration::Predict => IterationUnit::Predict,
        Iteration::Evaluate => IterationUnit::Evaluate,
        Iteration::PredictStep => IterationUnit::PredictStep,
        Iteration::TestStep => IterationUnit::TestStep,
        _ => IterationUnit::TrainStep,
    }
}

/// A human-readable name of repeated units in Keras.
pub(super) fn keras_words(which: Iteration) -> &'static str {
    match which {
        Iteration::Predict => "calls of predict",
        Iteration::Evaluate => "calls of evaluate",
        Iteration::PredictStep => "Keras prediction steps",
        Iteration::TestStep => "Keras evaluation steps",
        _ => "Keras training steps",
    }
}

/// The rules that a start proposes, most specific first.
pub(super) fn propose(start: &StartData, least: usize) -> Vec<Rule> {
    let mut rules = Vec::new();
    rules.extend(functions::propose(start, Iteration::Named, least).map(Rule::Named));
    if let Some(name) = optimizer(start, least) {
        rules.push(Rule::Optimizer(name));
    }
    for which in KERAS {
        let count = start.facts.iter().map(|facts| facts.count_in_all(which));
        if count.max().unwrap_or(0) >= least as u64 {
            rules.push(Rule::Keras(which));
        }
    }
    if let Some(name) = most_frequent(start, Iteration::ModelCall, least) {
        rules.push(Rule::Model(name));
    }
    rules.extend(functions::propose(start, Iteration::FunctionCall, least).map(Rule::Function));
    rules.extend(functions::propose(start, Iteration::CompiledCall, least).map(Rule::Compiled));
    let calls = |facts: &Facts| facts.count_in_all(Iteration::ModelCall);
    if start.facts.iter().map(calls).max().unwrap_or(0) >= least as u64 {
        rules.push(Rule::Models);
    }
    if most_frequent(start, Iteration::Backward, least).is_some() {
        rules.push(Rule::Backward);
    }
    rules
}

/// The most specific unit that Python reported in most starts, if it did so just once in each:
/// `Linear was called once; nothing repeats`.
pub(super) fn once(starts: &[StartData]) -> Option<String> {
    let by = IterationsBy::Python;
    for rule in candidates(by, None, (1, Accepted::Any), starts) {
        let found = find_all(&rule, starts);
        if !in_most(&found, by, 1, starts) {
            continue;
        }
        let once = found.iter().flatten().all(|one| one.iterations.len() == 1);
        let what = match &rule {
            Rule::Optimizer(name) => format!("{} stepped", class_of(name)),
            Rule::Model(name) | Rule::Function(name) | Rule::Compiled(name) => {
                format!("{name} was called")
            }
            Rule::Keras(Iteration::Predict) => "predict was called".to_owned(),
            Rule::Keras(Iteration::Evaluate) => "evaluate was called".to_owned(),
            Rule::Backward => "backward was called".to_owned(),
            Rule::Keras(which) => format!("a {} was made", iteration_title(*which)),
            _ => return None,
        };
        return once.then(|| format!("{what} once; nothing repeats"));
    }
    None
}

/// The most frequent name of spans of a type within a thread; if no thread has enough,
/// within a process.
fn most_frequent(start: &StartData, which: Iteration, least: usize) -> Option<String> {
    let of_thread = |facts: &Facts| {
        let threads = 0..facts.process.threads.len();
        threads.map(|thread| vec![thread]).collect()
    };
    let of_process = |facts: &Facts| vec![(0..facts.process.threads.len()).collect()];
    most_frequent_in(start, which, least, of_thread)
        .or_else(|| most_frequent_in(start, which, least, of_process))
        .map(str::to_owned)
}

/// The most frequent name within a group of threads.
fn most_frequent_in<'a>(
    start: &StartData<'a>,
    which: Iteration,
    least: usize,
    groups: impl Fn(&Facts) -> Vec<Vec<usize>>,
) -> Option<&'a str> {
    let mut best: Option<(usize, &str)> = None;
    for facts in start.facts {
        for group in groups(facts) {
            let mut counts: HashMap<&str, usize> = HashMap::new();
            for span in group.iter().flat_map(|thread| of(facts, *thread, which)) {
                *counts.entry(name(facts, span)).or_insert(0) += 1;
            }
            for (name, count) in counts {
                let better = best
                    .is_none_or(|(most, other)| count > most || (count == most && name < other));
                if count >= least && better {
                    best = Some((count, name));
                }
            }
        }
    }
    best.map(|(_, name)| name)
}

/// The steps of an optimizer: their number, and the times of the first ones.
#[derive(Clone, Copy)]
struct Steps<'a> {
    name: &'a str,
    count: usize,
    first: u64,
    second: u64,
}

/// The optimizer whose steps end iterations, in the thread with the most steps; if it has too
/// few, in its process.
fn optimizer(start: &StartData, least: usize) -> Option<String> {
    let (process, thread) = busiest_thread(start, |facts, thread| {
        facts.count(thread, Iteration::OptimizerStep) as usize
    })?;
    let facts = &start.facts[process];
    let all: Vec<usize> = (0..facts.process.threads.len()).collect();
    let found = optimizer_of(facts, &[thread], least);
    let found = found.or_else(|| optimizer_of(facts, &all, least));
    found.map(str::to_owned)
}

/// The optimizer whose steps in these threads end iterations.
fn optimizer_of<'a>(facts: &Facts<'a>, threads: &[usize], least: usize) -> Option<&'a str> {
    let mut all: Vec<Steps> = Vec::new();
    for span in in_threads(facts, threads, Iteration::OptimizerStep) {
        let name = name(facts, span);
        match all.iter_mut().find(|steps| steps.name == name) {
            Some(steps) => {
                steps.count += 1;
                steps.second = span.begin.min(steps.second);
            }
            None => all.push(Steps {
                name,
                count: 1,
                first: span.begin,
                second: u64::MAX,
            }),
        }
    }
    all.retain(|steps| steps.count >= least);
    ends_rounds(&all)
}

/// The optimizer with the most steps, among several in the order of their first steps. If
/// equal ones alternate, the last of a round; a program may end within a round, so a
/// difference of one step is ignored. If equal ones follow each other, the first.
fn ends_rounds<'a>(all: &[Steps<'a>]) -> Option<&'a str> {
    let most = all.iter().map(|steps| steps.count).max()?;
    let mut equals = all.iter().filter(|steps| steps.count + 1 >= most);
    let leader = equals.next()?;
    let in_round = equals.take_while(|steps| steps.first < leader.second);
    Some(in_round.last().unwrap_or(leader).name)
}

/// Returns true if optimizers of the same class also step, so that its number is needed.
pub(super) fn has_siblings(starts: &[StartData], optimizer: &str) -> bool {
    let class = class_of(optimizer);
    let mut facts = starts.iter().flat_map(|start| start.facts);
    facts.any(|facts| {
        let mut threads = 0..facts.process.threads.len();
        threads.any(|thread| {
            let mut steps =
                of(facts, thread, Iteration::OptimizerStep).map(|step| name(facts, step));
            steps.any(|other| other != optimizer && class_of(other) == class)
        })
    })
}

/// The class of an optimizer: `SGD` for `SGD #2`.
pub(super) fn class_of(optimizer: &str) -> &str {
    match optimizer.rsplit_once(" #") {
        Some((class, number)) if number.bytes().all(|b| b.is_ascii_digit()) => class,
        _ => optimizer,
    }
}

fn name<'a>(facts: &Facts<'a>, span: &Span) -> &'a str {
    let texts = &facts.process.texts;
    texts.get(span.detail as usize).map_or("", String::as_str)
}

/// The spans of a type in a thread; cheap if there are none.
fn of<'a>(facts: &Facts<'a>, thread: usize, which: Iteration) -> impl Iterator<Item = &'a Span> {
    let spans = &facts.process.threads[thread].spans;
    let spans = match facts.count(thread, which) {
        0 => &[],
        _ => &spans[..],
    };
    spans
        .iter()
        .filter(move |span| span.what == SpanKind::Iteration(which))
}

/// The spans of a type in some threads, by their begin.
fn in_threads<'a>(facts: &Facts<'a>, threads: &[usize], which: Iteration) -> Vec<&'a Span> {
    let spans = threads.iter().flat_map(|thread| of(facts, *thread, which));
    let mut spans: Vec<&Span> = spans.collect();
    if threads.len() > 1 {
        spans.sort_by_key(|span| span.begin);
    }
    spans
}

/// Steps of an optimizer: each iteration ends with a step and begins where the previous one
/// ended, so that work between steps is included.
pub(super) fn steps(start: &StartData, optimizer: &str) -> Option<Detected> {
    let named = |facts: &Facts, thread: usize| -> Vec<(u64, u64)> {
        let steps = of(facts, thread, Iteration::OptimizerStep);
        let steps = steps.filter(|step| name(facts, step) == optimizer);
        steps.map(|step| (step.begin, step.end)).collect()
    };
    let mut found = earliest(start, named)?;
    let (facts, threads) = (&start.facts[found.process], found.all_threads());
    let steps = std::mem::take(&mut found.iterations);
    let calls: Vec<u64> = (in_threads(facts, &threads, Iteration::ModelCall).into_iter())
        .map(|call| call.begin)
        .collect();
    let mut iterations = Vec::with_capacity(steps.len());
    let others: Vec<u64> = (in_threads(facts, &threads, Iteration::OptimizerStep).into_iter())
        .map(|step| step.end)
        .collect();
    let is_iter = |fetch: &&Span| name(facts, fetch) == ITER;
    let times = |fetch: &Span| (fetch.begin, fetch.end);
    let all = || in_threads(facts, &threads, Iteration::DataFetch).into_iter();
    let fetches: Vec<(u64, u64)> = all().filter(|fetch| !is_iter(fetch)).map(times).collect();
    let iters: Vec<(u64, u64)> = all().filter(is_iter).map(times).collect();
    let called = first_begin(&steps, &calls, &others);
    let first = called.unwrap_or(steps[0].0);
    let fetched = with_fetch(first, &steps, &others, &fetches);
    let mut begin = with_iter(fetched, &fetches, &iters);
    if called.is_none() && fetched == first && !do_all_work(&steps) {
        // Nothing in Python shows where the work before the first step begins.
        let ends: Vec<u64> = steps.iter().map(|step| step.1).collect();
        let (earliest, known) = lines::begin_before(start, found.process, &ends);
        let last = others.iter().rfind(|end| **end < first).copied();
        begin = earliest.max(last.unwrap_or(0)).min(first);
        found.first_begin = (!known).then_some(FirstBegin {
            known: false,
            silent: 0,
        });
    }
    for (_, end) in steps {
        iterations.push((begin, end));
        begin = end;
    }
    found.iterations = iterations;
    Some(found)
}

/// The recorder hooks model calls until every optimizer has made this many steps
/// (`ENOUGH_STEPS` in its Python code).
const STEPS_WITH_CALLS: usize = 8;

/// Returns true if most steps contain nearly all of the time since the previous one, such as those
/// with a closure: the first iteration is the first step. Between some, the process may have waited
/// for a processor.
fn do_all_work(steps: &[(u64, u64)]) -> bool {
    /// The share of the time.
    const NEARLY_ALL: f64 = 0.9;
    let does_all = |pair: &&[(u64, u64)]| {
        let inside = pair[1].1 - pair[1].0;
        let all = pair[1].1.saturating_sub(pair[0].1);
        all > 0 && inside as f64 >= NEARLY_ALL * all as f64
    };
    let pairs = || steps.windows(2);
    pairs().filter(does_all).count() * 2 > pairs().count()
}

/// The beginning of the first iteration: the first model call that belongs to the first step. A
/// program may call its model earlier, to inspect it; so the first step gets as many calls
/// as a later one, among those whose calls are certainly recorded. If there is none, the
/// calls since the last step of any optimizer (`ends`) belong to it. `None` if no call does.
fn first_begin(steps: &[(u64, u64)], calls: &[u64], ends: &[u64]) -> Option<u64> {
    let before = |time: u64| calls.partition_point(|begin| *begin < time);
    let mut counts: Vec<usize> = (steps.windows(2))
        .take(STEPS_WITH_CALLS - 1)
        .map(|pair| before(pair[1].1).saturating_sub(before(pair[0].1)))
        .collect();
    counts.sort_unstable();
    let in_first = before(steps[0].1);
    let usual = counts.get(counts.len() / 2).copied().unwrap_or_else(|| {
        let last = ends.iter().rfind(|end| **end < steps[0].0);
        in_first - last.map_or(0, |last| before(*last))
    });
    match usual.min(in_first) {
        0 => None,
        count => Some(calls[in_first - count].min(steps[0].0)),
    }
}

/// The beginning of the first iteration if its batch is fetched right before `begin`: the last
/// fetch before it, if no optimizer steps in between. If later steps fetch nothing, a fetch
/// before the first step is not part of it either.
fn with_fetch(begin: u64, steps: &[(u64, u64)], ends: &[u64], fetches: &[(u64, u64)]) -> u64 {
    let before = |time: u64| fetches.partition_point(|fetch| fetch.0 < time);
    let fetching = (steps.windows(2).take(1000))
        .filter(|pair| before(pair[1].1) > before(pair[0].1))
        .count();
    let usual = steps.len() < 2 || fetching * 2 >= steps.len().min(1001) - 1;
    let last = fetches[..before(begin)].iter().rev();
    let last = last.into_iter().find(|fetch| fetch.1 <= begin);
    match last.filter(|_| usual) {
        Some((from, to)) if !ends.iter().any(|end| (*to..=begin).contains(end)) => *from,
        _ => begin,
    }
}

/// The name of the call that starts the workers of a data loader, next to those of its
/// fetches.
const ITER: &str = "iter";

/// The beginning of the first iteration if it begins with the first fetch of a data loader: the
/// start of the loader's workers. A loop starts them right before it fetches, with a
/// shorter gap than the start itself takes.
fn with_iter(begin: u64, fetches: &[(u64, u64)], iters: &[(u64, u64)]) -> u64 {
    let started = iters[..iters.partition_point(|iter| iter.1 <= begin)].last();
    match started {
        Some(&(from, to))
            if fetches.iter().any(|fetch| fetch.0 == begin)
                && !fetches.iter().any(|fetch| (to..begin).contains(&fetch.0))
                && begin - to <= to - from =>
        {
            from
        }
        _ => begin,
    }
}

/// Keras steps.
pub(super) fn keras(start: &StartData, which: Iteration) -> Option<Detected> {
    earliest(start, |facts, thread| {
        let steps = of(facts, thread, which);
        steps.map(|step| (step.begin, step.end)).collect()
    })
}

/// Calls of all models, in order.
pub(super) fn calls_of_all(start: &StartData) -> Option<Detected> {
    calls_that(start, Iteration::ModelCall, |_| true)
}

/// Backward calls of tensors.
pub(super) fn backward(start: &StartData) -> Option<Detected> {
    calls_that(start, Iteration::Backward, |_| true)
}

/// Calls of the model with this name.
pub(super) fn calls(start: &StartData, model: &str) -> Option<Detected> {
    calls_that(start, Iteration::ModelCall, |name| name == model)
}

/// Calls of this type with these names, each until the last device synchronization of its
/// thread before the next call: a call returns before the device is done.
fn calls_that(start: &StartData, which: Iteration, is: impl Fn(&str) -> bool) -> Option<Detected> {
    earliest(start, |facts, thread| calls_in(facts, thread, which, &is))
}

fn calls_in(
    facts: &Facts,
    thread: usize,
    which: Iteration,
    is: impl Fn(&str) -> bool,
) -> Vec<(u64, u64)> {
    let mut iterations: Vec<(u64, u64)> = Vec::new();
    if facts.count(thread, which) == 0 {
        return iterations;
    }
    let mut waited = false;
    for span in &facts.process.threads[thread].spans {
        if span.what == SpanKind::Iteration(which) && is(name(facts, span)) {
            iterations.push((span.begin, span.end));
            waited = false;
        } else if let Some((_, end)) = iterations.last_mut()
            && span.begin >= *end
            && facts.waits_for_device(span)
        {
            *end = span.end;
            waited = true;
        }
    }
    // After the last call, the program does other things, which may synchronize too.
    if waited && iterations.len() > 1 {
        let last = iterations.len() - 1;
        trim_last(facts, (thread, which), &mut iterations, last);
    }
    iterations
}

/// Ends the last iteration at the first synchronization after its call.
fn trim_last(
    facts: &Facts,
    (thread, which): (usize, Iteration),
    iterations: &mut [(u64, u64)],
    last: usize,
) {
    let begin = iterations[last].0;
    let spans = &facts.process.threads[thread].spans;
    let from = spans.partition_point(|span| span.begin < begin);
    let mut call_end = None;
    for span in &spans[from..] {
        match call_end {
            None if span.what == SpanKind::Iteration(which) => call_end = Some(span.end),
            Some(end) if span.begin >= end && facts.waits_for_device(span) => {
                iterations[last].1 = span.end;
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_calls_belong_to_the_first_step_as_to_a_later_one() {
        let steps = [(100, 110), (200, 210), (300, 310)];
        let begin = |steps: &[_], calls: &[_]| first_begin(steps, calls, &[110, 210, 310]);
        assert_eq!(begin(&steps, &[]), None);
        assert_eq!(begin(&steps, &[10, 60, 150, 250]), Some(60));
        // Two calls per step.
        assert_eq!(begin(&steps, &[10, 60, 80, 120, 150, 220, 250]), Some(60));
        assert_eq!(begin(&steps, &[80, 120, 150, 220, 250]), Some(80));
        // A single step gets all calls before it.
        assert_eq!(begin(&steps[..1], &[10, 60, 150]), Some(10));
        // But not the calls of another optimizer's steps.
        let with_another = first_begin(&steps[..1], &[10, 60, 150], &[30, 110]);
        assert_eq!(with_another, Some(60));
        // A closure calls the model within the step.
        assert_eq!(begin(&steps, &[105, 205, 305]), Some(100));
    }

    #[test]
    fn steps_with_a_closure_do_all_work() {
        assert!(do_all_work(&[(100, 110), (111, 210), (212, 310)]));
        assert!(!do_all_work(&[(100, 110), (200, 210), (300, 310)]));
        assert!(!do_all_work(&[(100, 110)]));
    }

    #[test]
    fn steps_after_the_last_recorded_call_say_nothing_of_the_first() {
        let steps: Vec<(u64, u64)> = (1..=40).map(|n| (100 * n, 100 * n + 10)).collect();
        let ends: Vec<u64> = steps.iter().map(|step| step.1).collect();
        let calls: Vec<u64> = (0..8).map(|n| 100 * n + 60).collect();
        assert_eq!(first_begin(&steps, &calls, &ends), Some(60));
        // The model is called once before, and not in the recorded steps.
        assert_eq!(first_begin(&steps, &[60], &ends), None);
        // Older recordings have the calls of all steps.
        let all: Vec<u64> = (0..40).map(|n| 100 * n + 60).collect();
        assert_eq!(first_begin(&steps, &all, &ends), Some(60));
        // Another optimizer stepped before, with separate calls.
        let others: Vec<u64> = (0..10).map(|n| n + 1).chain(ends.iter().copied()).collect();
        let theirs: Vec<u64> = (0..8).chain(calls.iter().copied()).collect();
        assert_eq!(first_begin(&steps, &theirs, &others), Some(60));
    }

    #[test]
    fn the_first_iteration_begins_with_the_fetch_of_its_batch() {
        let steps = [(100, 110), (200, 210), (300, 310)];
        let ends: Vec<u64> = steps.iter().map(|step| step.1).collect();
        let fetches = [(5, 20), (40, 70), (115, 120), (215, 220)];
        assert_eq!(with_fetch(80, &steps, &ends, &fetches), 40);
        // Another optimizer steps between the fetch and the model call.
        assert_eq!(with_fetch(80, &steps, &[75, 110, 210, 310], &fetches), 80);
        // Later steps fetch nothing, so the earlier fetch only inspected the data.
        assert_eq!(with_fetch(80, &steps, &ends, &fetches[..2]), 80);
        // A single step cannot be compared with later ones.
        assert_eq!(with_fetch(80, &steps[..1], &ends[..1], &fetches), 40);
        assert_eq!(with_fetch(80, &steps, &ends, &[]), 80);
    }

    #[test]
    fn the_first_fetch_begins_with_the_start_of_the_workers() {
        let fetches = [(40, 70), (115, 120)];
        assert_eq!(with_iter(40, &fetches, &[(10, 38)]), 10);
        // Created long before, in a separate statement.
        assert_eq!(with_iter(40, &fetches, &[(10, 12)]), 40);
        // It does not begin with a fetch, or not with the first fetch of the loader.
        assert_eq!(with_iter(80, &fetches, &[(10, 38)]), 80);
        assert_eq!(with_iter(115, &fetches, &[(10, 38)]), 115);
        assert_eq!(with_iter(40, &fetches, &[]), 40);
    }

    #[test]
    fn the_last_of_alternating_optimizers_counts() {
        let steps = |name, count, first, second| Steps {
            name,
            count,
            first,
            second,
        };
        let critic = steps("Adam", 50, 10, 30);
        let generator = steps("Adam #2", 50, 20, 40);
        assert_eq!(ends_rounds(&[critic, generator]), Some("Adam #2"));
        // The program ended within a round.
        let cut = steps("Adam #2", 49, 20, 40);
        assert_eq!(ends_rounds(&[critic, cut]), Some("Adam #2"));
        let often = steps("Adam", 250, 10, 12);
        assert_eq!(ends_rounds(&[often, generator]), Some("Adam"));
        // One phase after the other.
        let later = steps("SGD", 50, 1000, 1010);
        assert_eq!(ends_rounds(&[critic, later]), Some("Adam"));
        assert_eq!(ends_rounds(&[]), None);
        assert_eq!(class_of("Adam #2"), "Adam");
        assert_eq!(class_of("C #sharp"), "C #sharp");
    }
}
