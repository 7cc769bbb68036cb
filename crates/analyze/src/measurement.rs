//! Measured remedies: what each saved, what was predicted, and which are kept.
//!
//! Some starts of a program were plain, others had one or more remedies, and all of them
//! were interleaved ([`Configuration`]). The saving of a remedy is measured against plain starts
//! at the same temperature.
//!
//! A remedy may save time alone but not in combination with others: modules that are
//! already imported need not be prefetched. So the remedy that saves the most alone is kept
//! if its saving is significant, and any other one if all together are significantly faster
//! with it than without it. *Significant* means: adjusted for the number of tests (Holm), p
//! below 0.05, and at least [`MIN_SAVING`] of a plain start. A remedy that saves time at the
//! start but loses it again to slower iterations is not kept.
//!
//! Standbys are judged separately, since each is measured alone: one is kept if it saves
//! time on top of the warm parent that it belongs to, and the hot one only if it saves time
//! on top of the parked one, since it holds device memory.

use preheat_model::RemedyId;
use preheat_model::measurement::{
    ConfigurationResult, Decision, MEASUREMENT_SCHEMA, MeasurementReport, RemedyResult,
    SkippedRemedy,
};

use crate::run::{self, CauseSeconds, IterationsBy, RunReport, Temperature};
use crate::stats::Estimate;
use crate::stats::{geometric_difference, holm, mean, median, welch};

/// A kept remedy saves at least this fraction of a plain start.
const MIN_SAVING: f64 = 0.005;
/// The significance level.
const SIGNIFICANCE: f64 = 0.05;
/// Later iterations count as slower from this factor on, at this significance level; strict
/// enough that no remedy is lost to a machine that is busy with other work.
const SLOWER_FROM: f64 = 1.05;
const SLOWER_SIGNIFICANCE: f64 = 0.01;
/// Starts with fewer iterations do not show the speed of later ones: after a fork, the first
/// ones still copy pages.
const ITERATIONS: usize = 20;
/// The length of a run in which a remedy must not lose what it saves at the start. Longer
/// runs count in full.
const RUN: usize = 1000;

/// The starts of one configuration.
#[derive(Clone, Copy, Debug)]
pub struct Configuration<'a> {
    /// Their remedies; empty for plain starts.
    pub remedies: &'a [RemedyId],
    /// The temperature of the plain starts they are compared with; for plain starts, their
    /// own.
    pub against: Temperature,
    /// The path of the recording.
    pub recording: &'a str,
    /// The report on the recording.
    pub report: &'a RunReport,
}

/// Evaluates the starts of all configurations. `preheat` is the version of this program.
pub fn decide(
    configurations: &[Configuration],
    skipped: Vec<SkippedRemedy>,
    preheat: &str,
) -> MeasurementReport {
    let all = Measured::of(configurations);
    let plain = configurations
        .iter()
        .find(|configuration| configuration.remedies.is_empty());
    let shown: Vec<ConfigurationResult> =
        (0..configurations.len()).map(|at| all.shown(at)).collect();
    let remedies = all.decided(plain.map(|plain| plain.report));
    let kept = remedies.iter().filter(|result| result.kept.is_kept());
    let mut notes = Vec::new();
    let repeats = plain.is_some_and(|plain| plain.report.iterations_by != IterationsBy::None);
    if !all.to_first || !repeats {
        notes.push(
            "No iterations were found: times are those to the end of the program.".to_owned(),
        );
    }
    let failed: usize = (configurations.iter())
        .flat_map(|configuration| &configuration.report.starts)
        .filter(|start| start.exit_code != 0)
        .count();
    match failed {
        0 => {}
        1 => notes.push("One start failed, and does not count.".to_owned()),
        _ => notes.push(format!("{failed} starts failed, and do not count.")),
    }
    MeasurementReport {
        schema: MEASUREMENT_SCHEMA.to_owned(),
        preheat: preheat.to_owned(),
        created: plain.map_or_else(String::new, |plain| plain.report.created.clone()),
        machine: plain.map(|plain| plain.report.machine.clone()),
        command: plain.map_or_else(Vec::new, |plain| plain.report.command.clone()),
        iteration: (plain.filter(|_| repeats))
            .map_or_else(String::new, |plain| plain.report.iteration.clone()),
        configurations: shown,
        kept: kept.map(|result| result.id).collect(),
        remedies,
        skipped,
        interrupted: false,
        notes,
    }
}

/// A difference and its p-value.
#[derive(Clone, Copy, Debug)]
struct Difference {
    saved: Estimate,
    times: Estimate,
    p: f64,
}

/// The logarithms of the times of all configurations.
struct Measured<'a> {
    configurations: &'a [Configuration<'a>],
    logs: Vec<Vec<f64>>,
    to_first: bool,
}

impl<'a> Measured<'a> {
    fn of(configurations: &'a [Configuration<'a>]) -> Measured<'a> {
        let to_first = configurations.iter().all(|configuration| {
            let counted = run::counted(&configuration.report.starts, temperature(configuration));
            counted.recorded
        });
        let logs = (configurations.iter())
            .map(|configuration| {
                let times = times(configuration, to_first).into_iter();
                times.map(f64::ln).collect()
            })
            .collect();
        Measured {
            configurations,
            logs,
            to_first,
        }
    }

    fn shown(&self, at: usize) -> ConfigurationResult {
        let configuration = &self.configurations[at];
        let mean = mean(&self.logs[at]);
        let compared = self
            .find(&[], configuration.against)
            .filter(|_| !configuration.remedies.is_empty())
            .and_then(|plain| self.difference(plain, at));
        ConfigurationResult {
            remedies: configuration.remedies.to_vec(),
            against: configuration.against,
            recording: configuration.recording.to_owned(),
            time_to_first: mean.map(|mean| Estimate {
                value: mean.value.exp(),
                low: mean.interval.map(|(low, _)| low.exp()),
                high: mean.interval.map(|(_, high)| high.exp()),
            }),
            values: self.logs[at].iter().map(|log| log.exp()).collect(),
            causes: self.causes(at),
            saved: compared.map(|compared| compared.saved),
            times: compared.map(|compared| compared.times),
        }
    }

    /// The causes of the time to first.
    fn causes(&self, at: usize) -> Vec<CauseSeconds> {
        let mut causes: Vec<CauseSeconds> = (self.configurations[at].report.causes.iter())
            .filter(|_| self.to_first)
            .map(|of| CauseSeconds {
                cause: of.cause,
                seconds: of.seconds,
            })
            .collect();
        causes.sort_by_key(|of| of.cause);
        causes
    }

    /// The configuration with exactly these remedies.
    fn find(&self, remedies: &[RemedyId], against: Temperature) -> Option<usize> {
        self.configurations.iter().position(|configuration| {
            let same = remedies
                .iter()
                .all(|id| configuration.remedies.contains(id));
            configuration.against == against
                && configuration.remedies.len() == remedies.len()
                && same
        })
    }

    /// The saving of the second configuration over the first.
    fn difference(&self, first: usize, second: usize) -> Option<Difference> {
        let (first, second) = (&self.logs[first], &self.logs[second]);
        let tested = welch(second, first)?;
        let (low, high) = geometric_difference(second, first)?;
        let (from, to) = (mean(first)?.value.exp(), mean(second)?.value.exp());
        Some(Difference {
            saved: Estimate {
                value: from - to,
                low: Some(low),
                high: Some(high),
            },
            times: Estimate {
                value: from / to,
                low: Some(tested.low.exp()),
                high: Some(tested.high.exp()),
            },
            p: tested.p,
        })
    }

    /// Decides which remedies are kept, with the reason.
    fn decided(&self, plain: Option<&RunReport>) -> Vec<RemedyResult> {
        let mut remedies: Vec<Candidate> = Vec::new();
        for configuration in self.configurations {
            for &id in configuration.remedies {
                if remedies.iter().all(|known| known.id != id) {
                    remedies.push(self.candidate(id, configuration.against));
                }
            }
        }
        let tests: Vec<Option<f64>> = (remedies.iter())
            .flat_map(|candidate| [candidate.alone, candidate.beside])
            .map(|difference| difference.map(|difference| difference.p))
            .collect();
        let known: Vec<f64> = tests.iter().flatten().copied().collect();
        let mut adjusted = holm(&known).into_iter();
        let adjusted: Vec<f64> = (tests.iter())
            .map(|test| test.and_then(|_| adjusted.next()).unwrap_or(1.0))
            .collect();
        let saves = |at: usize| {
            let candidate = &remedies[at / 2];
            let difference = if at.is_multiple_of(2) {
                candidate.alone
            } else {
                candidate.beside
            };
            let least = MIN_SAVING * candidate.plain;
            difference.is_some_and(|of| adjusted[at] < SIGNIFICANCE && of.saved.value >= least)
        };
        let helps = |at: usize| !remedies[at / 2].slows && saves(at);
        // Savings relative to starts of different temperatures cannot be compared.
        let is_best = |at: usize| {
            let alike = (0..remedies.len())
                .filter(|other| remedies[*other].against == remedies[at].against)
                .filter(|other| !remedies[*other].id.is_standby() && helps(2 * other));
            let best = alike.max_by(|a, b| remedies[*a].saved().total_cmp(&remedies[*b].saved()));
            best == Some(at)
        };
        let decisions = remedies.iter().enumerate().map(|(at, candidate)| {
            let kept = match (candidate.alone, candidate.beside) {
                _ if candidate.slows && (saves(2 * at) || saves(2 * at + 1)) => Decision::Slows,
                _ if is_best(at) => Decision::Alone,
                (None, None) => Decision::NotMeasured,
                // A remedy without others can only be judged alone.
                (Some(_), None) if helps(2 * at) => Decision::Alone,
                (_, Some(_)) if helps(2 * at + 1) => Decision::WithOthers,
                (Some(of), None) | (_, Some(of))
                    if of.saved.high.is_some_and(|most| most < 0.0) =>
                {
                    Decision::Costs
                }
                _ => Decision::Unclear,
            };
            RemedyResult {
                id: candidate.id,
                predicted: plain.and_then(|plain| self.predicted(candidate, plain)),
                alone: candidate.alone.map(|of| of.saved),
                with_others: candidate.beside.map(|of| of.saved),
                holds: None,
                variables: Vec::new(),
                kept,
            }
        });
        let mut decisions: Vec<RemedyResult> = decisions.collect();
        self.choose_form(&mut decisions);
        decisions
    }

    /// Keeps one form of standby.
    fn choose_form(&self, decisions: &mut [RemedyResult]) {
        let kept = |of: &RemedyResult, id: RemedyId| of.id == id && of.kept.is_kept();
        let both = [RemedyId::StandbyParked, RemedyId::StandbyHot]
            .map(|id| decisions.iter().any(|of| kept(of, id)));
        if both != [true, true] {
            return;
        }
        let [parked, hot] = [RemedyId::StandbyParked, RemedyId::StandbyHot]
            .map(|id| self.find(&[id], Temperature::Process));
        let faster = parked
            .zip(hot)
            .and_then(|(parked, hot)| self.difference(parked, hot))
            .is_some_and(|of| of.p < SIGNIFICANCE && of.saved.value > 0.0);
        let other = if faster {
            RemedyId::StandbyParked
        } else {
            RemedyId::StandbyHot
        };
        for of in decisions.iter_mut().filter(|of| of.id == other) {
            of.kept = Decision::OtherForm;
        }
    }

    /// The saving that plain starts predict. Decision caches make a start with empty ones like
    /// one with filled ones, or like one that compiles nothing where the framework itself keeps
    /// no cache, as JAX does not.
    fn predicted(&self, candidate: &Candidate, plain: &RunReport) -> Option<f64> {
        let mut remedies = plain.remedies.iter();
        let by_plain = remedies.find(|remedy| remedy.id == candidate.id);
        let by_plain = by_plain.map(|remedy| remedy.saving);
        let by = match candidate.against {
            Temperature::Caches => {
                let filled = self.find(&[], Temperature::Process)?;
                let by_caches = candidate.plain - mean(&self.logs[filled])?.value.exp();
                by_caches.max(by_plain.unwrap_or(0.0))
            }
            _ => by_plain?,
        };
        Some(by).filter(|by| *by > 0.0)
    }

    /// Returns true if later iterations of the second configuration are slower than those of the
    /// first, by so much that a run loses what the second saves at the start.
    fn slows(&self, first: usize, second: usize) -> bool {
        let saved = self.difference(first, second).map(|of| of.saved.value);
        let [first, second] = [first, second].map(|at| &self.configurations[at]);
        if first.report.iteration != second.report.iteration {
            return false;
        }
        let starts = first.report.starts.iter();
        let longest = starts.map(|start| start.iterations.len()).max();
        let [first, second] = [first, second].map(later);
        let (Some(from), Some(to)) = (mean(&first), mean(&second)) else {
            return false;
        };
        let lost = (to.value.exp() - from.value.exp()) * longest.unwrap_or(0).max(RUN) as f64;
        to.value - from.value > SLOWER_FROM.ln()
            && lost > saved.unwrap_or(0.0)
            && welch(&second, &first).is_some_and(|tested| tested.p < SLOWER_SIGNIFICANCE)
    }

    fn candidate(&self, id: RemedyId, against: Temperature) -> Candidate {
        let single = self.find(&[id], against);
        let plain = self.find(&[], against);
        // All remedies together, and the same without this one.
        let together = (0..self.configurations.len())
            .filter(|at| self.configurations[*at].against == against)
            .max_by_key(|at| self.configurations[*at].remedies.len())
            .filter(|at| {
                let remedies = self.configurations[*at].remedies;
                remedies.len() > 1 && remedies.contains(&id)
            });
        let over_parent = || self.difference(self.find(&[RemedyId::WarmParent], against)?, single?);
        let beside = together.and_then(|together| {
            let all = self.configurations[together].remedies.iter();
            let others: Vec<RemedyId> = all.copied().filter(|other| *other != id).collect();
            self.difference(self.find(&others, against)?, together)
        });
        let beside = match id.is_standby() {
            true => over_parent(),
            false => beside,
        };
        let value = |at: Option<usize>| at.and_then(|at| mean(&self.logs[at]));
        let slows = plain.zip(single);
        Candidate {
            id,
            against,
            slows: slows.is_some_and(|(plain, single)| self.slows(plain, single)),
            plain: value(plain).map_or(0.0, |mean| mean.value.exp()),
            alone: plain
                .zip(single)
                .and_then(|(plain, single)| self.difference(plain, single)),
            beside,
        }
    }
}

/// The measurements of a remedy.
struct Candidate {
    id: RemedyId,
    /// The temperature of the plain starts it is compared with.
    against: Temperature,
    /// The time of a plain start at that temperature.
    plain: f64,
    /// True if it makes iterations after the first slower.
    slows: bool,
    alone: Option<Difference>,
    /// Its additional saving in combination with the others.
    beside: Option<Difference>,
}

impl Candidate {
    fn saved(&self) -> f64 {
        self.alone.map_or(f64::NEG_INFINITY, |of| of.saved.value)
    }
}

/// The temperature of a configuration's own starts: with kept caches, they are not cold.
fn temperature(configuration: &Configuration) -> Temperature {
    let has = |of: Temperature| {
        let mut starts = configuration.report.starts.iter();
        starts.any(|start| start.temperature == of)
    };
    match has(configuration.against) {
        true => configuration.against,
        false => Temperature::Process,
    }
}

/// The logarithm of the median later iteration, in each start that counts.
fn later(configuration: &Configuration) -> Vec<f64> {
    let counted = run::counted(&configuration.report.starts, temperature(configuration));
    let starts = counted.starts.into_iter();
    starts
        .filter(|start| start.exit_code == 0 && start.iterations.len() >= ITERATIONS)
        .filter_map(|start| median(&start.iterations[start.iterations.len() / 2..]))
        .filter(|time| *time > 0.0)
        .map(f64::ln)
        .collect()
}

/// The times of the starts that count.
fn times(configuration: &Configuration, to_first: bool) -> Vec<f64> {
    let counted = run::counted(&configuration.report.starts, temperature(configuration));
    let starts = counted.starts.into_iter();
    starts
        .filter(|start| start.exit_code == 0)
        .filter_map(|start| match to_first {
            true => start.time_to_first,
            false => Some(start.wall),
        })
        .filter(|time| *time > 0.0)
        .collect()
}
