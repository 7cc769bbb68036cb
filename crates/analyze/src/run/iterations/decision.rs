//! The rule that is chosen for a recording, with the iterations that it finds and their description.

use super::super::timers::{Key, RegionName, listed};
use super::super::{
    FirstBegin, IterationRule, IterationUnit, IterationsBy, LineRule, NO_REPETITION,
};
use super::{Detected, Rule, StartData, functions, nvtx, python, timers};

/// The decision for a whole recording.
pub(in crate::run) struct Decision {
    pub by: IterationsBy,
    pub rule: Option<Rule>,
    /// True if a number distinguishes the optimizer from others of its class.
    pub(super) numbered: bool,
    /// The names of timed regions.
    pub(super) region_names: Vec<RegionName>,
    /// A single call or step of the program, if nothing repeats.
    pub once: Option<String>,
    /// The definition and the unit of the iterations that these regions time.
    pub(super) timed_iterations: Option<(String, IterationUnit)>,
    /// Indexed by start.
    pub found: Vec<Option<Detected>>,
}

impl Decision {
    pub(super) fn new(
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

    /// The iterations, with JAX and XLA calls ending when they return rather than at the next call.
    pub(super) fn returned(&self, starts: &[StartData]) -> Vec<Option<Detected>> {
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
    pub(super) fn timed_description(&self) -> String {
        match &self.rule {
            Some(Rule::Compiled(name)) => format!("calls of {name}, compiled by JAX"),
            _ => self.description(&IterationRule::Auto, 0),
        }
    }

    /// The unit that an iteration is.
    pub(in crate::run) fn unit(&self) -> Option<IterationUnit> {
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
    pub(in crate::run) fn timed_unit(&self) -> Option<IterationUnit> {
        let timed = self.timed_iterations.as_ref().map(|(_, unit)| *unit);
        timed.or_else(|| self.unit())
    }

    /// The regions whose executions are the iterations.
    pub(in crate::run) fn regions(&self) -> &[Key] {
        match &self.rule {
            Some(Rule::Timers(keys)) => keys,
            _ => &[],
        }
    }

    /// A human-readable definition of an iteration.
    pub(in crate::run) fn description(&self, setting: &IterationRule, shown: usize) -> String {
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
    pub(in crate::run) fn first_begin(&self) -> Option<FirstBegin> {
        let all = (self.found.iter().flatten()).filter_map(|found| found.first_begin);
        let mut all: Vec<FirstBegin> = all.collect();
        all.sort_by_key(|begin| begin.silent);
        Some(FirstBegin {
            known: all.iter().all(|begin| begin.known),
            ..*all.get(all.len() / 2)?
        })
    }
}
