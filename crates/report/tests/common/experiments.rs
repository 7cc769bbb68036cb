//! The native experiments of the made-up report, with the times of a machine with a large
//! GPU.

use preheat_model::lab::names::{self, CACHE_EMPTY, CACHE_FILLED};
use preheat_model::lab::{Experiment, ExperimentId, Series, Skipped};
use preheat_model::stats::Class;

use super::experiment;
use super::noise::{memory, once, repeated, swept};

pub const MIB: u64 = 1 << 20;

pub fn all() -> Vec<Experiment> {
    let mut all = native("cuda", 1.0);
    all.extend(super::frameworks::torch("cuda", 1.0));
    all.extend(native("cpu", 0.02));
    all.extend(super::frameworks::torch("cpu", 0.25));
    all
}

/// The native experiments; `cold` scales the one-time costs.
fn native(device: &str, cold: f64) -> Vec<Experiment> {
    let gpu = device == "cuda";
    let up = 0.23 * cold;
    let with = |id, series| Experiment {
        series,
        ..experiment(id, device, None)
    };
    let mut all = vec![
        with(ExperimentId::Init, init(cold)),
        with(ExperimentId::Alloc, alloc(up, gpu)),
        with(ExperimentId::Transfer, transfer(gpu)),
        with(ExperimentId::Prealloc, prealloc()),
        with(
            ExperimentId::Train,
            vec![repeated(
                names::ITERATION,
                "",
                (up + 0.028 * cold, 8.2e-5),
                200,
                1.2,
            )],
        ),
        with(
            ExperimentId::TrainInitialized,
            vec![
                once(names::INITIALIZE, "", up, 1.1),
                repeated(names::ITERATION, "", (0.028 * cold, 8.2e-5), 200, 1.2),
            ],
        ),
        with(
            ExperimentId::TrainNoOptimizer,
            vec![
                repeated(
                    names::ITERATION,
                    names::NO_OPTIMIZER,
                    (up + 0.026 * cold, 6.8e-5),
                    200,
                    1.1,
                ),
                repeated(
                    names::ITERATION,
                    names::FORWARD_ONLY,
                    (up + 0.025 * cold, 3.1e-5),
                    200,
                    1.1,
                ),
                repeated(
                    names::FORWARD_RECORDING,
                    names::FORWARD_ONLY,
                    (3.3e-5, 3.1e-5),
                    200,
                    1.0,
                ),
                repeated(
                    names::FORWARD_PLAIN,
                    names::FORWARD_ONLY,
                    (3.1e-5, 3.0e-5),
                    200,
                    1.0,
                ),
            ],
        ),
        with(ExperimentId::Infer, infer(up, cold, gpu)),
        with(ExperimentId::Launch, launch(cold)),
    ];
    let (what, why) = if gpu {
        (
            "allocate of 16384 MiB and more",
            "the device has no more memory: 1 GiB was the largest size requested",
        )
    } else {
        all[2].skipped.push(skip("pinned transfers", CPU_SKIP));
        (names::DEVICE_MEMORY, CPU_SKIP)
    };
    all[1].skipped.insert(0, skip(what, why));
    if !gpu {
        all[2].series.retain(|series| !series.name.contains("pin"));
    }
    all
}

pub const CPU_SKIP: &str = "the cpu device has no separate memory; run on a GPU to measure it";

pub fn skip(what: &str, why: &str) -> Skipped {
    Skipped {
        what: what.to_owned(),
        why: why.to_owned(),
    }
}

fn init(cold: f64) -> Vec<Series> {
    vec![
        once("load driver library", "", 1.52e-3 * cold, 9.4),
        once("initialize driver", "", 0.101 * cold, 1.3),
        once("query device", "", 2.1e-5, 1.0),
        once(names::CREATE_CONTEXT, "", 0.128 * cold, 1.1),
        once(names::CREATE_STREAM, "", 1.1e-5, 1.0),
        once(names::CREATE_EVENT, "", 1.4e-6, 1.0),
        once(names::SECOND_CONTEXT, "", 0.091 * cold, 1.0),
    ]
}

fn alloc(up: f64, gpu: bool) -> Vec<Series> {
    let mut series = vec![
        once(names::INITIALIZE, "", up, 1.1),
        repeated(names::CONTEXT_READY, "", (1.31e-4, 5.12e-5), 30, 1.1),
        repeated(names::FROM_NOTHING, "", (up + 1.31e-4, 5.12e-5), 30, 1.2),
        repeated(names::FREE_AND_AGAIN, "", (5.6e-5, 5.4e-5), 30, 1.0),
        repeated(names::FROM_POOL, "", (6.1e-5, 4.2e-7), 30, 1.0),
        repeated(names::AFTER_TRIM, "", (6.4e-5, 6.0e-5), 30, 1.0),
    ];
    if gpu {
        series[5].class = Some(Class::NoSteadyState);
    }
    series.extend((0..10).map(|step| {
        let size = 4096_u64 << (2 * step);
        let time = 4.0e-5 + size as f64 * 6.5e-14;
        swept(names::ALLOCATE, size, (time * 2.2, time))
    }));
    series
}

fn transfer(gpu: bool) -> Vec<Series> {
    let speed = if gpu { 1.0 } else { 0.3 };
    (0..9)
        .flat_map(|step| {
            let size = 4096_u64 << (2 * step);
            let copy = |bandwidth: f64| 6e-6 + size as f64 / (bandwidth * speed);
            let pair =
                |name, bandwidth| swept(name, size, (copy(bandwidth) * 1.9, copy(bandwidth)));
            let pin = 2.2e-4 + size as f64 * 5.2e-10;
            [
                pair(names::H2D_PAGEABLE, 13.4e9),
                pair(names::D2H_PAGEABLE, 9.8e9),
                swept(names::PIN, size, (pin * 1.4, pin)),
                pair(names::H2D_PINNED, 55.1e9),
                pair(names::D2H_PINNED, 52.7e9),
            ]
        })
        .collect()
}

fn prealloc() -> Vec<Series> {
    vec![
        repeated(
            names::ALLOCATE_4_MIB,
            names::AFTER_NOTHING,
            (1.31e-4, 5.1e-5),
            30,
            1.0,
        ),
        once(names::BIG_BLOCK, names::AFTER_HELD, 1.1e-4, 1.0),
        repeated(
            names::ALLOCATE_4_MIB,
            names::AFTER_HELD,
            (5.9e-5, 5.2e-5),
            30,
            1.0,
        ),
        once(names::BIG_BLOCK, names::AFTER_RELEASED, 1.1e-4, 1.0),
        repeated(
            names::ALLOCATE_4_MIB,
            names::AFTER_RELEASED,
            (4.4e-7, 4.2e-7),
            30,
            1.0,
        ),
    ]
}

fn infer(up: f64, cold: f64, gpu: bool) -> Vec<Series> {
    let size = [
        (names::MLP, 1.0, 6.1e-5),
        (names::CONV, 1.4, 9.3e-5),
        (names::MLP_LARGE, 1.9, 1.9e-4),
    ];
    size.into_iter()
        .flat_map(|(variant, more, steady)| {
            let kernels = 0.024 * cold * more;
            let first = up + kernels + 5e-4 * more + steady;
            let mut series = vec![
                repeated(names::FRESH_INPUT, variant, (first, steady), 100, 1.2),
                repeated(
                    names::COMPUTE,
                    variant,
                    (steady * 1.1, steady * 0.6),
                    100,
                    1.0,
                ),
                once(names::INITIALIZE, variant, up, 1.2),
                once(names::FIRST_KERNELS, variant, kernels, 1.2),
                once(names::FIRST_ALLOCATE, variant, 3.8e-4 * more, 1.0),
                once(names::FIRST_COPY, variant, 1.2e-4 * more, 1.0),
                once(names::FIRST_COMPUTE, variant, steady * 1.1, 1.0),
                memory(names::HOST_MEMORY, variant, 11 * MIB, 180 * MIB, 100),
                repeated(
                    names::RESIDENT_INPUT,
                    variant,
                    (steady * 0.8, steady * 0.7),
                    100,
                    1.0,
                ),
            ];
            if gpu {
                series.push(memory(names::DEVICE_MEMORY, variant, 0, 541 * MIB, 100));
            }
            series
        })
        .collect()
}

fn launch(cold: f64) -> Vec<Series> {
    let stages = |variant: &'static str, intermediate: f64, code: f64| {
        let compile = (intermediate + code) * cold;
        let mut series: Vec<Series> = init(cold)
            .into_iter()
            .take(4)
            .map(|series| Series {
                variant: variant.to_owned(),
                ..series
            })
            .collect();
        series.push(once(
            "source to intermediate",
            variant,
            intermediate * cold,
            1.1,
        ));
        if variant == CACHE_FILLED {
            series.push(once("read compile cache", variant, 2.6e-4, 1.8));
        } else {
            series.push(once(
                "intermediate to machine code",
                variant,
                code * cold,
                1.1,
            ));
        }
        series.push(once("load", variant, 3.1e-4, 1.0));
        series.push(once(names::FIRST_LAUNCH, variant, 5.2e-5, 1.0));
        series.push(repeated(names::LAUNCH, variant, (5.2e-5, 6.8e-6), 200, 1.0));
        series.push(repeated(
            names::LAUNCH_FROM_SOURCE,
            variant,
            (compile + 5.2e-5, 6.8e-6),
            200,
            1.0,
        ));
        series.push(repeated(
            names::LONG_LAUNCH,
            variant,
            (2.31e-3, 2.3e-3),
            20,
            1.0,
        ));
        series.push(repeated(
            names::LONG_LAUNCH_NAIVE,
            variant,
            (6.1e-6, 5.9e-6),
            20,
            1.0,
        ));
        series
    };
    let mut series = stages(CACHE_EMPTY, 0.0183, 0.0412);
    series.extend(stages(CACHE_FILLED, 0.0181, 0.0));
    series
}
