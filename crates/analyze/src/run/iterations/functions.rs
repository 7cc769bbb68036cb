//! Calls of Python functions: known library functions, a function named by the user, and
//! functions compiled by JAX. Iterations named by the program are found in the same way.
//!
//! A function may call other recorded functions: a grid search fits many models. The
//! outermost repeated function is the iteration, even if steps or model calls are nested in
//! it: the unit is a request to a language model, not each of its tokens.

use std::collections::HashMap;

use super::super::facts::Facts;
use super::super::trace::{Iteration, Span, SpanKind};
use super::{Detected, Rule, StartData, apply, earliest};

/// The share of another rule's iterations that must lie within calls of a function.
const CONTAINED: f64 = 0.9;

/// The calls of functions by level and name: their number and total time.
type Levels<'a> = HashMap<(usize, &'a str), (usize, u64)>;

/// The outermost function with enough calls in a thread, or else in a process; at the same
/// level, the one with the most total time.
pub(super) fn propose(start: &StartData, which: Iteration, least: usize) -> Option<String> {
    let threads = start.facts.iter().flat_map(|facts| {
        let threads = 0..facts.process.threads.len();
        threads.map(|thread| levels(facts, thread, which))
    });
    let processes = start.facts.iter().map(|facts| {
        let mut all = Levels::new();
        for thread in 0..facts.process.threads.len() {
            for (function, (count, total)) in levels(facts, thread, which) {
                let sum = all.entry(function).or_default();
                *sum = (sum.0 + count, sum.1 + total);
            }
        }
        all
    });
    outermost(threads, least)
        .or_else(|| outermost(processes, least))
        .map(str::to_owned)
}

fn outermost<'a>(groups: impl Iterator<Item = Levels<'a>>, least: usize) -> Option<&'a str> {
    // Level, inverted total time, and the name, which breaks ties.
    let mut best: Option<(usize, u64, &str)> = None;
    for ((level, name), (count, total)) in groups.flatten() {
        let better = best.is_none_or(|(other, longest, other_name)| {
            (level, u64::MAX - total, name) < (other, u64::MAX - longest, other_name)
        });
        if count >= least && better {
            best = Some((level, total, name));
        }
    }
    best.map(|(_, _, name)| name)
}

/// The number of calls and total time of each function, by the number of enclosing calls.
/// Recursive calls are part of the outer call.
fn levels<'a>(facts: &Facts<'a>, thread: usize, which: Iteration) -> Levels<'a> {
    let mut counts = Levels::new();
    let mut open: Vec<(u64, &str)> = Vec::new();
    for span in of(facts, thread, which) {
        // Concurrent tasks of one thread end in any order.
        open.retain(|(end, _)| *end > span.begin);
        let name = name(facts, span);
        if !open.iter().any(|(_, outer)| *outer == name) {
            let (count, total) = counts.entry((open.len(), name)).or_default();
            *count += 1;
            *total += span.end - span.begin;
            open.push((span.end, name));
        }
    }
    counts
}

/// The calls of the function with this name; recursive calls are part of the outer call.
pub(super) fn find(start: &StartData, function: &str) -> Option<Detected> {
    earliest(start, |facts, thread| {
        calls(facts, thread, Iteration::FunctionCall, function)
    })
}

/// The iterations with this name, given by the program. Those that begin during another
/// overlap it, because the recorder leaves out nested ones.
pub(super) fn find_named(start: &StartData, function: &str) -> Option<Detected> {
    let mut found = earliest(start, |facts, thread| {
        calls(facts, thread, Iteration::Named, function)
    })?;
    let facts = &start.facts[found.process];
    let threads = found.all_threads().into_iter();
    let all = (threads.flat_map(|thread| of(facts, thread, Iteration::Named)))
        .filter(|span| name(facts, span) == function);
    found.overlapping = all.count().saturating_sub(found.iterations.len());
    Some(found)
}

/// Calls of a JAX-compiled function return before the result is computed, so each lasts
/// until the next call.
pub(super) fn find_compiled(start: &StartData, function: &str) -> Option<Detected> {
    let mut found = find_dispatches(start, function)?;
    for at in 1..found.iterations.len() {
        found.iterations[at - 1].1 = found.iterations[at].0;
    }
    Some(found)
}

/// The same calls, each until it returns.
pub(super) fn find_dispatches(start: &StartData, function: &str) -> Option<Detected> {
    earliest(start, |facts, thread| {
        calls(facts, thread, Iteration::CompiledCall, function)
    })
}

fn calls(facts: &Facts, thread: usize, which: Iteration, function: &str) -> Vec<(u64, u64)> {
    let mut last = 0;
    let named = of(facts, thread, which).filter(|span| name(facts, span) == function);
    let outermost = named.filter(|span| {
        let is_separate = span.begin >= last;
        if is_separate {
            last = span.end;
        }
        is_separate
    });
    outermost.map(|span| (span.begin, span.end)).collect()
}

fn of<'a>(facts: &Facts<'a>, thread: usize, which: Iteration) -> impl Iterator<Item = &'a Span> {
    let any = facts.count(thread, which) > 0;
    let spans = facts.process.threads[thread].spans.iter();
    spans.filter(move |span| any && span.what == SpanKind::Iteration(which))
}

fn name<'a>(facts: &Facts<'a>, span: &Span) -> &'a str {
    let text = facts.process.texts.get(span.detail as usize);
    text.map_or("", String::as_str)
}

/// Moves a function before the first rule, if most iterations of that rule lie within its
/// calls.
pub(super) fn outermost_first(rules: &mut [Rule], starts: &[StartData]) {
    let function = |rule: &Rule| matches!(rule, Rule::Function(_));
    let Some(at) = rules.iter().position(function).filter(|at| *at > 0) else {
        return;
    };
    let within = starts.iter().any(|start| {
        let (outer, inner) = (apply(&rules[at], start), apply(&rules[0], start));
        outer
            .zip(inner)
            .is_some_and(|(outer, inner)| contains(&outer, &inner))
    });
    if within {
        rules[..=at].rotate_right(1);
    }
}

/// Returns true if most iterations of `inner` end within iterations of `outer`.
pub(super) fn contains(outer: &Detected, inner: &Detected) -> bool {
    let within = |iteration: &&(u64, u64)| {
        let before = (outer.iterations).partition_point(|call| call.0 < iteration.1);
        // A step begins where the previous one ended, so only its end counts.
        before > 0 && iteration.1 <= outer.iterations[before - 1].1
    };
    let same = (outer.process, outer.thread) == (inner.process, inner.thread);
    let count = inner.iterations.iter().filter(within).count();
    same && count as f64 >= CONTAINED * inner.iterations.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_lie_within_a_call_if_they_end_there() {
        let found = |iterations: &[(u64, u64)]| Detected {
            iterations: iterations.to_vec(),
            ..Detected::default()
        };
        let requests = found(&[(10, 50), (60, 90)]);
        assert!(contains(&requests, &found(&[(10, 20), (20, 50), (50, 70)])));
        assert!(!contains(&requests, &found(&[(1, 5), (10, 20)])));
        assert!(!contains(&found(&[]), &found(&[(1, 5)])));
    }
}
