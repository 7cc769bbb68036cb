//! A made-up but realistic report of a run: a small PyTorch training on a GPU, whose
//! optimizer imports for seconds.

mod parts;
pub mod recording;

use preheat_model::Machine;
use preheat_model::run::trace::Clock;
use preheat_model::run::{
    Cause, CauseReport, CauseSeconds, DeviceBytes, Evicted, Importer, IterationRule, IterationUnit,
    IterationsBy, MemoryReport, Origin, RUN_SCHEMA, RegionReport, RunReport, RunSettings,
    StartReport, Temperature, TemperatureReport, Unfinished,
};
use preheat_model::stats::{Class, Consistency, Estimate};

const MIB: u64 = 1 << 20;

/// The seconds of each cause, largest first.
const CAUSES: [(Cause, f64); 14] = [
    (Cause::PythonImports, 6.96),
    (Cause::LibraryLoading, 0.61),
    (Cause::OwnCpu, 0.42),
    (Cause::KernelLoading, 0.214),
    (Cause::Unexplained, 0.19),
    (Cause::LibrarySetUp, 0.142),
    (Cause::ContextCreation, 0.128),
    (Cause::Idle, 0.11),
    (Cause::DriverInit, 0.101),
    (Cause::ProcessStart, 0.052),
    (Cause::DeviceAllocation, 0.0061),
    (Cause::WaitingForDevice, 0.0042),
    (Cause::HostToDevice, 0.0021),
    (Cause::SteadyWork, 0.000758),
];

/// Five starts of a training.
pub fn report() -> RunReport {
    let total: f64 = CAUSES.iter().map(|(_, seconds)| seconds).sum();
    RunReport {
        schema: RUN_SCHEMA.to_owned(),
        preheat: "0.1.0".to_owned(),
        created: "2026-03-01T12:34:56Z".to_owned(),
        command: ["python", "train.py"].map(str::to_owned).to_vec(),
        directory: "/home/user/model".to_owned(),
        machine: Machine {
            os: "Debian GNU/Linux 12 (bookworm)".to_owned(),
            kernel: "6.1.0-30-amd64".to_owned(),
            cpu: "Intel(R) Xeon(R) Platinum 8480+".to_owned(),
            cores: 16,
            memory: 128 << 30,
        },
        settings: settings(),
        environment: vec![("CUDA_MODULE_LOADING".to_owned(), "LAZY".to_owned())],
        iterations_by: IterationsBy::Python,
        iteration: "steps of SGD".to_owned(),
        unit: Some(IterationUnit::OptimizerStep),
        first_begin: None,
        time_to_first: interval(total, 8.71, 9.2),
        first: Some(0.542),
        steady: Some(0.000758),
        ratio: Some(interval(715.6, 690.0, 741.0)),
        class: Some(Class::ColdFirst),
        consistency: Some(Consistency::Consistent),
        warmup: Some(1.0),
        excess: Some(0.541),
        second: Some(interval(0.0009, 0.00088, 0.00093)),
        best: Some(interval(0.00073, 0.0007, 0.00075)),
        first_to_second: Some(interval(602.2, 580.0, 620.0)),
        counted_starts: 4,
        causes: CAUSES
            .iter()
            .map(|&(cause, seconds)| CauseReport {
                cause,
                seconds,
                share: seconds / total,
                device_bytes: match cause {
                    Cause::ContextCreation => Some(510 * MIB),
                    Cause::KernelLoading => Some(120 * MIB),
                    _ => None,
                },
                items: parts::items(cause),
                items_in_all: parts::items(cause).len() as u64 * 7,
                functions: parts::functions(cause),
            })
            .collect(),
        first_excess: [
            (Cause::KernelLoading, 0.21),
            (Cause::LibrarySetUp, 0.142),
            (Cause::OwnCpu, 0.12),
            (Cause::Idle, 0.058),
            (Cause::DeviceAllocation, 0.0061),
            (Cause::WaitingForDevice, 0.0042),
            (Cause::HostToDevice, 0.0007),
        ]
        .map(|(cause, seconds)| CauseSeconds { cause, seconds })
        .to_vec(),
        second_excess: vec![],
        other_threads: vec![],
        regions: vec![],
        marks: vec![],
        memory: MemoryReport {
            device: Some(DeviceBytes {
                total: 835 * MIB,
                context: 510 * MIB,
                kernels: 120 * MIB,
                used: 4 * MIB,
                reserved: 82 * MIB,
                workspaces: 32 * MIB,
                other: 87 * MIB,
                first_peak: 861 * MIB,
                steady_peak: Some(835 * MIB),
            }),
            resident_peak: 3200 * MIB,
            resident_first: Some(3150 * MIB),
            pinned: 64 * MIB,
            host: Some(parts::host()),
        },
        ladder: vec![level(Temperature::Process, 5, total, 0.542)],
        remedies: parts::remedies(),
        starts: (0..5)
            .map(|at| start(at, Temperature::Process, total))
            .collect(),
        notes: vec![
            "The launches of pt_autograd_0 are not in the recording after 4.1 s: its part of the \
             file was full."
                .to_owned(),
        ],
    }
}

/// The same training with two iterations, which the program times itself.
pub fn twice() -> RunReport {
    let causes = |all: &[(Cause, f64)]| {
        let cause = |&(cause, seconds): &(Cause, f64)| CauseSeconds { cause, seconds };
        all.iter().map(cause).collect::<Vec<_>>()
    };
    let mut report = report();
    report.steady = None;
    report.ratio = None;
    report.class = None;
    report.consistency = None;
    report.warmup = None;
    report.excess = None;
    report.first = Some(0.541);
    report.second_excess = causes(&[
        (Cause::KernelLoading, 0.312),
        (Cause::LibrarySetUp, 0.142),
        (Cause::OwnCpu, 0.0861),
    ]);
    report.first_excess.clear();
    for start in &mut report.starts {
        start.iterations.truncate(2);
    }
    report.regions = vec![RegionReport {
        name: "train.py:14–20".to_owned(),
        file: Some("/home/user/model/train.py".to_owned()),
        from: Some(14),
        to: Some(20),
        function: Some("<module>".to_owned()),
        helper: None,
        clock: Some(Clock::Time),
        count: 2,
        first: interval(0.541, 0.53, 0.552),
        second: Some(Estimate {
            value: 0.0009,
            low: None,
            high: None,
        }),
        best: None,
        ratio: Some(interval(601.1, 580.0, 620.0)),
        causes: causes(&[
            (Cause::KernelLoading, 0.312),
            (Cause::LibrarySetUp, 0.142),
            (Cause::OwnCpu, 0.087),
        ]),
        second_causes: causes(&[(Cause::OwnCpu, 0.0009)]),
        firsts: vec![],
        unfinished: Some(Unfinished {
            launches: 3,
            seconds: None,
            then: None,
        }),
        paired_by_order: false,
        around: None,
        iterates: false,
        code: None,
        repeats: None,
    }];
    report
}

/// The same training with colder starts.
pub fn ladder() -> RunReport {
    let mut report = report();
    report.ladder = vec![
        level(Temperature::Caches, 3, 31.2, 4.61),
        level(Temperature::Disk, 3, 13.8, 0.71),
        level(Temperature::Process, 3, 8.94, 0.542),
    ];
    report.starts = [
        (Temperature::Caches, 31.2),
        (Temperature::Disk, 13.8),
        (Temperature::Process, 8.94),
    ]
    .into_iter()
    .cycle()
    .take(9)
    .enumerate()
    .map(|(at, (temperature, total))| start(at, temperature, total))
    .collect();
    report
}

/// A program without repetition and without a device, about which hardly anything was
/// recorded.
pub fn bare() -> RunReport {
    RunReport {
        iterations_by: IterationsBy::None,
        iteration: String::new(),
        unit: None,
        time_to_first: Estimate {
            value: 0.0124,
            low: None,
            high: None,
        },
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
        counted_starts: 1,
        command: vec!["/bin/true".to_owned()],
        causes: vec![],
        first_excess: vec![],
        memory: MemoryReport {
            resident_peak: 12 * MIB,
            ..MemoryReport::default()
        },
        ladder: vec![],
        remedies: vec![],
        environment: vec![],
        notes: vec!["/bin/true is static: it ran, but was not recorded.".to_owned()],
        starts: vec![StartReport {
            time_to_first: None,
            causes: vec![],
            iterations: vec![],
            ..start(0, Temperature::Process, 0.0124)
        }],
        ..report()
    }
}

/// A report whose names and sentences try to inject markup.
pub fn hostile() -> RunReport {
    let bad = "<script>alert(\"x\" & 'y')</script>\u{1b}[31m\n,;";
    let mut report = ladder();
    report.command.push(bad.to_owned());
    report.command.push(String::new());
    report.iteration = bad.repeat(9);
    report.machine.cpu = bad.to_owned();
    report.environment.push((bad.to_owned(), bad.to_owned()));
    report.notes.push(bad.to_owned());
    report.settings.ended_early = Some(bad.to_owned());
    for item in report.causes.iter_mut().flat_map(|cause| &mut cause.items) {
        item.name = bad.repeat(5);
        item.detail = bad.repeat(5);
        item.origin = Some(Origin::Import(Importer {
            module: Some(bad.to_owned()),
            line: Some(bad.repeat(5)),
        }));
    }
    if let Some(host) = &mut report.memory.host {
        for part in &mut host.first.parts {
            for item in &mut part.items {
                item.name = bad.to_owned();
            }
        }
    }
    for remedy in &mut report.remedies {
        remedy.title = bad.to_owned();
        remedy.what = bad.to_owned();
        remedy.assumption = bad.to_owned();
    }
    report.starts[3].exit_code = 139;
    report
}

/// A report with invalid numbers and absurd sizes.
pub fn broken() -> RunReport {
    let mut report = ladder();
    report.time_to_first = interval(f64::NAN, f64::NAN, f64::INFINITY);
    report.first = Some(f64::NAN);
    report.steady = Some(0.0);
    report.ratio = Some(interval(f64::INFINITY, f64::NAN, f64::NAN));
    for (index, cause) in report.causes.iter_mut().enumerate() {
        match index % 3 {
            0 => cause.seconds = f64::NAN,
            1 => cause.share = f64::INFINITY,
            _ => cause.seconds = -1.0,
        }
        for item in &mut cause.items {
            item.seconds = f64::NAN;
            item.waiting = Some(f64::NAN);
        }
    }
    report.first_excess[0].seconds = f64::NAN;
    report.remedies[0].saving = f64::NAN;
    report.ladder[0].time_to_first.value = f64::NAN;
    report.starts[1].iterations = vec![f64::NAN, f64::INFINITY];
    if let Some(device) = &mut report.memory.device {
        *device = DeviceBytes {
            total: u64::MAX,
            context: u64::MAX,
            steady_peak: None,
            ..DeviceBytes::default()
        };
    }
    report
}

fn settings() -> RunSettings {
    RunSettings {
        iterations: IterationRule::Auto,
        starts: 5,
        seed: 1,
        limit: 256 * MIB,
        synchronize: false,
        ended_early: None,
        ended_with: None,
    }
}

fn interval(median: f64, low: f64, high: f64) -> Estimate {
    Estimate {
        value: median,
        low: Some(low),
        high: Some(high),
    }
}

fn seconds_of(total: f64) -> Vec<CauseSeconds> {
    let sum: f64 = CAUSES.iter().map(|(_, seconds)| seconds).sum();
    let mut causes: Vec<CauseSeconds> = CAUSES
        .iter()
        .map(|&(cause, seconds)| CauseSeconds {
            cause,
            seconds: seconds / sum * total,
        })
        .collect();
    causes.sort_by_key(|part| part.cause);
    causes
}

fn level(temperature: Temperature, starts: usize, total: f64, first: f64) -> TemperatureReport {
    TemperatureReport {
        temperature,
        starts,
        time_to_first: interval(total, total * 0.97, total * 1.04),
        first: Some(first),
        causes: seconds_of(total),
    }
}

fn start(at: usize, temperature: Temperature, total: f64) -> StartReport {
    let total = if at == 0 { total * 1.48 } else { total };
    StartReport {
        temperature,
        first_start: at == 0,
        exit_code: 0,
        time_to_first: Some(total),
        wall: total + 0.9,
        causes: seconds_of(total),
        iterations: (0..12)
            .map(|step| match step {
                0 => 0.542 + at as f64 / 1000.0,
                _ => 0.000758 + f64::from(step % 3) * 1e-6,
            })
            .collect(),
        peak_resident: 3200 * MIB,
        peak_device: Some(861 * MIB),
        evicted: (temperature == Temperature::Disk).then_some(Evicted {
            files: 4211,
            cached: 5 << 30,
            left: 12 * MIB,
        }),
        damaged: false,
    }
}
