//! From a report back to what was measured: a kept report can be analysed again,
//! with newer statistics or on another machine.

use super::{Experiment, LabReport, Measured, Outcome, Sample, Start, Subject, Unit};

impl Measured {
    /// What the report was made from, as far as it is kept: which starts a series of
    /// a failed start belonged to is not, so they are taken in their order.
    pub fn from_report(report: &LabReport) -> Measured {
        let mut units: Vec<Unit> = Vec::new();
        for experiment in &report.experiments {
            let subject = Subject {
                device: experiment.device.clone(),
                framework: experiment.framework.clone(),
            };
            for series in &experiment.series {
                let same = |unit: &Unit| {
                    unit.experiment == experiment.id
                        && unit.subject == subject
                        && unit.variant == series.variant
                };
                let place = units.iter().position(same).unwrap_or_else(|| {
                    units.push(Unit {
                        experiment: experiment.id,
                        subject: subject.clone(),
                        variant: series.variant.clone(),
                        starts: Vec::new(),
                    });
                    units.len() - 1
                });
                for (index, values) in series.iterations.iter().enumerate() {
                    let starts = &mut units[place].starts;
                    if starts.len() == index {
                        starts.push(Start {
                            outcome: Outcome::Completed,
                            samples: Vec::new(),
                            skipped: Vec::new(),
                        });
                    }
                    starts[index].samples.push(Sample {
                        name: series.name.clone(),
                        kind: series.kind,
                        size: series.size,
                        values: values.clone(),
                    });
                }
            }
        }
        for (experiment, failure) in report
            .experiments
            .iter()
            .flat_map(|e| e.failures.iter().map(move |f| (e, f)))
        {
            if let Some(start) = start_of(&mut units, experiment, &failure.variant, failure.start) {
                start.outcome = Outcome::Failed(failure.what.clone());
            }
        }
        for experiment in &report.experiments {
            let variant = experiment
                .series
                .first()
                .map_or("", |series| &series.variant);
            if let Some(start) = start_of(&mut units, experiment, variant, 0) {
                start.skipped.clone_from(&experiment.skipped);
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

/// That start of an experiment's unit; none if it measured nothing.
fn start_of<'a>(
    units: &'a mut [Unit],
    experiment: &Experiment,
    variant: &str,
    start: usize,
) -> Option<&'a mut Start> {
    let unit = units.iter_mut().find(|unit| {
        unit.experiment == experiment.id
            && unit.subject.device == experiment.device
            && unit.subject.framework == experiment.framework
            && unit.variant == variant
    })?;
    unit.starts.get_mut(start)
}
