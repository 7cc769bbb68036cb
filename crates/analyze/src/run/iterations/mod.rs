//! Finds the iterations of a program.
//!
//! One rule is chosen for the whole recording, so that starts are comparable: the most
//! specific one that finds at least three iterations in most starts, or else two.
//! Iterations named with `preheat.iteration` take precedence over all others. NVTX ranges
//! are named by the author; steps and model calls are detected in Python; the period of the
//! kernel launches needs no cooperation; and regions that the program times itself are
//! those its author cares about. Lines of output count only on request.

mod around;
mod begins;
mod decision;
mod functions;
mod kernels;
mod lines;
mod nvtx;
mod python;
mod threads;
mod timers;

use super::facts::Facts;
use super::timers::{Key, Regions};
use super::trace::{Iteration, StartTrace};
use super::{FirstBegin, IterationRule, IterationsBy};
use around::{as_timed, enclosing};
use threads::{busiest_thread, earliest, earliest_of};

pub(super) use decision::Decision;
pub(super) use lines::{busiest, together};

/// This many occurrences are certainly a repetition.
const MIN_ITERATIONS: usize = 3;
/// A first and a second, for programs that do not repeat more often.
const FIRST_AND_SECOND: usize = 2;
/// Programs with fewer iterations rarely reach a steady state. If such a program times each
/// iteration itself, its timed regions become the iterations, so that the report shows the numbers
/// it prints.
const FEW_ITERATIONS: usize = 10;

/// The definition of an iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// NVTX ranges with this name.
    Nvtx(String),
    /// Runs of this XLA module.
    Xla(String),
    /// Steps of the optimizer with this name.
    Optimizer(String),
    /// Keras steps.
    Keras(Iteration),
    /// Outermost calls of the model with this name.
    Model(String),
    /// Calls of different models, once each.
    Models,
    /// Backward calls of PyTorch tensors.
    Backward,
    /// Calls of the Python function with this name.
    Function(String),
    /// Calls of the JAX-compiled function with this name.
    Compiled(String),
    /// Iterations with this name, given by `preheat.iteration`.
    Named(String),
    /// The period of the kernel launches.
    Kernels,
    /// The last kernel launches, if they occur twice after set-up.
    LastKernels,
    /// Executions of these regions, timed by the program itself.
    Timers(Vec<Key>),
    /// Lines of output.
    Lines,
}

/// Which of a method's rules an attempt accepts.
#[derive(Clone, Copy, PartialEq)]
enum Accepted {
    /// Only iterations named by the program.
    Named,
    /// Steps and repeated timed regions, but not calls of models and functions. `candidates`
    /// leaves out timed regions of different lines.
    Steps,
    /// Whole Keras predictions and evaluations instead of their steps, if they rank first.
    Whole,
    /// All rules of repetitions.
    Any,
    /// Backward calls of tensors, which leave out what the program does before them.
    Backward,
    /// Kernel launches that occur twice after set-up.
    LastKernels,
    /// Calls of different models, which are listed and not compared.
    DifferentModels,
    /// The same work, done once by each of several threads or processes at the same time.
    Concurrent,
}

impl Accepted {
    fn accepts(self, rule: &Rule) -> bool {
        match self {
            Accepted::Named => matches!(rule, Rule::Named(_)),
            Accepted::Steps => {
                let calls = matches!(rule, Rule::Model(_) | Rule::Function(_) | Rule::Compiled(_));
                !calls && Accepted::Any.accepts(rule)
            }
            Accepted::Whole => {
                matches!(rule, Rule::Keras(Iteration::Predict | Iteration::Evaluate))
            }
            Accepted::Any | Accepted::Concurrent => {
                !matches!(rule, Rule::Models | Rule::Backward | Rule::LastKernels)
            }
            Accepted::Backward => *rule == Rule::Backward,
            Accepted::LastKernels => *rule == Rule::LastKernels,
            Accepted::DifferentModels => *rule == Rule::Models,
        }
    }
}

/// The iterations of one start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Detected {
    pub process: usize,
    pub thread: usize,
    /// Begin and end of each; in order and disjoint.
    pub iterations: Vec<(u64, u64)>,
    /// The thread of each iteration, if several threads run them one after the other; otherwise
    /// empty.
    pub threads: Vec<usize>,
    /// Launches per iteration, if they were counted.
    pub period: usize,
    /// A description of the begins; empty if the rule implies it.
    pub begins: String,
    /// The evidence for the beginning of the first iteration, if lines define iterations or the
    /// begin is not known.
    pub first_begin: Option<FirstBegin>,
    /// Other threads that iterate according to the same rule, sorted by the end of their first iteration.
    pub others: Vec<Other>,
    /// The number of iterations that are left out because they begin during another one of the
    /// thread.
    pub overlapping: usize,
}

impl Detected {
    /// The thread that runs an iteration.
    pub fn thread_of(&self, iteration: usize) -> usize {
        *self.threads.get(iteration).unwrap_or(&self.thread)
    }

    /// All threads that run the iterations.
    fn all_threads(&self) -> Vec<usize> {
        let mut all = self.threads.clone();
        all.push(self.thread);
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Another thread that iterates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Other {
    pub process: usize,
    pub thread: usize,
    /// The number of its iterations.
    pub count: usize,
    /// The end of its first iteration.
    pub first: u64,
}

/// The data of one start that is needed to find its iterations.
#[derive(Clone, Copy)]
pub(super) struct StartData<'a> {
    pub trace: &'a StartTrace,
    pub facts: &'a [Facts<'a>],
    /// Regions that the program times itself.
    pub regions: &'a Regions,
    /// True if the program succeeded.
    pub succeeded: bool,
}

/// A method to find iterations, the number it has to find, and the rules it accepts.
type Attempt = (IterationsBy, usize, Accepted);

/// The attempts of `auto`: iterations named by the program, even if rare; repetitions, most
/// specific first; pairs; regions that the program times once; calls of different models; kernels
/// that are launched twice after set-up; calls in several threads at once. A program that calls a
/// model only twice, or that has no optimizer, often times that work itself. Two predictions take
/// precedence over their steps. Steps and timed regions around calls take precedence over the
/// calls ([`enclosing`]).
const AUTO: [Attempt; 17] = [
    (IterationsBy::Python, FIRST_AND_SECOND, Accepted::Named),
    (IterationsBy::Python, 1, Accepted::Named),
    (IterationsBy::Nvtx, MIN_ITERATIONS, Accepted::Any),
    (IterationsBy::Python, FIRST_AND_SECOND, Accepted::Whole),
    (IterationsBy::Python, MIN_ITERATIONS, Accepted::Any),
    (IterationsBy::Kernels, MIN_ITERATIONS, Accepted::Any),
    (IterationsBy::Nvtx, FIRST_AND_SECOND, Accepted::Any),
    (IterationsBy::Python, FIRST_AND_SECOND, Accepted::Steps),
    (IterationsBy::Timers, FIRST_AND_SECOND, Accepted::Steps),
    (IterationsBy::Python, FIRST_AND_SECOND, Accepted::Any),
    (IterationsBy::Timers, FIRST_AND_SECOND, Accepted::Any),
    (IterationsBy::Kernels, FIRST_AND_SECOND, Accepted::Any),
    (IterationsBy::Python, FIRST_AND_SECOND, Accepted::Backward),
    (IterationsBy::Timers, 1, Accepted::Any),
    (
        IterationsBy::Python,
        FIRST_AND_SECOND,
        Accepted::DifferentModels,
    ),
    (
        IterationsBy::Kernels,
        FIRST_AND_SECOND,
        Accepted::LastKernels,
    ),
    (IterationsBy::Python, 1, Accepted::Concurrent),
];

/// Decides on a rule according to the setting, and applies it to all starts.
pub(super) fn decide(setting: &IterationRule, starts: &[StartData]) -> Decision {
    let attempts: &[Attempt] = match setting {
        IterationRule::Auto => &AUTO,
        IterationRule::Nvtx(_) => &[(IterationsBy::Nvtx, 1, Accepted::Any)],
        IterationRule::Python => &[
            (IterationsBy::Python, FIRST_AND_SECOND, Accepted::Named),
            (IterationsBy::Python, 1, Accepted::Any),
            (IterationsBy::Python, 1, Accepted::Backward),
        ],
        IterationRule::Call(_) => &[(IterationsBy::Python, 1, Accepted::Any)],
        IterationRule::Kernels => &[
            (IterationsBy::Kernels, 1, Accepted::Any),
            (IterationsBy::Kernels, 1, Accepted::LastKernels),
        ],
        IterationRule::Timers => &[
            (IterationsBy::Timers, FIRST_AND_SECOND, Accepted::Any),
            (IterationsBy::Timers, 1, Accepted::Any),
        ],
        IterationRule::Lines(_) => &[(IterationsBy::Lines, 1, Accepted::Any)],
    };
    let name = match setting {
        IterationRule::Nvtx(name) => name.as_deref(),
        IterationRule::Call(function) => Some(function.as_str()),
        IterationRule::Auto
        | IterationRule::Python
        | IterationRule::Kernels
        | IterationRule::Timers
        | IterationRule::Lines(_) => None,
    };
    for &(by, least, accepted) in attempts {
        let mut rules = candidates(by, name, (least, accepted), starts);
        if accepted == Accepted::Whole {
            // Only if they rank first: training steps, or function calls around them, take precedence.
            rules.truncate(1);
        }
        rules.retain(|rule| accepted.accepts(rule));
        for rule in rules {
            let mut found = find_all(&rule, starts);
            if accepted == Accepted::Concurrent {
                for found in &mut found {
                    *found = found.take().filter(|found| !found.others.is_empty());
                }
            }
            if in_most(&found, by, least, starts)
                || (least == 1 && found.iter().any(Option::is_some))
            {
                let decision = Decision::new(by, rule, found, starts);
                return match attempts == AUTO {
                    true => as_timed(enclosing(decision, starts), starts),
                    false => decision,
                };
            }
        }
    }
    Decision {
        by: IterationsBy::None,
        rule: None,
        numbered: false,
        region_names: Vec::new(),
        once: (*setting == IterationRule::Auto)
            .then(|| python::once(starts))
            .flatten(),
        timed_iterations: None,
        found: vec![None; starts.len()],
    }
}

/// The iterations that a rule finds in each start; none if they are empty.
fn find_all(rule: &Rule, starts: &[StartData]) -> Vec<Option<Detected>> {
    let found = starts.iter().map(|start| apply(rule, start));
    found
        .map(|found| found.filter(|found| !found.iterations.is_empty()))
        .collect()
}

/// Returns true if most starts have at least `least` iterations.
fn in_most(
    found: &[Option<Detected>],
    by: IterationsBy,
    least: usize,
    starts: &[StartData],
) -> bool {
    let enough =
        |at: &&usize| (found[**at].as_ref()).is_some_and(|found| found.iterations.len() >= least);
    let voters = voters(by, starts);
    voters.iter().filter(enough).count() * 2 > voters.len().max(1)
}

/// The starts that vote on a method, which needs a majority: recorded ones (for lines, all) and, if
/// any start succeeded, only those that did.
fn voters(by: IterationsBy, starts: &[StartData]) -> Vec<usize> {
    let recorded =
        |at: &usize| by == IterationsBy::Lines || !starts[*at].trace.processes.is_empty();
    let mut voters: Vec<usize> = (0..starts.len()).filter(recorded).collect();
    if voters.iter().any(|at| starts[*at].succeeded) {
        voters.retain(|at| starts[*at].succeeded);
    }
    voters
}

/// The rules of a method that any start proposes, best first.
fn candidates(
    by: IterationsBy,
    name: Option<&str>,
    (least, accepted): (usize, Accepted),
    starts: &[StartData],
) -> Vec<Rule> {
    let mut votes: Vec<(Rule, usize)> = Vec::new();
    let mut vote = |rule: Rule| match votes.iter_mut().find(|(other, _)| *other == rule) {
        Some((_, votes)) => *votes += 1,
        None => votes.push((rule, 1)),
    };
    match (by, name) {
        (IterationsBy::Nvtx, Some(name)) => vote(Rule::Nvtx(name.to_owned())),
        (IterationsBy::Nvtx, None) => {
            let rules = starts.iter().filter_map(|s| nvtx::propose(s, least));
            let own: Vec<Rule> = rules.collect();
            let modules = starts.iter().filter_map(|s| nvtx::propose_xla(s, least));
            // Ranges of the program take precedence over those of a library.
            if own.is_empty() {
                modules.map(Rule::Xla).for_each(&mut vote);
            }
            own.into_iter().for_each(&mut vote);
        }
        (IterationsBy::Python, Some(name)) => vote(Rule::Function(name.to_owned())),
        (IterationsBy::Python, None) => {
            // A start may propose several rules; more specific ones are tried first.
            let offers: Vec<Vec<Rule>> = starts.iter().map(|s| python::propose(s, least)).collect();
            let most = offers.iter().map(Vec::len).max().unwrap_or(0);
            let mut ordered: Vec<Rule> = Vec::new();
            for index in 0..most {
                for offer in &offers {
                    if let Some(rule) = offer.get(index).filter(|rule| !ordered.contains(rule)) {
                        ordered.push(rule.clone());
                    }
                }
            }
            ordered.sort_by_key(python::rank);
            // Iterations named by the program come first, even inside others.
            let named = ordered.partition_point(|rule| matches!(rule, Rule::Named(_)));
            functions::outermost_first(&mut ordered[named..], starts);
            return ordered;
        }
        (IterationsBy::Kernels, _) if accepted == Accepted::LastKernels => {
            vote(Rule::LastKernels);
        }
        (IterationsBy::Kernels, _) => vote(Rule::Kernels),
        (IterationsBy::Timers, _) => {
            let different_lines = accepted == Accepted::Any;
            let offers = starts
                .iter()
                .map(|start| timers::propose(start, least, different_lines));
            let some = offers.filter(|keys| !keys.is_empty());
            some.map(Rule::Timers).for_each(&mut vote);
        }
        (IterationsBy::Lines, _) => vote(Rule::Lines),
        (IterationsBy::None, _) => {}
    }
    votes.sort_by_key(|(_, votes)| std::cmp::Reverse(*votes));
    votes.into_iter().map(|(rule, _)| rule).collect()
}

fn apply(rule: &Rule, start: &StartData) -> Option<Detected> {
    let mut found = match rule {
        Rule::Nvtx(name) => nvtx::find(start, name),
        Rule::Xla(name) => nvtx::find_xla(start, name),
        Rule::Optimizer(name) => python::steps(start, name),
        Rule::Keras(what) => python::keras(start, *what),
        Rule::Model(name) => python::calls(start, name),
        Rule::Models => python::calls_of_all(start),
        Rule::Backward => python::backward(start),
        Rule::Function(name) => functions::find(start, name),
        Rule::Compiled(name) => functions::find_compiled(start, name),
        Rule::Named(name) => functions::find_named(start, name),
        Rule::Kernels => kernels::find(start),
        Rule::LastKernels => kernels::find_last(start),
        Rule::Timers(keys) => timers::find(start, keys),
        Rule::Lines => lines::find(start),
    }?;
    make_disjoint(&mut found.iterations);
    Some(found)
}

/// Makes iterations disjoint, and drops empty ones.
fn make_disjoint(iterations: &mut Vec<(u64, u64)>) {
    let mut last = 0;
    iterations.retain_mut(|(begin, end)| {
        *begin = (*begin).max(last);
        let is_valid = begin < end;
        if is_valid {
            last = *end;
        }
        is_valid
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_follow_each_other() {
        let mut iterations = vec![(5, 10), (8, 12), (9, 11), (20, 20), (30, 40)];
        make_disjoint(&mut iterations);
        assert_eq!(iterations, [(5, 10), (10, 12), (30, 40)]);
    }
}
