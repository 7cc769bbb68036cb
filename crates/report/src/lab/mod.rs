//! Renders a lab report.
//!
//! - `overview` – selects the series and groups them by subject
//! - `headline`, `verdicts`, `gaps` – the headline, the claims, and what is missing
//! - `terminal`, `html` – the renderers; JSON is in `crate::json`
//!
//! This file has the short labels of experiments, subjects and series for tables. The report has
//! the long names.

mod gaps;
mod headline;
mod html;
mod overview;
mod terminal;
mod verdicts;

use preheat_model::lab::{Experiment, ExperimentId, LabReport, Series, names};

use crate::units::bytes;

pub use html::lab_html;
pub use terminal::lab_terminal;

/// The display name of the native device `kind`, or `kind` if the report does not list it.
fn device_name<'a>(report: &'a LabReport, kind: &'a str) -> &'a str {
    std::iter::once(&report.device)
        .chain(&report.other_devices)
        .find(|device| device.kind == kind)
        .map_or(kind, |device| device.name.as_str())
}

/// The family under which an experiment is shown: the three training experiments are one.
pub(crate) fn family(id: ExperimentId) -> &'static str {
    match id {
        ExperimentId::TrainInitialized | ExperimentId::TrainNoOptimizer => ExperimentId::Train.id(),
        other => other.id(),
    }
}

/// A subject with its device or version: `cuda — NVIDIA H200`, `torch 2.11.0 on cuda`.
pub(crate) fn subject_title(report: &LabReport, experiment: &Experiment) -> String {
    let device = &experiment.device;
    match &experiment.framework {
        None => match device_name(report, device) {
            name if name == device => device.clone(),
            name => format!("{device} — {name}"),
        },
        Some(framework) => report
            .frameworks
            .iter()
            .find(|known| known.name == *framework && known.device == *device)
            .map_or_else(
                || experiment.subject(),
                |known| format!("{framework} {} on {device}", known.version),
            ),
    }
}

/// The label of a series within its family: `from nothing`, `h2d pinned 4 MiB`, `conv, fresh`.
pub(crate) fn series(experiment: &Experiment, series: &Series) -> String {
    label(experiment.id, &series.variant, &series.name, series.size)
}

/// Like [`series`], from the key of a series.
pub(crate) fn label(id: ExperimentId, variant: &str, series: &str, size: Option<u64>) -> String {
    let name = short_name(series);
    let variant = match variant {
        // A sweep differs only in the number of starts; the size identifies the series.
        names::SWEEP => "",
        variant => variant,
    };
    let mut label = match (id, series) {
        (ExperimentId::Alloc, names::ALLOCATE) if size.is_some() => String::new(),
        (ExperimentId::Prealloc, names::ALLOCATE_4_MIB) if !variant.is_empty() => {
            variant.to_owned()
        }
        (ExperimentId::Prealloc, names::BIG_BLOCK) => join(variant, "block"),
        (ExperimentId::Train, names::ITERATION) if variant == names::MODEL_FROM_NOTHING => {
            variant.to_owned()
        }
        (ExperimentId::Train, names::ITERATION) if variant == names::MODEL_ON_DEVICE => {
            "model on device".to_owned()
        }
        (ExperimentId::TrainInitialized, names::ITERATION) => match variant {
            names::MODEL_FROM_NOTHING => "init, from nothing".to_owned(),
            names::MODEL_ON_DEVICE => "init, on device".to_owned(),
            names::MODEL_AFTER_PAUSE => "init, 0.2 s pause".to_owned(),
            _ => "initialized".to_owned(),
        },
        (ExperimentId::TrainNoOptimizer, names::ITERATION) if !variant.is_empty() => {
            match variant {
                names::NO_OPTIMIZER_ON_DEVICE => "no opt., on device".to_owned(),
                other => other.to_owned(),
            }
        }
        (ExperimentId::Infer, names::RESIDENT_INPUT) if variant == names::MLP_ON_DEVICE => {
            "mlp on device".to_owned()
        }
        (ExperimentId::Infer, names::RESIDENT_INPUT) if variant == names::MLP_LARGE_ON_DEVICE => {
            "mlp large on device".to_owned()
        }
        (ExperimentId::Infer, names::RESIDENT_INPUT) if variant == names::UNET_ON_DEVICE => {
            "unet on device".to_owned()
        }
        // The variants of launch are separate groups; the other series are the same in every
        // variant.
        (ExperimentId::Launch, _)
        | (
            _,
            names::IMPORT
            | names::BUILD_MODEL
            | names::BUILD_OPTIMIZER
            | names::INITIALIZE
            | names::MOVE_MODEL
            | names::RANDN_FROM_NOTHING
            | names::RANDN_CONTEXT_READY
            | names::MOVE_PINNED
            | names::LONG_LAUNCH
            | names::LONG_LAUNCH_NAIVE,
        )
        | (
            ExperimentId::TrainNoOptimizer,
            names::FORWARD_RECORDING | names::FORWARD_PLAIN | names::FORWARD_BACKWARD,
        ) => name.to_owned(),
        (ExperimentId::TrainInitialized, _) => join("initialized", name),
        _ => join(&variant.replace(", ", " "), name),
    };
    if let Some(size) = size {
        if !label.is_empty() {
            label.push(' ');
        }
        label.push_str(&bytes(size));
    }
    label
}

/// The label of a series with its family: `infer · conv, fresh`.
pub(crate) fn full(experiment: &Experiment, of: &Series) -> String {
    full_label(experiment.id, &of.variant, &of.name, of.size)
}

/// Like [`full`], from the key of a series.
pub(crate) fn full_label(id: ExperimentId, variant: &str, name: &str, size: Option<u64>) -> String {
    let family = family(id);
    let label = label(id, variant, name, size);
    if id == ExperimentId::Launch && !variant.is_empty() {
        format!("{family} · {variant}: {label}")
    } else {
        format!("{family} · {label}")
    }
}

fn join(variant: &str, name: &str) -> String {
    if variant.is_empty() {
        name.to_owned()
    } else {
        format!("{variant}, {name}")
    }
}

/// The short form of the name of a series or stage, or the name itself if it is short.
pub(crate) fn short_name(name: &str) -> &str {
    match name {
        names::FROM_NOTHING => "from nothing",
        names::CONTEXT_READY => "context ready",
        names::FREE_AND_AGAIN => "freed, again",
        names::FROM_POOL => "from the pool",
        names::AFTER_TRIM => "pool trimmed",
        names::RANDN_FROM_NOTHING => "randn, from nothing",
        names::RANDN_CONTEXT_READY => "randn, ready",
        names::MOVE_PINNED => "move from pinned",
        names::D2D => "d2d",
        names::MOVE_MODEL => "move the model",
        names::FORWARD_BACKWARD => "forward, backward",
        names::NEW_WEIGHTS => "new weights",
        names::PIN => "pin",
        names::H2D_PAGEABLE => "h2d pageable",
        names::H2D_PINNED => "h2d pinned",
        names::D2H_PAGEABLE => "d2h pageable",
        names::D2H_PINNED => "d2h pinned",
        names::FORWARD_RECORDING => "forward, recording",
        names::FORWARD_PLAIN => "forward, plain",
        names::FRESH_INPUT => "fresh",
        names::RESIDENT_INPUT => "resident",
        names::INITIALIZE => "initialize device",
        names::SECOND_CONTEXT => "second context",
        names::LAUNCH_FROM_SOURCE => "from source",
        names::LONG_LAUNCH => "long, synchronized",
        names::LONG_LAUNCH_NAIVE => "long, no sync",
        names::LOAD_COMPILER => "load compiler",
        names::SOURCE_TO_INTERMEDIATE => "to intermediate",
        names::INTERMEDIATE_TO_MACHINE_CODE => "to machine code",
        other => other,
    }
}

/// The name of a stage in a chart whose title already names the experiment.
pub(crate) fn stage_name(name: &str) -> &str {
    match name {
        names::FIRST_KERNELS => "compile and load kernels",
        names::FIRST_ALLOCATE => "allocate",
        names::FIRST_COPY => "copy",
        names::FIRST_COMPUTE => "compute",
        names::FIRST_INITIALIZE => short_name(names::INITIALIZE),
        names::FIRST_BUILD => "build the model",
        names::FIRST_MOVE => "allocate and copy",
        names::FIRST_FORWARD => "forward",
        names::FIRST_TRACE => "trace, compile and run",
        other => short_name(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn subjects_include_the_device_name_or_version() {
        let report = fixture::report();
        let titles: Vec<String> = report
            .experiments
            .iter()
            .map(|e| subject_title(&report, e))
            .collect();
        assert!(titles.contains(&"cuda — NVIDIA H200".to_owned()));
        assert!(titles.contains(&"torch 2.11.0 on cuda".to_owned()));
        let mut stranger = report.experiments[0].clone();
        stranger.device = "tpu".to_owned();
        assert_eq!(subject_title(&report, &stranger), "tpu");
        stranger.framework = Some("numpy".to_owned());
        assert_eq!(subject_title(&report, &stranger), "numpy on tpu");
    }

    #[test]
    fn labels_differ_within_a_family() {
        let report = fixture::report();
        for experiment in &report.experiments {
            // The import of a framework is the same series in every variant.
            let start = [names::IMPORT, names::BUILD_MODEL, names::INITIALIZE];
            let mut labels: Vec<String> = experiment
                .series
                .iter()
                .filter(|s| !start.contains(&s.name.as_str()))
                .map(|s| full(experiment, s))
                .collect();
            labels.sort();
            let count = labels.len();
            labels.dedup();
            assert_eq!(labels.len(), count, "{}", experiment.id.id());
        }
    }
}
