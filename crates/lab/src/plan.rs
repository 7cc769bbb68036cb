//! Turns a request into a plan.

use std::path::PathBuf;
use std::time::Duration;

use preheat_device::Kind;
use preheat_model::lab::{ExperimentId, MeasuredDevice, MeasuredFramework, Subject, names};

use crate::devices::{FoundDevice, probe_device};
use crate::experiments;
use crate::frameworks::{Framework, find_python};
use crate::run::Priority;
use thiserror::Error;

/// Starts of each native setup, unless the user chose a number.
const NATIVE_STARTS: usize = 10;
/// Starts of each framework setup; each lasts seconds.
const FRAMEWORK_STARTS: usize = 6;
/// Starts of each native setup that takes a second or more: the first, reported separately,
/// and three for an interval.
const HEAVY_STARTS: usize = 4;
/// Starts of each setup in a quick run: the first, reported separately, and three for an
/// interval.
const QUICK_STARTS: usize = 4;

/// The requested device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// CUDA, else OpenCL on a GPU, else the cpu device.
    Auto,
    /// This device.
    Kind(Kind),
}

/// The requested frameworks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameworkChoice {
    /// All frameworks of the Python; in a quick run, only if a Python was named.
    Auto,
    /// None.
    None,
    /// This one; an error if it is missing.
    One(Framework),
}

/// The user's request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The experiments; empty for all.
    pub experiments: Vec<ExperimentId>,
    /// The devices.
    pub devices: Vec<DeviceChoice>,
    /// The frameworks.
    pub frameworks: FrameworkChoice,
    /// The Python of the frameworks.
    pub python: Option<PathBuf>,
    /// The number of starts of each setup.
    pub starts: Option<usize>,
    /// True for a quick run.
    pub quick: bool,
    /// Seeds the order and the statistics.
    pub seed: u64,
    /// Each setup gets one start regardless, in a quick run without the details; further starts
    /// run only if they should end in this time.
    pub budget: Option<Duration>,
    /// A start that takes longer is killed.
    pub start_limit: Duration,
}

/// The reason why nothing can be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PlanError(pub String);

/// One experiment in one variant on one subject, and its number of starts.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedSetup {
    /// The experiment.
    pub experiment: ExperimentId,
    /// The variant; empty if there is only one.
    pub variant: &'static str,
    /// The subject.
    pub subject: Subject,
    /// The framework of the subject.
    pub framework: Option<Framework>,
    /// The number of starts.
    pub starts: usize,
    /// The priority when time is short.
    pub priority: Priority,
}

/// Variants that every claim can do without.
const DETAILS: [&str; 4] = [
    names::SWEEP,
    names::CONV,
    names::PINNED_OR_RANDN,
    names::MODEL_AFTER_PAUSE,
];
/// Variants that a quick run measures only if time remains; without them, the claims that prefer
/// them use other variants.
const LAST_IN_QUICK_RUN: [&str; 6] = [
    names::RANDN,
    names::NO_OPTIMIZER_ON_DEVICE,
    names::UNET,
    names::MLP_ON_DEVICE,
    names::MLP_LARGE_ON_DEVICE,
    names::UNET_ON_DEVICE,
];

fn priority(
    experiment: ExperimentId,
    variant: &str,
    framework: Option<Framework>,
    quick: bool,
) -> Priority {
    let detail = DETAILS.contains(&variant)
        || quick && LAST_IN_QUICK_RUN.contains(&variant)
        || (experiment, variant) == (ExperimentId::TrainInitialized, names::MODEL_FROM_NOTHING);
    match (detail, framework) {
        (true, _) => Priority::Detail,
        (false, Some(_)) => Priority::Expensive,
        // Allocating a gibibyte takes seconds.
        (false, None) if experiment == ExperimentId::Prealloc => Priority::Expensive,
        (false, None) => Priority::Cheap,
    }
}

/// The experiments to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The setups, in display order.
    pub setups: Vec<PlannedSetup>,
    /// The devices, the requested one first.
    pub devices: Vec<MeasuredDevice>,
    /// The frameworks.
    pub frameworks: Vec<MeasuredFramework>,
    /// The Python of the frameworks.
    pub python: Option<PathBuf>,
    /// Notes on parts of the request that are not in the plan.
    pub remarks: Vec<String>,
    /// True for a quick run.
    pub quick: bool,
    /// Seeds the order and the statistics.
    pub seed: u64,
    /// Starts of each native setup.
    pub starts: usize,
    /// Each setup gets one start regardless, in a quick run without the details; further starts
    /// run only if they should end in this time.
    pub budget: Option<Duration>,
    /// A start that takes longer is killed.
    pub start_limit: Duration,
}

impl Plan {
    /// Inspects the machine and creates the plan.
    pub fn new(request: &Request) -> Result<Plan, PlanError> {
        let found = choose_devices(&request.devices)?;
        let on_gpu = found.iter().any(|found| found.is_gpu);
        let devices: Vec<MeasuredDevice> = found.into_iter().map(|found| found.device).collect();
        let main = devices[0].kind.clone();
        let mut remarks = Vec::new();
        let (python, frameworks) = choose_frameworks(request, &main, &mut remarks)?;
        let experiments = if request.experiments.is_empty() {
            ExperimentId::ALL.to_vec()
        } else {
            let mut chosen = request.experiments.clone();
            chosen.sort_unstable();
            chosen.dedup();
            chosen
        };
        let starts = request.starts.unwrap_or(if request.quick {
            QUICK_STARTS
        } else {
            NATIVE_STARTS
        });
        let framework_starts = match request.starts {
            Some(asked) => asked,
            None => starts.min(FRAMEWORK_STARTS),
        };
        let native_starts = |experiment: ExperimentId, variant: &str| {
            let heavy = experiment == ExperimentId::Prealloc || variant == names::SWEEP;
            match request.starts {
                None if heavy => starts.min(HEAVY_STARTS),
                _ => starts,
            }
        };
        let mut setups = Vec::new();
        for device in &devices {
            add_native(
                &mut setups,
                &experiments,
                &device.kind,
                native_starts,
                request.quick,
            );
        }
        // The claim "on the CPU too" needs the cpu device in addition to a GPU.
        if devices.iter().all(|device| device.kind != "cpu") {
            let training: Vec<_> = experiments
                .iter()
                .copied()
                .filter(|&e| e == ExperimentId::Train)
                .collect();
            add_native(&mut setups, &training, "cpu", native_starts, request.quick);
        }
        for (framework, found) in &frameworks {
            for &experiment in &experiments {
                if framework.variants(experiment, &found.device).is_empty()
                    && request.experiments.contains(&experiment)
                {
                    remarks.push(format!(
                        "{} is not measured with {} on {}",
                        experiment.id(),
                        found.name,
                        found.device
                    ));
                }
                for &variant in framework.variants(experiment, &found.device) {
                    setups.push(PlannedSetup {
                        experiment,
                        variant,
                        subject: Subject {
                            device: found.device.clone(),
                            framework: Some(found.name.clone()),
                        },
                        framework: Some(*framework),
                        starts: framework_starts,
                        priority: priority(experiment, variant, Some(*framework), request.quick),
                    });
                }
            }
        }
        // The default budget grows with each further device, and with a framework named in a
        // quick run; only the full run on a GPU has a fixed budget.
        let named = match request.frameworks {
            FrameworkChoice::One(_) if request.quick => 1,
            _ => 0,
        };
        let scale = (devices.len() + named) as u64;
        let seconds = match (request.starts, request.quick, on_gpu) {
            (Some(_), _, _) => None,
            (None, true, false) => Some(12 * scale),
            (None, true, true) => Some(40 * scale),
            (None, false, true) => Some(600),
            (None, false, false) => Some(57 * scale),
        };
        let budget = request.budget.or(seconds.map(Duration::from_secs));
        Ok(Plan {
            setups,
            devices,
            frameworks: frameworks.into_iter().map(|(_, found)| found).collect(),
            python,
            remarks,
            quick: request.quick,
            seed: request.seed,
            starts,
            budget,
            start_limit: request.start_limit,
        })
    }
}

fn add_native(
    setups: &mut Vec<PlannedSetup>,
    experiments: &[ExperimentId],
    device: &str,
    starts: impl Fn(ExperimentId, &str) -> usize,
    quick: bool,
) {
    for &experiment in experiments {
        for &variant in experiments::variants(experiment) {
            setups.push(PlannedSetup {
                experiment,
                variant,
                subject: Subject {
                    device: device.to_owned(),
                    framework: None,
                },
                framework: None,
                starts: starts(experiment, variant),
                priority: priority(experiment, variant, None, quick),
            });
        }
    }
}

fn choose_devices(choices: &[DeviceChoice]) -> Result<Vec<FoundDevice>, PlanError> {
    let mut devices: Vec<FoundDevice> = Vec::new();
    for &choice in choices {
        let found = match choice {
            DeviceChoice::Kind(kind) => probe_device(kind).map_err(|why| {
                PlanError(format!(
                    "{why}; `preheat doctor` shows what this machine has"
                ))
            })?,
            DeviceChoice::Auto => probe_device(Kind::Cuda)
                .ok()
                .or_else(|| probe_device(Kind::OpenCl).ok().filter(|found| found.is_gpu))
                .map_or_else(|| probe_device(Kind::Cpu).map_err(PlanError), Ok)?,
        };
        if devices
            .iter()
            .all(|known| known.device.kind != found.device.kind)
        {
            devices.push(found);
        }
    }
    if devices.is_empty() {
        return Err(PlanError(
            "no device was selected; try --device auto".to_owned(),
        ));
    }
    Ok(devices)
}

type Chosen = (Option<PathBuf>, Vec<(Framework, MeasuredFramework)>);

fn choose_frameworks(
    request: &Request,
    device: &str,
    remarks: &mut Vec<String>,
) -> Result<Chosen, PlanError> {
    let wanted: Vec<Framework> = match request.frameworks {
        FrameworkChoice::None => return Ok((None, vec![])),
        // A quick run has no time for imports, unless the user named a Python.
        FrameworkChoice::Auto if request.quick && request.python.is_none() => {
            return Ok((None, vec![]));
        }
        FrameworkChoice::Auto => Framework::ALL.to_vec(),
        FrameworkChoice::One(framework) => vec![framework],
    };
    let python = match find_python(request.python.as_deref()) {
        Ok(python) => python,
        // The user asked for neither a Python nor a framework: run without.
        Err(why) if request.python.is_none() && wanted.len() > 1 => {
            remarks.push(format!("no frameworks were measured: {why}"));
            return Ok((None, vec![]));
        }
        Err(why) => return Err(PlanError(why)),
    };
    let shown = python.path.display().to_string();
    if let FrameworkChoice::One(framework) = request.frameworks
        && !python
            .frameworks
            .iter()
            .any(|(known, _)| *known == framework)
    {
        return Err(PlanError(format!(
            "{shown} (Python {}) has no {}; install it ({}) or choose another Python with --python PATH",
            python.version,
            framework.id(),
            framework.install_hint()
        )));
    }
    let found: Vec<_> = python
        .frameworks
        .into_iter()
        .filter(|(framework, _)| wanted.contains(framework))
        .map(|(framework, version)| {
            let on_cuda = device == "cuda" && framework.computes_on_cuda(&python.path);
            let measured = MeasuredFramework {
                name: framework.id().to_owned(),
                version,
                python: format!("{shown} ({})", python.version),
                device: if on_cuda { "cuda" } else { "cpu" }.to_owned(),
            };
            (framework, measured)
        })
        .collect();
    if found.is_empty() {
        remarks.push(format!(
            "no frameworks were measured: {shown} (Python {}) has neither torch nor tensorflow nor jax; choose another Python with --python PATH",
            python.version
        ));
    }
    Ok((Some(python.path), found))
}
