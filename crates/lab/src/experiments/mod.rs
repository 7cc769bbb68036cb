//! The native experiments, one file for each group of related ones.
//!
//! Each gets a device that this process has not touched yet, executes its steps in order
//! and passes the times to the recorder. Device work is asynchronous: timed work ends with
//! a synchronization, except where its absence is the point.

mod alloc;
mod infer;
mod launch;
mod train;
mod transfer;

use std::fmt;
use std::io;
use std::time::Instant;

use preheat_device::{Context, Device, Error};
use preheat_model::lab::{ExperimentId, names};

use crate::recorder::{Job, Recorder, timed};

/// The 1024×1024 float32 tensor that the claims refer to.
const TENSOR: usize = 4 << 20;

/// The reason an experiment ended early.
#[derive(Debug)]
pub enum Stop {
    /// A device operation failed.
    Device(Error),
    /// The result could not be written.
    Output(io::Error),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Device(error) => error.fmt(f),
            Stop::Output(error) => write!(f, "cannot write the result: {error}"),
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Device(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Output(error)
    }
}

type Result<T = (), E = Stop> = std::result::Result<T, E>;

/// The variants of a native experiment; each runs in its own processes.
pub fn variants(experiment: ExperimentId) -> &'static [&'static str] {
    match experiment {
        ExperimentId::Alloc | ExperimentId::Transfer => &["", names::SWEEP],
        ExperimentId::Prealloc => &[
            names::AFTER_NOTHING,
            names::AFTER_HELD,
            names::AFTER_RELEASED,
        ],
        ExperimentId::Train => &[names::MODEL_FROM_NOTHING, names::MODEL_ON_DEVICE],
        ExperimentId::TrainInitialized => &[
            names::MODEL_FROM_NOTHING,
            names::MODEL_ON_DEVICE,
            names::MODEL_AFTER_PAUSE,
        ],
        ExperimentId::TrainNoOptimizer => &[
            names::NO_OPTIMIZER,
            names::NO_OPTIMIZER_ON_DEVICE,
            names::FORWARD_ONLY,
        ],
        ExperimentId::Infer => &[
            names::MLP,
            names::CONV,
            names::MLP_LARGE,
            names::MLP_ON_DEVICE,
            names::MLP_LARGE_ON_DEVICE,
        ],
        ExperimentId::Launch => &[names::CACHE_EMPTY, names::CACHE_FILLED],
        _ => &[""],
    }
}

/// Runs the job's experiment on an untouched device.
pub fn run(job: &Job, device: Box<dyn Device>, recorder: &mut Recorder) -> Result {
    let mut bench = Bench {
        device,
        recorder,
        quick: job.quick,
        variant: &job.variant,
    };
    match job.experiment {
        ExperimentId::Init => initialize(&mut bench),
        ExperimentId::Alloc => alloc::run(&mut bench),
        ExperimentId::Transfer => transfer::run(&mut bench),
        ExperimentId::Prealloc => alloc::preallocate(&mut bench),
        ExperimentId::Train => train::run(&mut bench),
        ExperimentId::TrainInitialized => train::run_initialized(&mut bench),
        ExperimentId::TrainNoOptimizer => train::run_without_optimizer(&mut bench),
        ExperimentId::Infer => infer::run(&mut bench),
        ExperimentId::Launch => launch::run(&mut bench),
    }
}

/// Everything an experiment works with.
struct Bench<'a> {
    device: Box<dyn Device>,
    recorder: &'a mut Recorder,
    quick: bool,
    variant: &'a str,
}

impl Bench<'_> {
    /// `full`, or `quick` in a short run.
    fn pick(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }

    /// Returns true if model and input are on the device before the timer starts.
    fn model_on_device(&self) -> bool {
        self.variant.contains(names::MODEL_ON_DEVICE)
    }

    /// Initializes the device and creates a context; returns the seconds it took.
    fn bring_up(&mut self) -> Result<(f64, Box<dyn Context>)> {
        let start = Instant::now();
        self.device.initialize()?;
        let context = self.device.context()?;
        Ok((start.elapsed().as_secs_f64(), context))
    }
}

/// The sizes of a sweep: from 4 KiB in factors of four, up to `largest`.
fn sizes(largest: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(4 << 10), |size| Some(size * 4))
        .take_while(move |&size| size <= largest)
}

/// Iterations at one size of a sweep: enough to move about `volume` bytes, within bounds
/// that keep both the statistics and the run time sensible.
fn repetitions(size: usize, volume: usize, fewest: usize, most: usize) -> usize {
    (volume / size).clamp(fewest, most)
}

// `init`: the steps before a device can do any work.

fn initialize(bench: &mut Bench<'_>) -> Result {
    for stage in bench.device.initialize()? {
        bench.recorder.stage(stage.name.as_str(), stage.seconds)?;
    }
    let (seconds, context) = timed(|| bench.device.context())?;
    bench.recorder.stage(names::CREATE_CONTEXT, seconds)?;

    let (seconds, _stream) = timed(|| context.stream())?;
    bench.recorder.stage(names::CREATE_STREAM, seconds)?;

    let (seconds, _event) = timed(|| context.event())?;
    bench.recorder.stage(names::CREATE_EVENT, seconds)?;

    // Another context while the first is alive: the cost of a second model server in the
    // same process.
    let (seconds, _second) = timed(|| bench.device.context())?;
    bench.recorder.stage(names::SECOND_CONTEXT, seconds)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use preheat_device::StageName;

    use super::*;

    #[test]
    fn sweeps_include_the_sizes_of_the_claims() {
        let all: Vec<usize> = sizes(1 << 30).collect();
        assert_eq!(all.len(), 10);
        assert!(all.contains(&TENSOR));
        assert_eq!(all.last(), Some(&(1 << 30)));
    }

    #[test]
    fn stages_excluded_from_the_floor_are_device_stages() {
        let stages = StageName::ALL.map(StageName::as_str);
        assert!(names::COMPILATION.iter().all(|name| stages.contains(name)));
        let others = stages
            .iter()
            .filter(|name| !names::COMPILATION.contains(name));
        assert_eq!(
            others.copied().collect::<Vec<_>>(),
            [
                "load driver library",
                "initialize driver",
                "query device",
                "load"
            ]
        );
    }

    #[test]
    fn large_sizes_are_repeated_less() {
        assert_eq!(repetitions(1 << 30, 1 << 29, 3, 20), 3);
        assert_eq!(repetitions(4 << 10, 1 << 29, 3, 20), 20);
    }
}
