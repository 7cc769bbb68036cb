//! The experiments of the made-up report that run in a framework.

use preheat_model::lab::names;
use preheat_model::lab::{Experiment, ExperimentId, Failure};

use super::experiment;
use super::experiments::{CPU_SKIP, MIB, skip};
use super::noise::{counted, memory, once, repeated};

/// PyTorch on a device; `cold` scales the one-time costs.
pub fn torch(device: &str, cold: f64) -> Vec<Experiment> {
    let gpu = device == "cuda";
    let with = |id, series| Experiment {
        series,
        ..experiment(id, device, Some("torch"))
    };
    let before = |variant: &str| {
        let mut stages = vec![once(names::IMPORT, variant, 3.21, 1.9)];
        if gpu {
            stages.push(once(names::INITIALIZE, variant, 0.204, 1.2));
        }
        stages.push(once(names::BUILD_MODEL, variant, 0.0121 * cold, 1.0));
        stages
    };
    let steady = if gpu { 8.3e-4 } else { 9.0e-5 };
    let iteration = |variant, part: f64| {
        repeated(
            names::ITERATION,
            variant,
            (0.209 * cold * part, steady * part),
            200,
            1.15,
        )
    };
    let optimizer = |variant| once(names::BUILD_OPTIMIZER, variant, 3.84, 1.6);
    let mut train = before("");
    train.extend([
        optimizer(""),
        iteration("", 1.0),
        counted(names::RECORDINGS, "", 1.0, 200),
    ]);
    let mut initialized = before("");
    initialized.extend([optimizer(""), iteration("", 0.47)]);
    let mut less = before(names::NO_OPTIMIZER);
    less.push(iteration(names::NO_OPTIMIZER, 0.94));
    less.extend(before(names::FORWARD_ONLY));
    less.push(iteration(names::FORWARD_ONLY, 0.41));
    less.push(repeated(
        names::FORWARD_RECORDING,
        names::FORWARD_ONLY,
        (1.9e-4, 1.7e-4),
        200,
        1.0,
    ));
    less.push(repeated(
        names::FORWARD_PLAIN,
        names::FORWARD_ONLY,
        (1.6e-4, 1.5e-4),
        200,
        1.0,
    ));
    let infer = [
        (names::MLP, 1.0),
        (names::CONV, 3.4),
        (names::MLP_LARGE, 1.3),
    ]
    .into_iter()
    .flat_map(|(variant, more)| {
        let mut series = before(variant);
        series.extend([
            repeated(
                names::FRESH_INPUT,
                variant,
                (0.31 * cold * more, 2.1e-4 * more),
                100,
                1.2,
            ),
            repeated(
                names::RESIDENT_INPUT,
                variant,
                (1.9e-4, 1.7e-4 * more),
                100,
                1.0,
            ),
            memory(names::HOST_MEMORY, variant, 412 * MIB, 1310 * MIB, 100),
        ]);
        if gpu {
            series.push(memory(
                names::DEVICE_MEMORY,
                variant,
                541 * MIB,
                835 * MIB,
                100,
            ));
        }
        series
    })
    .collect();
    let mut infer = with(ExperimentId::Infer, infer);
    if gpu {
        infer.failures = [1, 3]
            .map(|start| Failure {
                variant: names::CONV.to_owned(),
                start,
                what: "the process was killed by signal 9 (SIGKILL); the machine may have run out \
                       of memory: close other programs and try again"
                    .to_owned(),
            })
            .to_vec();
    } else {
        infer.skipped.push(skip(names::DEVICE_MEMORY, CPU_SKIP));
    }
    vec![
        with(ExperimentId::Train, train),
        with(ExperimentId::TrainInitialized, initialized),
        with(ExperimentId::TrainNoOptimizer, less),
        infer,
    ]
}
