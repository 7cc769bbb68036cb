//! A made-up but realistic report: CUDA and the CPU, natively and through a framework, with
//! sweeps, stages, memory, gaps and all verdicts.
//!
//! The unit tests of the crate use it too (see `lib.rs`), so it uses nothing from this crate.

#![allow(dead_code, reason = "each test uses its own part")]

pub mod check;
mod claims;
pub mod classify;
pub mod compare;
mod experiments;
mod frameworks;
pub mod measurement;
mod noise;
pub mod rendering;
pub mod run;

use preheat_model::Machine;
use preheat_model::lab::{
    Experiment, ExperimentId, Floor, LabReport, MeasuredDevice, MeasuredFramework, SCHEMA, Settings,
};

/// A report of a machine with a GPU.
pub fn report() -> LabReport {
    LabReport {
        experiments: experiments::all(),
        claims: claims::all(),
        floors: vec![
            floor(
                "cuda",
                &[
                    ("load driver library", 1.5e-3),
                    ("initialize driver", 0.101),
                    ("query device", 2.1e-5),
                    ("create context", 0.128),
                    ("load", 3.1e-4),
                    ("first launch", 5.2e-5),
                ],
            ),
            floor(
                "cpu",
                &[
                    ("create context", 1.2e-5),
                    ("load", 3.4e-5),
                    ("first launch", 2.2e-5),
                ],
            ),
        ],
        notable: vec![
            "Building the first optimizer in torch takes 3.84 s, longer than everything the \
             training loop does before it is steady: an in-script timer around the loop misses it."
                .to_owned(),
            "The first training iteration of torch on cuda takes 252× a steady one.".to_owned(),
            "Pinning 4 MiB costs as much as 6 copies save.".to_owned(),
        ],
        ..empty()
    }
}

/// A report in which nothing could be measured.
pub fn empty() -> LabReport {
    LabReport {
        schema: SCHEMA.to_owned(),
        preheat: "0.1.0".to_owned(),
        created: "2026-03-01T12:34:56Z".to_owned(),
        command: [
            "preheat",
            "lab",
            "--device",
            "cuda",
            "--html",
            "lab report.html",
        ]
        .map(str::to_owned)
        .to_vec(),
        settings: Settings {
            seed: 1,
            starts: 5,
            quick: false,
            ended_early: None,
        },
        machine: Machine {
            os: "Debian GNU/Linux 12 (bookworm)".to_owned(),
            kernel: "6.1.0-30-amd64".to_owned(),
            cpu: "Intel(R) Xeon(R) Platinum 8480+".to_owned(),
            cores: 16,
            memory: 128 << 30,
        },
        device: MeasuredDevice {
            kind: "cuda".to_owned(),
            name: "NVIDIA H200".to_owned(),
            driver: "NVIDIA driver 580.65.06, CUDA 13.0".to_owned(),
            memory: 150_754_820_096,
            facts: [
                ("compute capability", "9.0"),
                ("multiprocessors", "132"),
                ("module loading", "lazy"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        },
        other_devices: vec![MeasuredDevice {
            kind: "cpu".to_owned(),
            name: "Intel(R) Xeon(R) Platinum 8480+".to_owned(),
            driver: "embedded compiler 0.135".to_owned(),
            memory: 128 << 30,
            facts: vec![("vector width".to_owned(), "512 bits".to_owned())],
        }],
        frameworks: ["cuda", "cpu"]
            .map(|device| MeasuredFramework {
                name: "torch".to_owned(),
                version: "2.11.0".to_owned(),
                python: "3.11.2".to_owned(),
                device: device.to_owned(),
            })
            .to_vec(),
        floors: vec![],
        experiments: vec![],
        claims: vec![],
        notable: vec![],
    }
}

/// A report whose names and sentences try to inject markup.
pub fn hostile() -> LabReport {
    let bad = "<script>alert(\"x\" & 'y')</script>\u{1b}[31m\n";
    let mut report = report();
    report.device.name = bad.to_owned();
    report.device.facts.push((bad.to_owned(), bad.to_owned()));
    report.machine.cpu = bad.to_owned();
    report.frameworks[0].version = bad.to_owned();
    report.command.push(bad.to_owned());
    report.notable.push(bad.to_owned());
    report.settings.ended_early = Some(bad.to_owned());
    report.floors[0].parts[0].0 = bad.to_owned();
    for claim in &mut report.claims {
        claim.text = bad.to_owned();
        claim.sentence = bad.to_owned();
        for evidence in &mut claim.evidence {
            evidence.sentence = bad.to_owned();
            evidence.quantity = bad.to_owned();
        }
    }
    for experiment in &mut report.experiments {
        experiment.title = bad.to_owned();
        for skipped in &mut experiment.skipped {
            skipped.what = bad.to_owned();
            skipped.why = bad.to_owned();
        }
        for failure in &mut experiment.failures {
            failure.what = bad.to_owned();
        }
        for series in experiment
            .series
            .iter_mut()
            .filter(|series| !series.variant.is_empty())
        {
            series.variant = bad.to_owned();
        }
    }
    report.experiments[0].series[0].name = bad.to_owned();
    report
}

/// A report with the traces of a crash or a stopped clock: invalid numbers, empty series,
/// zeros.
pub fn broken() -> LabReport {
    let mut report = report();
    for (index, series) in report
        .experiments
        .iter_mut()
        .flat_map(|e| &mut e.series)
        .enumerate()
    {
        match index % 5 {
            0 => series.first = f64::NAN,
            1 => series.steady = None,
            2 => series.iterations = vec![vec![], vec![f64::NAN, 0.0, -1.0]],
            3 => series.ratio = None,
            _ => series.first_start = None,
        }
        if index % 7 == 0 {
            series.steady = Some(f64::INFINITY);
        }
        if index % 11 == 0
            && let Some(ratio) = &mut series.ratio
        {
            ratio.value = f64::NAN;
            ratio.low = None;
        }
    }
    for claim in &mut report.claims {
        for evidence in &mut claim.evidence {
            evidence.value.value = f64::NAN;
            evidence.threshold = f64::NAN;
        }
    }
    report.floors[0].seconds = f64::NAN;
    report
}

/// A report of a long run: many starts with many iterations.
pub fn huge() -> LabReport {
    let mut report = report();
    for series in report.experiments.iter_mut().flat_map(|e| &mut e.series) {
        if series.size.is_none() && series.iterations.iter().any(|start| start.len() > 1) {
            series.iterations = (0..30)
                .map(|start| {
                    let source = &series.iterations[start % series.iterations.len()];
                    (0..1000)
                        .map(|at| source[at.min(1 + at % (source.len() - 1))])
                        .collect()
                })
                .collect();
        }
    }
    report
}

fn floor(device: &str, parts: &[(&str, f64)]) -> Floor {
    Floor {
        device: device.to_owned(),
        seconds: parts.iter().map(|(_, seconds)| seconds).sum(),
        parts: parts
            .iter()
            .map(|(name, seconds)| ((*name).to_owned(), *seconds))
            .collect(),
    }
}

/// One experiment without gaps.
fn experiment(id: ExperimentId, device: &str, framework: Option<&str>) -> Experiment {
    Experiment {
        id,
        title: id.title().to_owned(),
        device: device.to_owned(),
        framework: framework.map(str::to_owned),
        starts: 5,
        series: vec![],
        skipped: vec![],
        failures: vec![],
    }
}
