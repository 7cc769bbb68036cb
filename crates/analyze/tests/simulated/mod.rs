//! Simulated runs of a program with a known truth: causes, iterations and memory with
//! noise.
#![allow(dead_code, reason = "each test file uses a part of it")]

use preheat_model::Machine;
use preheat_model::run::{
    Cause, CauseSeconds, IterationRule, IterationUnit, IterationsBy, MemoryReport, RUN_SCHEMA,
    RunReport, RunSettings, StartReport, Temperature,
};
use preheat_model::stats::{Estimate, Rng};

/// A noise generator: a number around 0 with a deviation of about 1.
pub type Noise = fn(&mut Rng) -> f64;

/// Student's t with three degrees of freedom, scaled to a deviation of 1: heavy tails.
pub fn heavy_tailed(rng: &mut Rng) -> f64 {
    let chi: f64 = (0..3).map(|_| rng.normal().powi(2)).sum();
    rng.normal() / chi.sqrt()
}

/// The true properties of a program.
#[derive(Clone, Copy)]
pub struct Truth {
    pub starts: usize,
    /// The first iteration, in seconds.
    pub first: f64,
    /// Start-to-start noise, as a fraction.
    pub noise: f64,
    /// True if its memory use is randomly on one of two levels.
    pub two_levels: bool,
    pub draw: Noise,
}

/// The causes of a training script's start on a GPU, before its first iteration.
const CAUSES: [(Cause, f64); 12] = [
    (Cause::ProcessStart, 0.02),
    (Cause::LibraryLoading, 0.3),
    (Cause::PythonImports, 1.2),
    (Cause::DriverInit, 0.1),
    (Cause::ContextCreation, 0.15),
    (Cause::LibrarySetUp, 0.1),
    (Cause::DeviceAllocation, 0.005),
    (Cause::HostToDevice, 0.003),
    (Cause::WaitingForDevice, 0.01),
    (Cause::OwnCpu, 0.3),
    (Cause::Idle, 0.05),
    (Cause::Unexplained, 0.02),
];
const STEADY: f64 = 0.02;
const ITERATIONS: usize = 30;

/// Simulates a run.
pub fn run(truth: &Truth, rng: &mut Rng) -> RunReport {
    let starts: Vec<StartReport> = (0..truth.starts)
        .map(|at| start(truth, at == 0, rng))
        .collect();
    let nothing = Estimate {
        value: 0.0,
        low: None,
        high: None,
    };
    RunReport {
        schema: RUN_SCHEMA.to_owned(),
        preheat: "0.1.0".to_owned(),
        created: "2026-01-01T00:00:00Z".to_owned(),
        command: vec!["python".to_owned(), "train.py".to_owned()],
        directory: "/".to_owned(),
        machine: Machine {
            os: "Linux".to_owned(),
            kernel: "6".to_owned(),
            cpu: "a processor".to_owned(),
            cores: 16,
            memory: 1 << 37,
        },
        settings: RunSettings {
            iterations: IterationRule::Auto,
            starts: truth.starts,
            seed: 1,
            limit: 1 << 28,
            synchronize: false,
            ended_early: None,
            ended_with: None,
        },
        environment: Vec::new(),
        iterations_by: IterationsBy::Python,
        iteration: "steps of SGD".to_owned(),
        unit: Some(IterationUnit::OptimizerStep),
        first_begin: None,
        time_to_first: nothing,
        first: None,
        steady: None,
        ratio: None,
        class: None,
        consistency: None,
        warmup: None,
        excess: None,
        second: None,
        best: None,
        first_to_second: None,
        counted_starts: truth.starts - 1,
        causes: Vec::new(),
        first_excess: Vec::new(),
        second_excess: Vec::new(),
        other_threads: Vec::new(),
        regions: Vec::new(),
        marks: Vec::new(),
        memory: MemoryReport::default(),
        ladder: Vec::new(),
        remedies: Vec::new(),
        starts,
        notes: Vec::new(),
    }
}

fn start(truth: &Truth, first_start: bool, rng: &mut Rng) -> StartReport {
    let mut noisy = |value: f64, noise: f64| value * (noise * (truth.draw)(rng)).exp();
    // The clock of a whole start is faster or slower, too.
    let clock = noisy(1.0, truth.noise / 3.0);
    let first = noisy(truth.first, truth.noise);
    let mut iterations = vec![first];
    iterations.extend((1..ITERATIONS).map(|_| clock * noisy(STEADY, truth.noise)));
    let mut causes: Vec<CauseSeconds> = (CAUSES.iter())
        .map(|(cause, seconds)| CauseSeconds {
            cause: *cause,
            seconds: clock * noisy(*seconds, truth.noise),
        })
        .collect();
    for (cause, seconds) in [
        (Cause::KernelLoading, first - STEADY),
        (Cause::SteadyWork, STEADY),
    ] {
        causes.push(CauseSeconds { cause, seconds });
    }
    // Now and then, something was missing from a cache.
    if noisy(1.0, 1.0) > 3.0 {
        causes.push(CauseSeconds {
            cause: Cause::KernelCompilation,
            seconds: 0.04,
        });
    }
    let mut resident = noisy(3e9, 0.01) as u64;
    let mut device = (1800 << 20) + (resident % 3) * 4096;
    if truth.two_levels {
        let high = noisy(1.0, 1.0) > 1.0;
        (resident, device) = if high {
            (3 << 30, 2 << 30)
        } else {
            (2 << 30, 1 << 30)
        };
    }
    let slow = if first_start { 1.5 } else { 1.0 };
    causes.iter_mut().for_each(|part| part.seconds *= slow);
    let time_to_first: f64 = causes.iter().map(|part| part.seconds).sum();
    StartReport {
        temperature: Temperature::Process,
        first_start,
        exit_code: 0,
        time_to_first: Some(time_to_first),
        wall: time_to_first + 1.0,
        causes,
        iterations,
        peak_resident: resident,
        // A framework's device memory hardly varies.
        peak_device: Some(device),
        evicted: None,
        damaged: false,
    }
}
