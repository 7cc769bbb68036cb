//! Runs a plan, one fresh process after another, in an order that suits its time budget.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use preheat_device::{Cache, Kind};
use preheat_host::interrupt::interrupted;
use preheat_host::{Scratch, machine, now_rfc3339};
use preheat_model::lab::{Measured, Outcome, Settings, Setup, Start, names};
use preheat_model::stats::{MIN_STARTS, Rng};

use crate::plan::{Plan, PlannedSetup};
use crate::process::{self, CHILD_ARGUMENT};
use crate::recorder::Job;

/// A setup is abandoned after this many consecutive failures.
const FAILURES_IN_A_ROW: usize = 2;

/// The state of a run, for a progress bar.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Completed starts.
    pub done: usize,
    /// Planned starts.
    pub total: usize,
    /// The next start.
    pub next: String,
    /// Time since the run began.
    pub elapsed: Duration,
    /// The used fraction of the time budget, from 0 to 1, if there is one.
    pub budget_used: Option<f64>,
}

/// Runs the plan and returns the results; `command` is stored with them. Fails only if no
/// process could be started at all.
pub fn run(
    plan: &Plan,
    command: Vec<String>,
    mut progress: impl FnMut(&Progress),
) -> io::Result<Measured> {
    let created = now_rfc3339();
    let mut runner = Runner::new(plan)?;
    let wanted: Vec<Wanted> = plan.setups.iter().map(wanted).collect();
    let order = schedule(&wanted, plan.seed, plan.quick);
    let begun = Instant::now();
    let mut setups: Vec<Running> = plan.setups.iter().map(|_| Running::default()).collect();
    let mut over_budget = 0;
    let mut ended_early = None;
    for (done, &index) in order.iter().enumerate() {
        let elapsed = begun.elapsed();
        let budget = plan.budget.map(|budget| budget.as_secs_f64());
        progress(&Progress {
            done,
            total: order.len(),
            next: label(&plan.setups[index]),
            elapsed,
            budget_used: budget.map(|budget| elapsed.as_secs_f64() / budget),
        });
        let setup = &mut setups[index];
        if setup.given_up() {
            continue;
        }
        // Assume the duration of the last one: the first may have been cold.
        let expected = elapsed + setup.last;
        // Everything is measured once, except for the details of a quick run.
        let detail = plan.setups[index].priority == Priority::Detail;
        let may_wait = !setup.starts.is_empty() || plan.quick && detail;
        if may_wait && plan.budget.is_some_and(|budget| expected > budget) {
            over_budget += 1;
            continue;
        }
        let start = Instant::now();
        let Some(result) = runner.start(index)? else {
            ended_early = Some(format!(
                "interrupted after {} of {} starts; the results so far are shown",
                setups.iter().map(|setup| setup.starts.len()).sum::<usize>(),
                order.len()
            ));
            break;
        };
        setup.last = start.elapsed();
        setup.starts.push(result);
    }
    if over_budget > 0 && ended_early.is_none() {
        let budget = plan.budget.map_or(0.0, |budget| budget.as_secs_f64());
        ended_early = Some(format!(
            "{} of {} starts fit the time budget of {budget} s; use --budget SECONDS for more, or --starts N to run all",
            setups.iter().map(|setup| setup.starts.len()).sum::<usize>(),
            order.len()
        ));
    }
    Ok(Measured {
        command,
        created,
        settings: Settings {
            seed: plan.seed,
            starts: plan.starts,
            quick: plan.quick,
            ended_early,
        },
        machine: machine(),
        devices: plan.devices.clone(),
        frameworks: plan.frameworks.clone(),
        setups: plan
            .setups
            .iter()
            .zip(setups)
            .map(|(planned, running)| Setup {
                experiment: planned.experiment,
                subject: planned.subject.clone(),
                variant: planned.variant.to_owned(),
                starts: running.starts,
            })
            .collect(),
    })
}

/// The progress of one setup.
#[derive(Default)]
struct Running {
    starts: Vec<Start>,
    last: Duration,
}

impl Running {
    fn given_up(&self) -> bool {
        let failed = |start: &Start| matches!(start.outcome, Outcome::Failed(_));
        self.starts.len() >= FAILURES_IN_A_ROW
            && self.starts.iter().rev().take(FAILURES_IN_A_ROW).all(failed)
    }
}

fn wanted(setup: &PlannedSetup) -> Wanted {
    Wanted {
        starts: setup.starts,
        priority: setup.priority,
    }
}

fn label(setup: &PlannedSetup) -> String {
    let subject = setup.subject.label();
    match setup.variant {
        "" => format!("{} · {subject}", setup.experiment.id()),
        variant => format!("{} ({variant}) · {subject}", setup.experiment.id()),
    }
}

/// Starts the processes of a plan.
struct Runner<'a> {
    plan: &'a Plan,
    scratch: Scratch,
    program: PathBuf,
    scripts: Vec<Option<PathBuf>>,
    filled: Vec<Option<PathBuf>>,
    serial: usize,
}

impl<'a> Runner<'a> {
    fn new(plan: &'a Plan) -> io::Result<Runner<'a>> {
        let scratch = Scratch::new("lab")?;
        let scripts: io::Result<_> = plan
            .setups
            .iter()
            .map(|setup| {
                setup
                    .framework
                    .map(|f| f.write_script(scratch.path()))
                    .transpose()
            })
            .collect();
        Ok(Runner {
            plan,
            scripts: scripts?,
            scratch,
            program: std::env::current_exe()?,
            filled: vec![None; plan.setups.len()],
            serial: 0,
        })
    }

    /// Runs one start of a setup; `None` if the run was interrupted.
    fn start(&mut self, index: usize) -> io::Result<Option<Start>> {
        if interrupted() {
            return Ok(None);
        }
        let cache = match self.plan.setups[index].variant {
            names::CACHE_EMPTY => Some(self.new_directory("cache")?),
            names::CACHE_FILLED => match self.filled[index].clone() {
                Some(directory) => Some(directory),
                None => {
                    // An uncounted start fills the cache.
                    let directory = self.new_directory("cache")?;
                    match self.process(index, Some(directory.clone()))? {
                        None => return Ok(None),
                        // The cache was not filled: report that failure for this start.
                        Some(failed) if failed.outcome != Outcome::Completed => {
                            return Ok(Some(failed));
                        }
                        Some(_) => {}
                    }
                    self.filled[index] = Some(directory.clone());
                    Some(directory)
                }
            },
            _ => None,
        };
        self.process(index, cache)
    }

    fn new_directory(&mut self, name: &str) -> io::Result<PathBuf> {
        self.serial += 1;
        let path = self.scratch.path().join(format!("{name}-{}", self.serial));
        std::fs::create_dir(&path)?;
        Ok(path)
    }

    fn process(&mut self, index: usize, cache: Option<PathBuf>) -> io::Result<Option<Start>> {
        let setup = &self.plan.setups[index];
        self.serial += 1;
        let job = Job {
            experiment: setup.experiment,
            variant: setup.variant.to_owned(),
            device: setup.subject.device.clone(),
            quick: self.plan.quick,
            cache: cache.clone(),
            output: self.scratch.path().join(format!("start-{}", self.serial)),
        };
        let job_json = serde_json::to_string(&job)?;
        let mut command = match (&self.scripts[index], &self.plan.python) {
            (Some(script), Some(python)) => {
                let mut command = Command::new(python);
                command.arg(script).arg(job_json);
                command
            }
            _ => {
                let mut command = Command::new(&self.program);
                command.arg(CHILD_ARGUMENT).arg(job_json);
                if let Some(kind) = Kind::from_id(&job.device) {
                    let cache = cache.map_or(Cache::Off, Cache::Directory);
                    command.envs(cache.environment(kind));
                }
                command
            }
        };
        command.current_dir(self.scratch.path());
        let started = process::start(command, &job.output, self.plan.start_limit);
        started.or_else(|why| {
            // Too many processes, or no memory for one: this start failed, the run
            // continues.
            Ok(Some(Start {
                outcome: Outcome::Failed(format!("cannot start its process: {why}")),
                samples: Vec::new(),
                skipped: Vec::new(),
            }))
        })
    }
}

// The order in which the starts run.
//
// A time budget may cut the order off anywhere, so the most informative starts come first:
// one start of everything, then as many starts as an interval needs, priority by priority,
// then the rest.

/// The priority of a setup when time is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Claims depend on it, and a start takes a fraction of a second.
    Cheap,
    /// Claims depend on it, and a start takes seconds: a framework is imported.
    Expensive,
    /// No claim depends on it alone.
    Detail,
}

/// The starts of a setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Their number.
    pub starts: usize,
    /// Their priority over those of other setups.
    pub priority: Priority,
}

/// Starts needed for an interval: the first one does not count.
const INTERVAL: usize = MIN_STARTS + 1;

/// Returns the setup of each start, in order. Starts run in rounds with one start of every
/// unfinished setup of a priority, each round in a different order, so that drift of the
/// machine affects all setups alike. In a `quick` order, even the first starts of details
/// wait.
pub fn schedule(setups: &[Wanted], seed: u64, quick: bool) -> Vec<usize> {
    use Priority::{Cheap, Detail, Expensive};
    let mut rng = Rng::new(seed);
    let most = setups.iter().map(|setup| setup.starts).max().unwrap_or(0);
    let mut order = Vec::with_capacity(setups.iter().map(|setup| setup.starts).sum());
    let mut rounds = |rounds: std::ops::Range<usize>, of: &[Priority]| {
        for round in rounds {
            let mut round: Vec<usize> = (0..setups.len())
                .filter(|&setup| setups[setup].starts > round)
                .filter(|&setup| of.contains(&setups[setup].priority))
                .collect();
            rng.shuffle(&mut round);
            order.extend(round);
        }
    };
    rounds(0..1, &[Cheap, Expensive]);
    if !quick {
        rounds(0..1, &[Detail]);
    }
    rounds(1..INTERVAL, &[Cheap]);
    rounds(1..INTERVAL, &[Expensive]);
    rounds(usize::from(!quick)..INTERVAL, &[Detail]);
    rounds(INTERVAL..most, &[Cheap, Expensive, Detail]);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(starts: &[usize]) -> Vec<Wanted> {
        let wanted = |&starts| Wanted {
            starts,
            priority: Priority::Cheap,
        };
        starts.iter().map(wanted).collect()
    }

    #[test]
    fn expensive_setups_wait_until_the_others_have_an_interval() {
        let mut setups = all(&[6, 6, 6]);
        setups[0].priority = Priority::Detail;
        setups[1].priority = Priority::Expensive;
        for quick in [false, true] {
            let order = schedule(&setups, 7, quick);
            assert_eq!(order.len(), 18);
            let expected: [usize; 12] = match quick {
                // Even the first start of the detail waits.
                true => [1, 2, 2, 2, 2, 1, 1, 1, 0, 0, 0, 0],
                false => [1, 2, 0, 2, 2, 2, 1, 1, 1, 0, 0, 0],
            };
            let mut begun = order[..12].to_vec();
            begun[..2].sort_unstable();
            assert_eq!(begun, expected);
        }
    }

    #[test]
    fn every_setup_gets_its_starts_in_rounds() {
        let order = schedule(&all(&[3, 1, 2]), 7, false);
        assert_eq!(order.len(), 6);
        let mut first = order[..3].to_vec();
        first.sort_unstable();
        assert_eq!(first, [0, 1, 2]);
        assert_eq!(order.iter().filter(|&&setup| setup == 0).count(), 3);
    }

    #[test]
    fn the_seed_determines_the_order() {
        let setups = all(&[5; 9]);
        assert_eq!(schedule(&setups, 1, false), schedule(&setups, 1, false));
        assert_ne!(schedule(&setups, 1, false), schedule(&setups, 2, false));
    }
}
