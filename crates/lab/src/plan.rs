//! From what was asked for to what will be run.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use preheat_analyze::lab::{ExperimentId, MeasuredDevice, MeasuredFramework, Subject, names};
use preheat_device::Kind;

use crate::devices::{FoundDevice, probe_device};
use crate::experiments;
use crate::frameworks::{Framework, find_python};
use crate::schedule::Priority;

/// Starts of each native unit, unless a number was asked for.
const NATIVE_STARTS: usize = 10;
/// Starts of each framework unit, which take seconds each.
const FRAMEWORK_STARTS: usize = 6;
/// Starts of each native unit that takes a second or more: the first apart, three
/// for an interval.
const HEAVY_STARTS: usize = 4;
/// Starts of each unit in a short run: the first apart, three for an interval.
const QUICK_STARTS: usize = 4;

/// Which device was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// CUDA, else OpenCL on a GPU, else the cpu device.
    Auto,
    /// This one.
    Kind(Kind),
}

/// Which frameworks were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameworkChoice {
    /// All that the Python has; none in a short run.
    Auto,
    /// None.
    None,
    /// This one, or it is an error.
    One(Framework),
}

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which experiments; empty for all.
    pub experiments: Vec<ExperimentId>,
    /// On which devices.
    pub devices: Vec<DeviceChoice>,
    /// With which frameworks.
    pub framework: FrameworkChoice,
    /// With which Python.
    pub python: Option<PathBuf>,
    /// How many starts of each unit.
    pub starts: Option<usize>,
    /// The short form.
    pub quick: bool,
    /// Seeds the order and the statistics.
    pub seed: u64,
    /// After this long no further start is begun.
    pub budget: Option<Duration>,
    /// A start that takes longer is ended.
    pub start_limit: Duration,
}

/// Why nothing can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError(pub String);

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for PlanError {}

/// One experiment in one variant on one subject, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedUnit {
    /// Which experiment.
    pub experiment: ExperimentId,
    /// Which variant; empty where there are none.
    pub variant: &'static str,
    /// On what.
    pub subject: Subject,
    /// The framework of the subject.
    pub framework: Option<Framework>,
    /// How many starts.
    pub starts: usize,
    /// What comes first where time is short.
    pub priority: Priority,
}

/// Variants that no claim rests on alone.
const DETAILS: [&str; 4] = [
    names::SWEEP,
    names::CONV,
    names::PINNED_OR_RANDN,
    names::MODEL_AFTER_PAUSE,
];
/// Variants that a short run has no time for: claims that prefer them do without.
const NOT_QUICK: [&str; 6] = [
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
        || quick && NOT_QUICK.contains(&variant)
        || (experiment, variant) == (ExperimentId::TrainInitialized, names::MODEL_FROM_NOTHING);
    match (detail, framework) {
        (true, _) => Priority::Detail,
        (false, Some(_)) => Priority::Slow,
        // A gibibyte takes seconds.
        (false, None) if experiment == ExperimentId::Prealloc => Priority::Slow,
        (false, None) => Priority::Quick,
    }
}

/// What will be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The units, in the order in which they are shown.
    pub units: Vec<PlannedUnit>,
    /// The devices, the one that was asked for first.
    pub devices: Vec<MeasuredDevice>,
    /// The frameworks.
    pub frameworks: Vec<MeasuredFramework>,
    /// The Python of the frameworks.
    pub python: Option<PathBuf>,
    /// What was asked for but is not part of the plan, in sentences.
    pub remarks: Vec<String>,
    /// The short form.
    pub quick: bool,
    /// Seeds the order and the statistics.
    pub seed: u64,
    /// Starts of each native unit.
    pub starts: usize,
    /// After this long no further start is begun, once each unit had one.
    pub budget: Option<Duration>,
    /// A start that takes longer is ended.
    pub start_limit: Duration,
}

impl Plan {
    /// Look at the machine and decide.
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
        let mut units = Vec::new();
        for device in &devices {
            add_native(
                &mut units,
                &experiments,
                &device.kind,
                native_starts,
                request.quick,
            );
        }
        // "On the CPU too": that claim needs the cpu device beside a GPU.
        if devices.iter().all(|device| device.kind != "cpu") {
            let training: Vec<_> = experiments
                .iter()
                .copied()
                .filter(|&e| e == ExperimentId::Train)
                .collect();
            add_native(&mut units, &training, "cpu", native_starts, request.quick);
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
                    units.push(PlannedUnit {
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
        // Away from a GPU each further device takes as long again, and so does a
        // framework that was named in a short run.
        let named = match request.framework {
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
            units,
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
    units: &mut Vec<PlannedUnit>,
    experiments: &[ExperimentId],
    device: &str,
    starts: impl Fn(ExperimentId, &str) -> usize,
    quick: bool,
) {
    for &experiment in experiments {
        for &variant in experiments::variants(experiment) {
            units.push(PlannedUnit {
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
            "no device was asked for; try --device auto".to_owned(),
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
    let wanted: Vec<Framework> = match request.framework {
        FrameworkChoice::None => return Ok((None, vec![])),
        // A short run has no time for imports; a Python that was named is wanted.
        FrameworkChoice::Auto if request.quick && request.python.is_none() => {
            return Ok((None, vec![]));
        }
        FrameworkChoice::Auto => Framework::ALL.to_vec(),
        FrameworkChoice::One(framework) => vec![framework],
    };
    let python = match find_python(request.python.as_deref()) {
        Ok(python) => python,
        // Nobody asked for a Python or a framework: the lab does without.
        Err(why) if request.python.is_none() && wanted.len() > 1 => {
            remarks.push(format!("no frameworks were measured: {why}"));
            return Ok((None, vec![]));
        }
        Err(why) => return Err(PlanError(why)),
    };
    let place = python.path.display().to_string();
    if let FrameworkChoice::One(framework) = request.framework
        && !python
            .frameworks
            .iter()
            .any(|(known, _)| *known == framework)
    {
        return Err(PlanError(format!(
            "{place} (Python {}) has no {}; install it ({}) or name another Python with --python PATH",
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
                python: format!("{place} ({})", python.version),
                device: if on_cuda { "cuda" } else { "cpu" }.to_owned(),
            };
            (framework, measured)
        })
        .collect();
    if found.is_empty() {
        remarks.push(format!(
            "no frameworks were measured: {place} (Python {}) has neither torch nor tensorflow nor jax; name another Python with --python PATH",
            python.version
        ));
    }
    Ok((Some(python.path), found))
}
