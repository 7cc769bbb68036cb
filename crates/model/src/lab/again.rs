//! Restores measurements from a report, so that a stored report can be analysed again with
//! newer statistics or on another machine.

use super::{
    Experiment, ExperimentId, LabReport, Measured, Outcome, Sample, Start, Subject, Unit, names,
};

impl Measured {
    /// Restores the measurements of a report. The variant and start in which something was
    /// skipped are not stored: it is assigned to the experiment's first start.
    pub fn from_report(report: &LabReport) -> Measured {
        let mut units: Vec<Unit> = Vec::new();
        for experiment in &report.experiments {
            for series in &experiment.series {
                for (index, values) in series.iterations.iter().enumerate() {
                    let start = start_of(&mut units, experiment, &series.variant, index);
                    if !values.is_empty() {
                        start.samples.push(Sample {
                            name: series.name.clone(),
                            kind: series.kind,
                            size: series.size,
                            values: values.clone(),
                        });
                    }
                }
            }
            for failure in &experiment.failures {
                start_of(&mut units, experiment, &failure.variant, failure.start).outcome =
                    Outcome::Failed(failure.what.clone());
            }
            if !experiment.skipped.is_empty() {
                let variant = experiment
                    .series
                    .first()
                    .map_or("", |series| &series.variant);
                start_of(&mut units, experiment, variant, 0)
                    .skipped
                    .clone_from(&experiment.skipped);
            }
        }
        Measured {
            command: report.command.clone(),
            created: report.created.clone(),
            settings: report.settings.clone(),
            machine: report.machine.clone(),
            devices: std::iter::once(&report.device)
                .chain(&report.other_devices)
                .cloned()
                .collect(),
            frameworks: report.frameworks.clone(),
            units,
        }
    }
}

/// The current name of a variant. Training had one unnamed variant before.
fn current_name(experiment: ExperimentId, variant: &str) -> &str {
    match (experiment, variant) {
        (ExperimentId::Train | ExperimentId::TrainInitialized, "") => names::MODEL_FROM_NOTHING,
        _ => variant,
    }
}

/// Returns that start of the experiment's unit; creates it if necessary.
fn start_of<'a>(
    units: &'a mut Vec<Unit>,
    experiment: &Experiment,
    variant: &str,
    start: usize,
) -> &'a mut Start {
    let variant = current_name(experiment.id, variant);
    let index = units.iter().position(|unit| {
        unit.experiment == experiment.id
            && unit.subject.device == experiment.device
            && unit.subject.framework == experiment.framework
            && unit.variant == variant
    });
    let index = index.unwrap_or_else(|| {
        units.push(Unit {
            experiment: experiment.id,
            subject: Subject {
                device: experiment.device.clone(),
                framework: experiment.framework.clone(),
            },
            variant: variant.to_owned(),
            starts: Vec::new(),
        });
        units.len() - 1
    });
    let starts = &mut units[index].starts;
    while starts.len() <= start {
        starts.push(Start {
            outcome: Outcome::Completed,
            samples: Vec::new(),
            skipped: Vec::new(),
        });
    }
    &mut starts[start]
}
