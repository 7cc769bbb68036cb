//! Finds the iterations of a program.
//!
//! One rule is chosen for the whole recording, so that starts are comparable: the most
//! specific one that finds at least three iterations in most starts, or else two.
//! Iterations named with `preheat.iteration` take precedence over all others. NVTX ranges
//! are named by the author; steps and model calls are detected in Python; the period of the
//! kernel launches needs no cooperation; and regions that the program times itself are
//! those its author cares about. Lines of output count only on request.

mod begins;
mod functions;
mod kernels;
mod lines;
mod nvtx;
mod python;
mod timers;

use super::facts::Facts;
use super::timers::{Key, RegionName, Regions, listed};
use super::trace::{Iteration, StartTrace};
use super::{FirstBegin, IterationRule, IterationUnit, IterationsBy, LineRule, NO_REPETITION};

pub(super) use lines::{busiest, together};

/// This many occurrences are certainly a repetition.
const MIN_ITERATIONS: usize = 3;
/// A first and a second, for programs that do not repeat more often.
const FIRST_AND_SECOND: usize = 2;
/// Programs with fewer iterations rarely reach a steady state. If one times each of them, the report
/// shows the numbers that it prints.
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

/// The rules of a method that an attempt accepts.
#[derive(Clone, Copy, PartialEq)]
enum Accepted {
    /// Only iterations named by the program.
    Named,
    /// Steps and repeated timed regions, but not calls of models and functions. `candidates`
    /// leaves out timed regions of different lines.
    Steps,
    /// Whole predictions and evaluations of Keras, if nothing better repeats: not their steps.
    Whole,
    /// All rules of repetitions.
    Any,
    /// Backward calls of tensors, which leave out what the program does before them.
    Backward,
    /// Kernel launches that occur twice after set-up.
    LastKernels,
    /// Calls of different models, which are listed and not compared.
    DifferentModels,
    /// Repetitions that threads or processes run at the same time, once each.
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
    /// Other threads that iterate by the same rule, by the end of their first iteration.
    pub others: Vec<Other>,
    /// Iterations that are left out because they begin during another one of the thread.
    pub concurrent: usize,
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

/// The decision for a whole recording.
pub(super) struct Decision {
    pub by: IterationsBy,
    pub rule: Option<Rule>,
    /// True if a number distinguishes the optimizer from others of its class.
    numbered: bool,
    /// The names of timed regions.
    region_names: Vec<RegionName>,
    /// A single call or step of the program, if nothing repeats.
    pub once: Option<String>,
    /// The definition and the unit of the iterations that these regions time.
    timed_iterations: Option<(String, IterationUnit)>,
    /// Indexed by start.
    pub found: Vec<Option<Detected>>,
}

/// A method to find iterations, the number it has to find, and the rules it accepts.
type Attempt = (IterationsBy, usize, Accepted);

/// The attempts of `auto`: iterations named by the program, even if rare; repetitions, most
/// specific first; pairs; regions that the program times once; calls of different models; kernels
/// that are launched twice after set-up. A model that is called twice is often called within a
/// timed region, such as a backward pass without an optimizer. Two predictions take precedence over their steps. Steps and timed
/// regions around calls take precedence over the calls ([`enclosing`]).
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
            // Not if training steps, or calls of a function around them, repeat too.
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

/// Replaces calls by what the program repeats around them: two steps of an optimizer that
/// accumulates gradients, two requests to a language model that calls it for each token, or
/// regions that it times around a few calls each.
fn enclosing(decision: Decision, starts: &[StartData]) -> Decision {
    let calls = matches!(
        decision.rule,
        Some(Rule::Model(_) | Rule::Function(_) | Rule::Compiled(_))
    );
    if !calls {
        return decision;
    }
    let calls = decision.returned(starts);
    let around = |rule: &Rule, outer: &[Option<Detected>]| {
        let mut both = (outer.iter().zip(&calls)).filter(|(_, inner)| inner.is_some());
        both.all(|(outer, inner)| {
            let both = outer.as_ref().zip(inner.as_ref());
            both.is_some_and(|(outer, inner)| {
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
    for rule in steps.chain(regions) {
        let by = match rule {
            Rule::Timers(_) => IterationsBy::Timers,
            _ => IterationsBy::Python,
        };
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
fn as_timed(decision: Decision, starts: &[StartData]) -> Decision {
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
        timed_iterations: (decision.unit()).map(|unit| (decision.timed_words(), unit)),
        region_names: timers::names(starts, keys),
        once: None,
        found: starts.iter().map(|start| apply(&rule, start)).collect(),
        rule: Some(rule),
        numbered: false,
    }
}

/// The starts of which a majority must support a method: those that were recorded. If some
/// succeeded, failed and interrupted ones are ignored.
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
            for place in 0..most {
                for offer in &offers {
                    if let Some(rule) = offer.get(place).filter(|rule| !ordered.contains(rule)) {
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
        (IterationsBy::Kernels, _) => match accepted {
            Accepted::LastKernels => vote(Rule::LastKernels),
            _ => vote(Rule::Kernels),
        },
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

impl Decision {
    fn new(
        by: IterationsBy,
        rule: Rule,
        found: Vec<Option<Detected>>,
        starts: &[StartData],
    ) -> Decision {
        let numbered = match &rule {
            Rule::Optimizer(name) => python::has_siblings(starts, name),
            _ => false,
        };
        let region_names = match &rule {
            Rule::Timers(keys) => timers::names(starts, keys),
            _ => Vec::new(),
        };
        Decision {
            by,
            rule: Some(rule),
            numbered,
            region_names,
            once: None,
            timed_iterations: None,
            found,
        }
    }

    /// The iterations. Calls that last until the next call (of JAX and XLA) end here when they return.
    fn returned(&self, starts: &[StartData]) -> Vec<Option<Detected>> {
        let returned = |start| match &self.rule {
            Some(Rule::Compiled(name)) => functions::find_dispatches(start, name),
            Some(Rule::Xla(name)) => nvtx::find_xla_runs(start, name),
            _ => None,
        };
        let both = starts.iter().zip(&self.found);
        both.map(|(start, found)| {
            returned(start)
                .filter(|_| found.is_some())
                .or(found.clone())
        })
        .collect()
    }

    /// A definition of iterations whose begins and ends the timers of the program define.
    fn timed_words(&self) -> String {
        match &self.rule {
            Some(Rule::Compiled(name)) => format!("calls of {name}, compiled by JAX"),
            _ => self.words(&IterationRule::Auto, 0),
        }
    }

    /// The unit that an iteration is.
    pub(super) fn unit(&self) -> Option<IterationUnit> {
        self.rule.as_ref().map(|rule| match rule {
            Rule::Nvtx(_) => IterationUnit::Range,
            Rule::Xla(_) => IterationUnit::CompiledModule,
            Rule::Optimizer(_) => IterationUnit::OptimizerStep,
            Rule::Keras(which) => python::keras_unit(*which),
            Rule::Model(_) => IterationUnit::ModelCall,
            Rule::Models => IterationUnit::Models,
            Rule::Function(_) | Rule::Backward => IterationUnit::FunctionCall,
            Rule::Compiled(_) => IterationUnit::CompiledCall,
            Rule::Named(_) => IterationUnit::Named,
            Rule::Kernels | Rule::LastKernels => IterationUnit::Launches,
            Rule::Timers(_) => IterationUnit::Region,
            Rule::Lines => IterationUnit::Line,
        })
    }

    /// The unit of the iterations, or of those that regions time.
    pub(super) fn timed_unit(&self) -> Option<IterationUnit> {
        let timed = self.timed_iterations.as_ref().map(|(_, unit)| *unit);
        timed.or_else(|| self.unit())
    }

    /// The regions whose executions are the iterations.
    pub(super) fn regions(&self) -> &[Key] {
        match &self.rule {
            Some(Rule::Timers(keys)) => keys,
            _ => &[],
        }
    }

    /// A human-readable definition of an iteration.
    pub(super) fn words(&self, setting: &IterationRule, shown: usize) -> String {
        match &self.rule {
            None => (self.once.clone()).unwrap_or_else(|| NO_REPETITION.to_owned()),
            Some(Rule::Nvtx(name)) => format!("NVTX ranges named {name}"),
            Some(Rule::Xla(name)) => format!("runs of {name}, compiled by XLA"),
            Some(Rule::Optimizer(name)) if self.numbered => format!("steps of {name}"),
            Some(Rule::Optimizer(name)) => format!("steps of {}", python::class_of(name)),
            Some(Rule::Models) => "calls of different models".to_owned(),
            Some(Rule::Backward) => "calls of backward".to_owned(),
            Some(Rule::Keras(which)) => python::keras_words(*which).to_owned(),
            Some(Rule::Model(name) | Rule::Function(name)) => format!("calls of {name}"),
            Some(Rule::Compiled(name)) => {
                format!("calls of {name}, compiled by JAX; each until the next one")
            }
            Some(Rule::Named(name)) => format!("{name}, named by the program"),
            Some(Rule::Kernels | Rule::LastKernels) => {
                let found = self.found.get(shown).and_then(Option::as_ref);
                let found = found.or_else(|| self.found.iter().flatten().next());
                let what = match found.map_or(0, |found| found.period) {
                    1 => "kernel launches".to_owned(),
                    period => format!("the period of {period} kernel launches"),
                };
                match found.map_or("", |found| &found.begins) {
                    "" => what,
                    begins => format!("{what}; {begins}"),
                }
            }
            Some(Rule::Timers(_)) => match &self.timed_iterations {
                Some((times, _)) => format!("{times}, as timed at {}", listed(&self.region_names)),
                None => format!("{}, timed by the program", listed(&self.region_names)),
            },
            Some(Rule::Lines) => {
                let IterationRule::Lines(LineRule { begin, end }) = setting else {
                    return "lines of output".to_owned();
                };
                match begin {
                    Some(begin) => format!(
                        "from a line that matches {begin} to the next line that matches {end}"
                    ),
                    None => format!(
                        "from one line that matches {end} to the next; the first from {}",
                        self.first_line(shown)
                    ),
                }
            }
        }
    }
}

impl Decision {
    /// The beginning of the first iteration that a line ends.
    fn first_line(&self, shown: usize) -> String {
        let found = self.found.get(shown).and_then(Option::as_ref);
        match found.and_then(|found| found.first_begin) {
            Some(FirstBegin {
                known: true,
                silent,
            }) => {
                let after = match silent {
                    0 => String::new(),
                    1 => ", after a warm-up iteration without output".to_owned(),
                    count => format!(", after {count} warm-up iterations without output"),
                };
                format!("where its own work begins{after}")
            }
            _ => "the last import, or the last other line of the program".to_owned(),
        }
    }

    /// The evidence for the beginning of the first iterations; the median number of warm-up
    /// iterations.
    pub(super) fn first_begin(&self) -> Option<FirstBegin> {
        let all = (self.found.iter().flatten()).filter_map(|found| found.first_begin);
        let mut all: Vec<FirstBegin> = all.collect();
        all.sort_by_key(|begin| begin.silent);
        Some(FirstBegin {
            known: all.iter().all(|begin| begin.known),
            ..*all.get(all.len() / 2)?
        })
    }
}

/// A thread with at most this share of the iterations of the busiest thread is doing
/// something else.
const MINOR_THREAD_SHARE: f64 = 0.1;

/// The iterations of the thread whose first iteration ends first, with the other threads
/// that iterate.
fn earliest(
    start: &StartData,
    iterations_of: impl Fn(&Facts, usize) -> Vec<(u64, u64)>,
) -> Option<Detected> {
    let mut all = Vec::new();
    for (process, facts) in start.facts.iter().enumerate() {
        for thread in 0..facts.process.threads.len() {
            all.push(Detected {
                process,
                thread,
                iterations: iterations_of(facts, thread),
                ..Detected::default()
            });
        }
    }
    earliest_of(all)
}

/// Selects the one whose first iteration ends first, and lists the others in it.
fn earliest_of(mut all: Vec<Detected>) -> Option<Detected> {
    let mut most = all.iter().map(|found| found.iterations.len()).max()?;
    if let Some(joined) =
        joined(&all).filter(|joined| most < MIN_ITERATIONS.min(joined.iterations.len()))
    {
        most = joined.iterations.len();
        all.retain(|found| found.process != joined.process);
        all.push(joined);
    }
    all.retain(|found| {
        let count = found.iterations.len();
        count >= most.min(MIN_ITERATIONS) && count as f64 > MINOR_THREAD_SHARE * most as f64
    });
    let end = |found: &Detected| found.iterations.first().map_or(u64::MAX, |first| first.1);
    all.sort_by_key(end);
    let mut all = all.into_iter();
    let mut found = all.next()?;
    found.others = all
        .map(|other| Other {
            process: other.process,
            thread: other.thread,
            count: other.iterations.len(),
            first: end(&other),
        })
        .collect();
    Some(found)
}

/// The iterations that several threads of a process run one after the other, such as a thread
/// for each request. Those that begin during another one are left out.
fn joined(all: &[Detected]) -> Option<Detected> {
    let first = |found: &&Detected| found.iterations.first().map(|first| first.1);
    let earliest = (all.iter().filter(|found| !found.iterations.is_empty())).min_by_key(first)?;
    let mut each: Vec<((u64, u64), usize)> = (all.iter())
        .filter(|found| found.process == earliest.process)
        .flat_map(|found| found.iterations.iter().map(|times| (*times, found.thread)))
        .collect();
    each.sort_unstable();
    let mut last = 0;
    each.retain(|((begin, end), _)| {
        let is_separate = *begin >= last && begin < end;
        if is_separate {
            last = *end;
        }
        is_separate
    });
    Some(Detected {
        process: earliest.process,
        thread: each.first()?.1,
        iterations: each.iter().map(|(times, _)| *times).collect(),
        threads: each.iter().map(|(_, thread)| *thread).collect(),
        ..Detected::default()
    })
}

/// The process and thread with the highest `count`; the earliest of equals.
fn most(start: &StartData, count: impl Fn(&Facts, usize) -> usize) -> Option<(usize, usize)> {
    let mut best = None;
    let mut highest = 0;
    for (process, facts) in start.facts.iter().enumerate() {
        for thread in 0..facts.process.threads.len() {
            let count = count(facts, thread);
            if count > highest {
                (best, highest) = (Some((process, thread)), count);
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_first_result_counts_and_the_others_are_listed() {
        let found = |thread: usize, count: usize, begin: u64| Detected {
            thread,
            iterations: (0..count as u64)
                .map(|i| (begin + 10 * i, begin + 10 * i + 5))
                .collect(),
            ..Detected::default()
        };
        let all = vec![
            found(0, 60, 50),
            found(1, 30, 20),
            // A few warm-up calls, and a thread without any.
            found(2, 2, 1),
            found(3, 0, 0),
        ];
        let chosen = earliest_of(all).expect("one of them");
        assert_eq!((chosen.thread, chosen.iterations.len()), (1, 30));
        let others: Vec<_> = chosen
            .others
            .iter()
            .map(|other| (other.thread, other.count, other.first))
            .collect();
        assert_eq!(others, [(0, 60, 55)]);
        assert_eq!(earliest_of(Vec::new()), None);
        // One iteration each, at the same time.
        let one = earliest_of(vec![found(0, 1, 5), found(1, 1, 3)]).expect("one of them");
        assert_eq!((one.thread, one.iterations.len()), (1, 1));
        assert_eq!((one.threads.len(), one.others.len()), (0, 1));
    }

    #[test]
    fn threads_that_follow_each_other_share_the_iterations() {
        let found = |process: usize, thread: usize, iterations: &[(u64, u64)]| Detected {
            process,
            thread,
            iterations: iterations.to_vec(),
            ..Detected::default()
        };
        let all = vec![
            found(0, 2, &[(20, 25)]),
            found(0, 1, &[(10, 15), (30, 35)]),
            // It overlaps another one.
            found(0, 3, &[(33, 36)]),
            found(1, 0, &[(12, 18)]),
        ];
        let joined = earliest_of(all).expect("they follow each other");
        assert_eq!(joined.iterations, [(10, 15), (20, 25), (30, 35)]);
        assert_eq!((joined.thread, &joined.threads[..]), (1, &[1, 2, 1][..]));
        assert_eq!(joined.all_threads(), [1, 2]);
        // Three iterations of one thread are enough.
        let loops = [(20, 25), (30, 35), (40, 45)];
        let alone = earliest_of(vec![found(0, 1, &[(10, 15)]), found(0, 2, &loops)]);
        assert_eq!(alone.map(|found| found.iterations.len()), Some(3));
    }

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

    #[test]
    fn iterations_follow_each_other() {
        let mut iterations = vec![(5, 10), (8, 12), (9, 11), (20, 20), (30, 40)];
        make_disjoint(&mut iterations);
        assert_eq!(iterations, [(5, 10), (10, 12), (30, 40)]);
    }
}
