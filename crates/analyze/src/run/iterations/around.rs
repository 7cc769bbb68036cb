//! Replaces calls with the steps or timed regions that enclose them.

use super::super::IterationsBy;
use super::super::timers::Key;
use super::{
    Accepted, Decision, Detected, FEW_ITERATIONS, FIRST_AND_SECOND, Rule, StartData, apply,
    candidates, find_all, functions, in_most, timers,
};

/// Replaces calls with the steps or timed regions that enclose them: two optimizer steps with
/// gradient accumulation, two requests to a language model that runs once per token, or timed
/// regions around a few calls each.
pub(super) fn enclosing(decision: Decision, starts: &[StartData]) -> Decision {
    let calls = matches!(
        decision.rule,
        Some(Rule::Model(_) | Rule::Function(_) | Rule::Compiled(_))
    );
    if !calls {
        return decision;
    }
    let calls = decision.returned(starts);
    let around = |rule: &Rule, outer: &[Option<Detected>]| {
        let mut pairs = (outer.iter().zip(&calls)).filter(|(_, inner)| inner.is_some());
        pairs.all(|(outer, inner)| {
            let counterparts = outer.as_ref().zip(inner.as_ref());
            counterparts.is_some_and(|(outer, inner)| {
                let fewer = outer.iterations.len() < inner.iterations.len();
                fewer
                    && match rule {
                        Rule::Optimizer(_) => {
                            functions::contains(outer, &without_earlier(inner, outer))
                        }
                        _ => functions::contains(outer, inner),
                    }
            })
        })
    };
    let rules = candidates(
        IterationsBy::Python,
        None,
        (FIRST_AND_SECOND, Accepted::Any),
        starts,
    );
    let steps = rules
        .into_iter()
        .filter(|rule| matches!(rule, Rule::Optimizer(_) | Rule::Function(_)));
    let regions = (starts.iter().zip(&calls))
        .filter_map(|(start, found)| timers::enclosing(start, found.as_ref()?));
    let regions = regions.map(Rule::Timers).take(1);
    let steps = steps.map(|rule| (IterationsBy::Python, rule));
    let regions = regions.map(|rule| (IterationsBy::Timers, rule));
    for (by, rule) in steps.chain(regions) {
        let found = find_all(&rule, starts);
        if in_most(&found, by, FIRST_AND_SECOND, starts) && around(&rule, &found) {
            return Decision::new(by, rule, found, starts);
        }
    }
    decision
}

/// Leaves out calls before the first step if they are fewer than the steps, such as one that
/// creates lazy parameters or shows the shape of the output.
fn without_earlier(calls: &Detected, steps: &Detected) -> Detected {
    let begin = steps.iterations.first().map_or(0, |first| first.0);
    let earlier = calls.iterations.partition_point(|call| call.1 <= begin);
    let mut left = calls.clone();
    if earlier < steps.iterations.len() {
        left.iterations.drain(..earlier);
    }
    left
}

/// Replaces a few steps, calls or runs with the regions with which the program times each of
/// them, so that the report and the program show the same numbers.
pub(super) fn as_timed(decision: Decision, starts: &[StartData]) -> Decision {
    let few =
        |found: &Detected| (FIRST_AND_SECOND..FEW_ITERATIONS).contains(&found.iterations.len());
    let detected =
        decision.by == IterationsBy::Python || matches!(decision.rule, Some(Rule::Xla(_)));
    let replaceable = detected
        && !matches!(decision.rule, Some(Rule::Named(_)))
        && decision.found.iter().flatten().all(few);
    let keys: Vec<Option<Vec<Key>>> = (starts.iter().zip(decision.returned(starts)))
        .map(|(start, found)| timers::around(start, found.as_ref()?))
        .collect();
    // Every start with iterations has to time them on the same lines.
    let with_iterations = decision.found.iter().zip(&keys);
    let mut timed = (with_iterations.filter(|(found, _)| found.is_some())).map(|(_, keys)| keys);
    let Some(Some(keys)) = timed.next().filter(|_| replaceable) else {
        return decision;
    };
    if !timed.all(|other| other.as_ref() == Some(keys)) {
        return decision;
    }
    let rule = Rule::Timers(keys.clone());
    Decision {
        by: IterationsBy::Timers,
        timed_iterations: (decision.unit()).map(|unit| (decision.timed_description(), unit)),
        region_names: timers::names(starts, keys),
        once: None,
        found: starts.iter().map(|start| apply(&rule, start)).collect(),
        rule: Some(rule),
        numbered: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_before_the_steps_does_not_count() {
        let found = |iterations: &[(u64, u64)]| Detected {
            iterations: iterations.to_vec(),
            ..Detected::default()
        };
        let steps = found(&[(20, 30), (30, 40)]);
        let left = without_earlier(&found(&[(1, 5), (22, 25), (32, 35)]), &steps);
        assert_eq!(left.iterations, [(22, 25), (32, 35)]);
        // As many inferences as steps.
        let inferences = found(&[(1, 5), (6, 9), (22, 25)]);
        assert_eq!(without_earlier(&inferences, &steps), inferences);
    }
}
